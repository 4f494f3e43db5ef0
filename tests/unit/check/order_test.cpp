// Each fault of order gives its code at its line, and nothing else.
#include <doctest/doctest.h>

#include "tests/unit/check/checked.h"

using namespace loop;
using namespace loop::tests;

namespace {

Parts update(const std::string& operations) {
  return {.update = operations};
}
Parts micro(const std::string& operations,
            const std::string& update = "normalize; step sgd(lr: 0.1); zero_grad") {
  return {.micro = operations, .update = update};
}
Parts fp16(const std::string& update, const std::string& micro = kFp16Micro) {
  return {.micro = micro, .update = update, .more = kFp16};
}

}  // namespace

TEST_CASE("the canonical loops are clean") {
  CHECK(errors({}) == Codes{});
  CHECK(errors({.micro = ""}) == Codes{});
  CHECK(errors({.micro = "", .update = "step sgd(lr: 0.1)"}) == Codes{});
  CHECK(errors({.micro = "",
                .window = "size = 4 micro_batches; tail = flush; sync = every; reduce = mean"}) == Codes{});
  CHECK(errors({.micro = "",
                .update = "step sgd(lr: 0.1)",
                .window = "size = 4 micro_batches; tail = carry; sync = manual"}) == Codes{});
  CHECK(errors(fp16("unscale; normalize; clip(norm: 1.0); step sgd(lr: 0.1); update_scale; zero_grad")) ==
        Codes{});
  CHECK(errors({.micro = "", .update = "step sgd(lr: 0.1)", .more = kFp16}) == Codes{});
  CHECK(errors({.micro = "",
                .update = "step sgd(lr: 0.1)",
                .window = "size = 16_384 tokens; tail = flush",
                .data = kKept}) == Codes{});
}

TEST_CASE("operations inside the window") {
  CHECK(errors(micro("sync_on(last) { forward; loss; backward }; step sgd(lr: 0.1)",
                     "normalize; zero_grad")) == Codes{"L101:6"});
  CHECK(errors(micro("sync_on(last) { zero_grad; forward; loss; backward }",
                     "normalize; step sgd(lr: 0.1)")) == Codes{"L102:6"});
  CHECK(errors(micro("sync_on(last) { forward; loss; backward }; normalize",
                     "step sgd(lr: 0.1); zero_grad")) == Codes{"L104:6"});
  CHECK(errors(micro("sync_on(last) { forward; loss; backward }; clip(norm: 1.0)")) == Codes{"L105:6"});
  CHECK(errors(fp16("normalize; step sgd(lr: 0.1); update_scale; zero_grad",
                    std::string(kFp16Micro) + "; unscale")) == Codes{"L103:6"});
  CHECK(errors(fp16("unscale; normalize; step sgd(lr: 0.1); zero_grad",
                    std::string(kFp16Micro) + "; update_scale")) == Codes{"L106:6"});
}

TEST_CASE("what looks wrong inside a window and is not") {
  // With one micro-batch per window, or guarded by first and last, it is executed once and in the right
  // order.
  CHECK(errors(micro("when first { zero_grad }; sync_on(last) { forward; loss; backward }",
                     "normalize; step sgd(lr: 0.1)")) == Codes{});
  CHECK(errors(micro("sync_on(last) { forward; loss; backward }; when last { normalize }",
                     "step sgd(lr: 0.1); zero_grad")) == Codes{});
  CHECK(errors({.micro = "zero_grad; forward; loss; backward; normalize",
                .update = "clip(norm: 1.0); step sgd(lr: 0.1)",
                .window = "size = 1 micro_batches; tail = flush"}) == Codes{});
  CHECK(errors({.micro = "forward; loss; backward; normalize; step sgd(lr: 0.1); zero_grad",
                .update = "zero_grad",
                .window = "size = 1 micro_batches; tail = flush; empty = error"}) == Codes{});
}

TEST_CASE("the window's end in the wrong order") {
  CHECK(errors(fp16("normalize; clip(norm: 1.0); unscale; step sgd(lr: 0.1); update_scale; zero_grad")) ==
        Codes{"L110:7"});
  CHECK(errors(update("clip(norm: 1.0); normalize; step sgd(lr: 0.1); zero_grad")) == Codes{"L111:7"});
  CHECK(errors(fp16("normalize; step sgd(lr: 0.1); unscale; update_scale; zero_grad")) == Codes{"L112:7"});
  CHECK(errors(update("step sgd(lr: 0.1); normalize; zero_grad")) == Codes{"L113:7"});
  CHECK(errors(update("normalize; step sgd(lr: 0.1); clip(norm: 1.0); zero_grad")) == Codes{"L114:7"});
  CHECK(errors(update("normalize; zero_grad; step sgd(lr: 0.1)")) == Codes{"L118:7"});
  // Both only multiply, so their order does not matter.
  CHECK(errors(fp16("normalize; unscale; clip(norm: 1.0); step sgd(lr: 0.1); update_scale; zero_grad")) ==
        Codes{});
  // The scaler may move before the step: nothing after it reads the loss scale.
  CHECK(errors(fp16("unscale; update_scale; normalize; step sgd(lr: 0.1); zero_grad")) == Codes{});
}

