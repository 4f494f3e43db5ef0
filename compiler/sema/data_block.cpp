#include <algorithm>

#include "compiler/base/text.h"
#include "compiler/sema/descriptors.h"
#include "compiler/sema/settings.h"
#include "runtime/plan/names.h"

namespace loop::sema {

using diagnostics::Code;

namespace {

template <class Enum>
void policy(Context& context, const BlockReader& reader, const char* key,
            const std::vector<std::string>& choices, Setting<Enum>& setting) {
  const ast::Head* head = reader.find(key);
  if (!head) return;
  setting.span = head->value->span;
  setting.written = true;
  if (auto choice = read_choice(context, *head->value, key, choices))
    setting.value = plan::from_spelling<Enum>(*choice);
}

bool read_micro_batch(Context& context, const BlockReader& reader, Data& data) {
  const ast::Head* head = reader.find("micro_batch");
  if (!head) {
    reader.missing("micro_batch", {"such as `micro_batch = 8 samples`: as many as fit in memory"});
    return false;
  }
  const ast::Expr& value = *head->value;
  data.micro_batch_samples.span = value.span;
  data.micro_batch_samples.written = true;
  if (as_name(value) == "auto") {
    data.micro_batch_auto = true;
    return true;
  }
  if (const auto* quantity = std::get_if<ast::Quantity>(&ast::strip(value).node)) {
    const Unit* unit = find_unit(quantity->unit.text);
    if (unit && unit->dim == Dim::tokens) {
      context.engine
          .report(Code::L045, value.span, {"micro_batch in tokens", "packing of samples of unequal length"})
          .help("give the number of samples");
      return false;
    }
  }
  auto read = read_quantity(context, value, "micro_batch", {Dim::samples});
  if (!read) return false;
  data.micro_batch_samples.value = static_cast<int64_t>(read->value);
  return true;
}

}  // namespace

bool read_data(Context& context, const ast::Head& block, const ModelFacts& model, Spec& spec) {
  Data& data = spec.data;
  data.span = block.keyword.span;
  for (Span* span :
       {&data.micro_batch_samples.span, &data.order.span, &data.short_policy.span, &data.uneven.span})
    *span = data.span;
  BlockReader reader(context, data_table(), block.block->items, block.keyword.span);
  std::vector<const ast::Head*> sources;
  if (const ast::Head* train = reader.find("train")) sources.push_back(train);
  for (const ast::Head* head : reader.free_names()) {
    // A value that is no call is a misspelt key, not a source.
    if (head->value && as_call(*head->value))
      sources.push_back(head);
    else
      reader.unknown(*head);
  }
  bool good = read_micro_batch(context, reader, data);
  policy(context, reader, "order", {"shuffled", "sequential"}, data.order);
  policy(context, reader, "short", {"keep", "drop", "pad"}, data.short_policy);
  policy(context, reader, "uneven", {"error", "drop", "pad_empty"}, data.uneven);

  ComponentSurroundings around;
  around.context = model.context;
  std::sort(sources.begin(), sources.end(), [](const ast::Head* a, const ast::Head* b) {
    return a->keyword.span.begin < b->keyword.span.begin;
  });
  for (const ast::Head* head : sources) {
    auto source = read_source(context, *head, around);
    bool trains = head->keyword.text == "train";
    if (!source) {
      if (trains) good = false;
      continue;
    }
    if (trains) data.train = static_cast<int>(data.sources.size());
    data.sources.push_back(std::move(*source));
  }
  if (!reader.find("train")) {
    reader.missing("train", {"the source named `train` is trained on; others are for `evaluate`"});
    good = false;
  }
  return good && data.train >= 0;
}

}  // namespace loop::sema
