#include "compiler/fixes/table.h"

#include <algorithm>

#include "compiler/fixes/makers.h"

namespace loop::fixes {
namespace {

using diagnostics::Code;

constexpr std::string_view kName = "the name that is meant, where one alone is near";
constexpr std::string_view kNameOffered = "the nearest name";

Entry name(Code code) {
  return {code, kName, kNameOffered, nullptr, true};
}

}  // namespace

const std::vector<Entry>& table() {
  static const std::vector<Entry> entries = [] {
    const std::string_view to_update =
        "moves it to its place in `update`, or deletes it when `update` has it already";
    const std::string_view in_order = "moves it, or what it should have waited for, to its place in `update`";
    const std::string_view sum =
        "takes the sum (`loss`) and divides once (`normalize`); with several counts "
        "`loss(normalized)`";
    const std::string_view no_number = "the same without the numbers that are written";
    const std::string_view by_itself = "deletes it: the clock moves by itself";
    std::vector<Entry> all = {
        name(Code::L031),
        name(Code::L032),
        name(Code::L040),
        {Code::L041, "deletes the second, when both say the same", "deletes one of the two", delete_twin_key},
        {Code::L042, "moves the key into the block it belongs to", "", move_key},
        name(Code::L046),
        name(Code::L053),
        {Code::L054, "", "the unit, where there is one only", nullptr},
        name(Code::L061),
        name(Code::L062),
        name(Code::L063),
        {Code::L064, "adds the `use` line", "", nullptr, true},
        name(Code::L065),
        name(Code::L066),
        {Code::L068, "deletes the second, when both say the same", "deletes the second",
         delete_twin_argument},
        name(Code::L076),
        {Code::L080, "", "`flush`, `carry` or `drop`", choose_tail},
        {Code::L081, "", "a number of updates or of epochs", choose_stop},
        {Code::L082, "", "`per tokens` or `per samples`", choose_unit},
        name(Code::L085),
        name(Code::L095),
        {Code::L097, "deletes the second", "", delete_name},
        {Code::L101, to_update, "", move_to_update},
        {Code::L102, to_update, "", move_to_update},
        {Code::L103, to_update, "", move_to_update},
        {Code::L104, to_update, "", move_to_update},
        {Code::L105, to_update, "", move_to_update},
        {Code::L106, to_update, "", move_to_update},
        {Code::L110, in_order, "", reorder},
        {Code::L111, in_order, "", reorder},
        {Code::L112, in_order, "", reorder},
        {Code::L113, in_order, "", reorder},
        {Code::L114, in_order, "", reorder},
        {Code::L116, "deletes the second, when both say the same", "", delete_repetition},
        {Code::L117, "adds `zero_grad`, or moves it to the end of `update`", "", zero_at_end},
        {Code::L118, "moves `zero_grad` to the end of `update`", "", zero_at_end},
        {Code::L119, "deletes the second", "", delete_here},
        {Code::L120, "adds `unscale`", "", add_unscale},
        {Code::L121, "", "adds `scale_loss(loss_scale)`, or deletes `unscale`", scale_or_no_unscale},
        {Code::L122, "moves it behind `forward`, or adds `forward`", "", after_what_it_needs},
        {Code::L123, "moves it behind `loss`, or adds `loss`", "", after_what_it_needs},
        {Code::L124, "moves it behind `loss`, or adds `loss`", "", after_what_it_needs},
        {Code::L125, "deletes the second", "", delete_here},
        {Code::L126, "", "moves it before `backward`, or deletes it", scale_before_backward},
        {Code::L127, in_order, "", reorder},
        {Code::L128, "deletes the second", "", delete_here},
        {Code::L129, "takes `backward` out of its guard, or adds it", "", backward_always},
        {Code::L130, "moves it out of the guard, behind `step`", "", move_to_update},
        {Code::L131, "moves `zero_grad` out of the guard, to the end", "", zero_at_end},
        {Code::L132, to_update, "", move_to_update},
        {Code::L133, "deletes it", "", delete_here},
        {Code::L134, "", "deletes one of the two", delete_one_of_two},
        {Code::L135, "deletes the second, when both say the same", "", delete_repetition},
        {Code::L137, "deletes the second, when both say the same", "", delete_repetition},
        {Code::L138, "moves it out of the guard", "", move_to_update},
        {Code::L139, "moves it out of the guard, or to `update`", "", move_to_update},
        {Code::L140, "", "deletes one of the two", delete_one_of_two},
        {Code::L141, "", "deletes one of the two", delete_one_of_two},
        {Code::L201, "writes `sync_on(last)`; with `sync = manual`, adds `reduce` at the start of `update`",
         "", synchronise_last},
        {Code::L202, "writes `sync_on(last)`", "", synchronise_last},
        {Code::L203, "encloses `forward` as well", "", widen_scope},
        {Code::L204,
         "encloses `forward` and `backward` in `sync_on(last)`, where no scope is written; with "
         "`sync = manual`, moves `reduce` to `update`",
         "`last` in the place of what is written", synchronise_last},
        {Code::L205, "writes `sync_on(last)`; with `sync = manual`, moves `reduce` to `update`", "",
         synchronise_last},
        {Code::L206, "moves `reduce` to the start of `update`", "", reduce_once},
        {Code::L207, "", "deletes `reduce`, or writes `sync = manual`", reduce_or_manual},
        {Code::L208, "deletes the guard, not what it guards", "", unguard},
        {Code::L209, "moves `reduce` to the start of `update`", "", reorder},
        {Code::L210, "moves `reduce` to the start of `update`", "", reorder},
        {Code::L211, "deletes the inner scope, when both say the same", "deletes one of the two", one_scope},
        {Code::L212, "deletes the scope, not what it encloses", "", delete_scope},
        {Code::L213, "writes `.global` for `.rank`", "", divide_by_count},
        {Code::L214, "deletes the key, where the block says the same", "", delete_sync_key},
        {Code::L301, sum, no_number, divide_by_count},
        {Code::L302, "adds `normalize`; with several counts writes `loss(normalized)`", no_number,
         divide_by_count},
        {Code::L303, "leaves the second division out", no_number, divide_by_count},
        {Code::L304, "writes `.global` for `.rank`; else takes the sum and divides once", no_number,
         divide_by_count},
        {Code::L305, sum, no_number, divide_by_count},
        {Code::L306, sum, no_number, divide_by_count},
        {Code::L307, "writes `loss(normalized)`, and no `normalize`", no_number, divide_by_count},
        {Code::L308, sum, no_number, divide_by_count},
        {Code::L309, "leaves the factor out", no_number, divide_by_count},
        {Code::L310, sum, no_number, divide_by_count},
        {Code::L314, sum, no_number, divide_by_count},
        {Code::L315, sum, no_number, divide_by_count},
        {Code::L501, "", "adds `scale_loss(loss_scale)`, `unscale` and `update_scale`", scale_fp16},
        {Code::L502, in_order, "", reorder},
        {Code::L503, "puts it into `autocast`", "", into_autocast},
        {Code::L504, "moves `backward` behind the scope", "", out_of_autocast},
        {Code::L505, "", "deletes `autocast`, or writes `amp = bf16`", autocast_or_amp},
        {Code::L506, "deletes what belongs to the loss scale", "", delete_scaler},
        {Code::L507, "adds `update_scale`", "", add_update_scale},
        {Code::L610, by_itself, "", delete_here},
        {Code::L611, by_itself, "", delete_here},
        {Code::L612, "moves it behind the last `step`, or deletes it: the clock moves by itself", "",
         after_last_step},
        {Code::L613, by_itself, "", delete_here},
        {Code::L801, "", "`per_micro`, `across_ranks` or `frozen`", choose_batch_norm},
        {Code::L808, "deletes it", "", delete_here},
    };
    std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.code < b.code; });
    return all;
  }();
  return entries;
}

const Entry* find(diagnostics::Code code) {
  const std::vector<Entry>& all = table();
  const auto at =
      std::lower_bound(all.begin(), all.end(), code,
                       [](const Entry& entry, diagnostics::Code wanted) { return entry.code < wanted; });
  return at != all.end() && at->code == code ? &*at : nullptr;
}

std::string reference_page() {
  std::string page = "| finding | `--fix` (certain) | offered (likely) |\n|---|---|---|\n";
  for (const Entry& entry : table()) {
    const diagnostics::CatalogEntry& line = diagnostics::entry(entry.code);
    const std::string id(line.id);
    page += "| [" + id + " " + std::string(line.name) + "](../errors/" + id + ".md) | " +
            std::string(entry.certain) + " | " + std::string(entry.likely) + " |\n";
  }
  return page;
}

}  // namespace loop::fixes