TEST_CASE("twice, or never") {
  const char* groups = "params { decayed = ndim >= 2; plain = others }";
  CHECK(errors({.update = "normalize; step sgd(lr: 0.1) on decayed; zero_grad", .more = groups}) ==
        Codes{"L115:9"});
  CHECK(errors(update("normalize; step sgd(lr: 0.1); step sgd(lr: 0.1); zero_grad")) == Codes{"L116:7"});
  CHECK(errors(update("normalize; step sgd(lr: 0.1); step sgd(lr: 0.2); zero_grad")) == Codes{"L141:7"});
  CHECK(errors(update("normalize; step sgd(lr: 0.1)")) == Codes{"L117:7"});
  CHECK(errors(fp16("unscale; unscale; normalize; step sgd(lr: 0.1); update_scale; zero_grad")) ==
        Codes{"L119:7"});
  CHECK(errors(fp16("normalize; step sgd(lr: 0.1); update_scale; zero_grad")) == Codes{"L120:7"});
  CHECK(errors(fp16("unscale; normalize; step sgd(lr: 0.1); update_scale; zero_grad",
                    "sync_on(last) { autocast { forward; loss }; backward }")) == Codes{"L121:7"});
  CHECK(errors(fp16("unscale; normalize; step sgd(lr: 0.1); update_scale; update_scale; zero_grad")) ==
        Codes{"L128:7"});
  CHECK(errors(update("normalize; clip(norm: 1.0); clip(norm: 0.5); step sgd(lr: 0.1); zero_grad")) ==
        Codes{"L134:7"});
}

TEST_CASE("one micro-batch's graph") {
  CHECK(errors(micro("sync_on(last) { loss; forward; backward }")) == Codes{"L122:6"});
  CHECK(errors(micro("sync_on(last) { forward; scale_loss(2); loss; backward }")) == Codes{"L123:6"});
  CHECK(errors(micro("sync_on(last) { forward; backward; loss }")) == Codes{"L124:6"});
  CHECK(errors(micro("sync_on(last) { forward; loss; backward; backward }")) == Codes{"L125:6"});
  CHECK(errors(micro("sync_on(last) { forward; loss; loss; backward }")) == Codes{"L137:6"});
  CHECK(errors(micro("sync_on(last) { forward; loss; when not first { backward } }")) == Codes{"L129:6"});
}

TEST_CASE("guards that leave something out") {
  CHECK(errors(fp16("unscale; normalize; when finite { step sgd(lr: 0.1); update_scale }; zero_grad")) ==
        Codes{"L130:7"});
  CHECK(errors(fp16("unscale; normalize; when finite { step sgd(lr: 0.1) }; update_scale; zero_grad")) ==
        Codes{});
  CHECK(errors(update("normalize; step sgd(lr: 0.1); when finite { zero_grad }")) == Codes{"L131:7"});
  CHECK(errors(update("normalize; when finite { step sgd(lr: 0.1) }; zero_grad")) == Codes{"L127:7"});
  CHECK(errors(update("normalize; when first { step sgd(lr: 0.1) }; zero_grad")) == Codes{"L139:7"});
  CHECK(errors(update("normalize; when updates < 50 { clip(norm: 1.0) }; step sgd(lr: 0.1); zero_grad")) ==
        Codes{});
  CHECK(errors(update("normalize; when updates < 50 { step sgd(lr: 0.1) }; when updates >= 50 { step sgd(lr: "
                      "0.1) }; zero_grad")) == Codes{});
}

TEST_CASE("several faults are all found, each once") {
  CHECK(errors(fp16("clip(norm: 1.0); unscale; step sgd(lr: 0.1)")) == Codes{"L117:7", "L110:7", "L302:7"});
}

TEST_CASE("an order fault shows both places and a counterexample") {
  const Checked result =
      checked(fp16("normalize; clip(norm: 1.0); unscale; step sgd(lr: 0.1); update_scale; zero_grad"));
  const diagnostics::Diagnostic* found = result.find("L110");
  REQUIRE(found);
  REQUIRE(found->labels.size() == 2);
  CHECK(result.sources.text(found->span) == "clip(norm: 1.0)");
  CHECK(result.sources.text(found->labels[1].span) == "unscale");
  const Checked inside =
      checked(micro("sync_on(last) { forward; loss; backward }; step sgd(lr: 0.1)", "normalize; zero_grad"));
  REQUIRE(inside.find("L101"));
  CHECK(inside.find("L101")->label == "micro-batch 1 of 4: the parameters change here");
}

TEST_CASE("what is executed again with every micro-batch shows the micro-batch that it spoils") {
  const auto shows = [](const Checked& result, const char* code, const std::string& label,
                        const std::string& other) {
    const diagnostics::Diagnostic* found = result.find(code);
    REQUIRE(found);
    CHECK(found->label == label);
    REQUIRE(!found->labels.empty());
    CHECK(found->labels[0].text == other);
  };
  const std::string all = "sync_on(last) { forward; loss; backward }";
  shows(checked(micro("sync_on(last) { zero_grad; forward; loss; backward }",
                      "normalize; step sgd(lr: 0.1); zero_grad")),
        "L102", "micro-batch 2 of 4: throws it away", "adds the gradient of micro-batch 1 of 4");
  shows(checked(micro(all + "; normalize", "step sgd(lr: 0.1); zero_grad")), "L104",
        "micro-batch 1 of 4: multiplied; micro-batch 2 of 4: multiplied again",
        "adds the gradient of micro-batch 1 of 4");
  const Checked skipped = checked(micro(all, "normalize; step sgd(lr: 0.1); when finite { zero_grad }"));
  const diagnostics::Diagnostic* found = skipped.find("L131");
  REQUIRE(found);
  REQUIRE(found->labels.size() == 2);
  CHECK(found->labels[0].text == "does not hold then");
  CHECK(skipped.sources.text(found->labels[0].span) == "finite");
}
