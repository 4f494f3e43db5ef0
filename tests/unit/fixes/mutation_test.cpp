// Some hundreds of loops with faults of their own making: a canonical loop in which operations are deleted,
// doubled, moved or replaced, or in which a letter is wrong.
#include <random>

#include "tests/unit/fixes/support.h"

using namespace loop;
using namespace loop::tests;

namespace {

using Lines = std::vector<std::string>;

struct Mutant {
  std::mt19937 random;
  size_t below(size_t bound) { return random() % bound; }

  std::string text(const Lines& micro, const Lines& update, bool fp16) {
    std::string text =
        "use std.optimizers.sgd\n\nloop mutant {\n  model = gpt(layers: 1, heads: 1, width: 8, context: "
        "16)\n";
    text +=
        "  data {\n    train       = lines(\"corpus.txt\", tokenizer: byte)\n    micro_batch = 8 samples\n  "
        "}\n";
    text += "  loss = cross_entropy(ignore: -100) per tokens\n";
    if (fp16) text += "  amp  = fp16(init_scale: 65536)\n";
    text += "  window {\n    size = 4 micro_batches\n    tail = flush\n  }\n  micro {\n    sync_on(last) {\n";
    for (const std::string& line : micro) text += "      " + line + "\n";
    text += "    }\n  }\n  update {\n";
    for (const std::string& line : update) text += "    " + line + "\n";
    return text + "  }\n  stop = 100 updates\n}\n";
  }

  void mutate(Lines& lines, const Lines& spare) {
    const size_t at = below(lines.size());
    switch (below(4)) {
      case 0:
        lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 1:
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), lines[below(lines.size())]);
        break;
      case 2:
        std::swap(lines[at], lines[below(lines.size())]);
        break;
      default:
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), spare[below(spare.size())]);
    }
    if (lines.empty()) lines.push_back(spare.front());
  }

  std::string next() {
    const bool fp16 = below(2) == 0;
    Lines micro = {"forward", "loss", "backward"};
    Lines update = {"normalize", "clip(norm: 1.0)  # the limit", "step sgd(lr: 0.1)", "zero_grad"};
    if (fp16) {
      micro = {"autocast { forward; loss }", "scale_loss(loss_scale)", "backward"};
      update.insert(update.begin(), "unscale");
      update.insert(update.end() - 1, "update_scale");
    }
    const Lines spare_micro = {"loss(mean)", "scale_loss(1 / micro_batches)", "scale_loss(1 / tokens.rank)",
                               "zero_grad", "clip(norm: 1.0)"};
    const Lines spare_update = {"normalize", "scale_grad(1 / tokens.global)", "when finite { zero_grad }",
                                "tick updates", "unscale"};
    for (size_t edits = 1 + below(2); edits > 0; --edits)
      below(3) == 0 ? mutate(micro, spare_micro) : mutate(update, spare_update);
    std::string mutant = text(micro, update, fp16);
    if (below(4) == 0) {
      // A slip of the finger somewhere behind the head.
      const size_t at = 40 + below(mutant.size() - 50);
      if (std::isalpha(static_cast<unsigned char>(mutant[at])) != 0) mutant.erase(at, 1);
    }
    return mutant;
  }
};

}  // namespace

TEST_CASE("loops with faults of their own making are never made worse, and repaired but once") {
  Mutant mutants{std::mt19937(20261201)};
  int whole = 0;
  constexpr int kLoops = 150;
  for (int i = 0; i < kLoops; ++i) {
    const std::string text = mutants.next();
    const fixes::Fixed fixed = check_repair(text);
    // No comment is lost.
    if (text.find("# the limit") != std::string::npos)
      CHECK(fixed.text.find("# the limit") != std::string::npos);
    if (fixed.remaining == 0) ++whole;
  }
  MESSAGE(whole << " of " << kLoops << " have no finding left");
  CHECK(whole > kLoops / 4);
}
