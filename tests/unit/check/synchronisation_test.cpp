#include <doctest/doctest.h>

#include "tests/unit/check/checked.h"

using namespace loop;
using namespace loop::tests;

namespace {

const char* kManual = "size = 4 micro_batches; tail = flush; sync = manual";
const char* kMean = "size = 4 micro_batches; tail = flush; reduce = mean";

Parts manual(const std::string& update, const std::string& micro = "forward; loss; backward") {
  return {.micro = micro, .update = update, .window = kManual};
}

}  // namespace

TEST_CASE("reductions that are missing, partial or late") {
  CHECK(errors({.micro = "sync_on(none) { forward; loss; backward }"}) == Codes{"L201:6"});
  CHECK(errors({.micro = "sync_on(first) { forward; loss; backward }"}) == Codes{"L202:6"});
  CHECK(errors({.micro = "forward; loss; backward"}) == Codes{"L205:6"});
  CHECK(errors({.micro = "forward; loss; sync_on(last) { backward }"}) == Codes{"L205:6"});
  CHECK(errors(manual("normalize; step sgd(lr: 0.1); zero_grad")) == Codes{"L201:7"});
  CHECK(errors(manual("reduce(sum); normalize; step sgd(lr: 0.1); zero_grad")) == Codes{});
  CHECK(errors(manual("normalize; reduce(mean); step sgd(lr: 0.1); zero_grad")) == Codes{});
  CHECK(errors(manual("normalize; step sgd(lr: 0.1); reduce(sum); zero_grad")) == Codes{"L210:7"});
  CHECK(errors(manual("normalize; clip(norm: 1.0); reduce(sum); step sgd(lr: 0.1); zero_grad")) ==
        Codes{"L209:7"});
  CHECK(errors(manual("normalize; step sgd(lr: 0.1); zero_grad",
                      "forward; loss; when last { reduce(sum) }; backward")) == Codes{"L206:6"});
}

TEST_CASE("one owner of the reduction") {
  CHECK(errors({.update = "reduce(sum); normalize; step sgd(lr: 0.1); zero_grad"}) == Codes{"L207:7"});
  CHECK(errors({.micro = "sync_on(last) { sync_on(last) { forward; loss; backward } }"}) == Codes{"L211:6"});
  CHECK(errors({.window = "size = 4 micro_batches; tail = flush; sync = last"}) == Codes{"L214:5"});
}

TEST_CASE("guards that differ between ranks") {
  CHECK(errors({.micro = "sync_on(last) { forward; loss; when tokens.micro > 0 { backward } }"}) ==
        Codes{"L208:6"});
  // Without a collective inside, leaving out an empty micro-batch changes nothing.
  CHECK(errors(manual("reduce(sum); normalize; step sgd(lr: 0.1); zero_grad",
                      "forward; loss; when tokens.micro > 0 { backward }")) == Codes{});
}

TEST_CASE("what only costs is no error") {
  using diagnostics::Severity;
  CHECK(checked(Parts{.micro = "forward; loss; backward", .window = kMean}).findings(Severity::note) ==
        Codes{"L204:6"});
  CHECK(checked(Parts{.micro = "forward; loss; sync_on(last) { backward }", .window = kMean})
            .findings(Severity::note) == Codes{"L203:6"});
}

TEST_CASE("public reports of loops that are right") {
  using diagnostics::Severity;
  // NC1: after a mean over ranks, times ranks / count.
  CHECK(errors({.update = "scale_grad(ranks / tokens.global); step sgd(lr: 0.1); zero_grad",
                .window = kMean}) == Codes{});
  // NC5: forward inside the scope, backward outside of it: the forward decides.
  CHECK(checked(Parts{.micro = "sync_on(last) { forward }; loss; backward"}).findings(Severity::note) ==
        Codes{});
  // NC6: the verdict needs no collective of its own after the reduction.
  CHECK(errors({.micro = kFp16Micro,
                .update = "unscale; normalize; when finite { step sgd(lr: 0.1) }; update_scale; zero_grad",
                .more = kFp16}) == Codes{});
  // NC7: a declared sum is noted, no more.
  CHECK(checked(Parts{.micro = "",
                      .update = "step sgd(lr: 0.1)",
                      .loss = "loss = cross_entropy(ignore: -100) per window"})
            .findings(Severity::note) == Codes{"L311:4"});
  // NC9: an explicit reduction ends a window without another forward.
  CHECK(errors(manual("reduce(sum); normalize; step sgd(lr: 0.1); zero_grad")) == Codes{});
}

TEST_CASE("the widespread accumulator class, transcribed") {
  const Checked result = checked(Parts{
      .micro =
          "autocast { forward; loss(mean) }; scale_loss(1 / micro_batches); scale_loss(loss_scale); backward",
      .update = "unscale; clip(norm: 1.0); step sgd(lr: 0.1); update_scale; zero_grad",
      .window = "size = 4 micro_batches; reduce = mean",
      .more = kFp16});
  // A mean of means, no tail policy; and, as a note, a reduction per micro-batch.
  CHECK(result.findings() == Codes{"L080:5", "L301:6"});
  CHECK(result.find("L204"));
}
