// Factors: found, needed, and who brought them.
#include <doctest/doctest.h>

#include "compiler/check/normalisation/compare.h"
#include "tests/unit/check/checked.h"

using namespace loop;
using namespace loop::tests;

namespace {

const char* kMean = "size = 4 micro_batches; tail = flush; reduce = mean";
const char* kMeanDrop = "size = 4 micro_batches; tail = drop; reduce = mean";
const char* kEqual = "train = text(\"corpus.txt\", tokenizer: byte); micro_batch = 8 samples; short = drop";
const char* kMeans = "sync_on(last) { forward; loss(mean); scale_loss(1 / micro_batches); backward }";

Parts loop_with(const std::string& micro, const std::string& update, const char* window = kMean) {
  return {.micro = micro, .update = update, .window = window};
}

}  // namespace

TEST_CASE("denominators that are wrong") {
  const std::string plain = "sync_on(last) { forward; loss; backward }";
  const std::string rest = "step sgd(lr: 0.1); zero_grad";
  CHECK(errors(loop_with(kMeans, rest)) == Codes{"L301:6"});
  CHECK(errors(loop_with(plain, rest)) == Codes{"L302:7"});
  CHECK(errors(loop_with("sync_on(last) { forward; loss; scale_loss(1 / micro_batches); backward }",
                         "normalize; " + rest)) == Codes{"L303:6"});
  CHECK(errors(loop_with(plain, "normalize; normalize; " + rest)) == Codes{"L303:7"});
  CHECK(errors(loop_with("sync_on(last) { forward; loss; scale_loss(1 / tokens.rank); backward }", rest)) ==
        Codes{"L304:6"});
  CHECK(errors(loop_with(plain, "scale_grad(1 / tokens.global); " + rest)) == Codes{"L305:7"});
  CHECK(errors(loop_with(plain, "scale_grad(ranks / tokens.global); " + rest)) == Codes{});
  CHECK(errors({.update = "scale_grad(ranks / tokens.global); " + rest}) == Codes{"L309:7"});
  CHECK(errors(loop_with(plain, "scale_grad(1 / tokens.rank); " + rest)) == Codes{"L213:7"});
  CHECK(errors(loop_with(plain, "normalize; scale_grad(2); " + rest)) == Codes{"L310:7"});
  CHECK(errors(loop_with(plain, "normalize; scale_grad(2); scale_grad(0.5); " + rest)) == Codes{});
}

TEST_CASE("a mean of means is right where the counts are equal, and only there") {
  CHECK(
      errors(
          {.micro = kMeans, .update = "step sgd(lr: 0.1); zero_grad", .window = kMeanDrop, .data = kEqual}) ==
      Codes{});
  CHECK(
      errors({.micro = kMeans, .update = "step sgd(lr: 0.1); zero_grad", .window = kMean, .data = kEqual}) ==
      Codes{"L306:6"});
  // A literal number is right as long as it is the number of micro-batches.
  const std::string quarter = "sync_on(last) { forward; loss(mean); scale_loss(1 / 4); backward }";
  CHECK(errors({.micro = quarter,
                .update = "step sgd(lr: 0.1); zero_grad",
                .window = kMeanDrop,
                .data = kEqual}) == Codes{});
  const std::string third = "sync_on(last) { forward; loss(mean); scale_loss(1 / 3); backward }";
  CHECK(
      errors({.micro = third, .update = "step sgd(lr: 0.1); zero_grad", .window = kMeanDrop, .data = kEqual})
          .size() == 1);
  // Growing windows: the configured number grows with them, a literal one does not.
  const char* ramp = "size = ramp(1 -> 4 micro_batches, over: 100 updates); tail = drop; reduce = mean";
  CHECK(errors({.micro = kMeans, .update = "step sgd(lr: 0.1); zero_grad", .window = ramp, .data = kEqual}) ==
        Codes{});
  CHECK(errors({.micro = quarter, .update = "step sgd(lr: 0.1); zero_grad", .window = ramp, .data = kEqual})
            .size() == 1);
}

TEST_CASE("one micro-batch, one rank") {
  const char* one = "size = 1 micro_batches; tail = flush";
  CHECK(errors({.micro = "forward; loss(mean); backward",
                .update = "step sgd(lr: 0.1); zero_grad",
                .window = one,
                .more = "ranks = 1"}) == Codes{});
  CHECK(
      errors(
          {.micro = "forward; loss(mean); backward", .update = "step sgd(lr: 0.1); zero_grad", .window = one})
          .size() == 1);
  CHECK(errors({.micro = "sync_on(none) { forward; loss; backward }", .more = "ranks = 1"}) == Codes{});
}

TEST_CASE("several counts") {
  const char* two = "loss { main = cross_entropy(ignore: -100) per tokens; z = 1e-4 * z_loss() per samples }";
  const std::string rest = "step sgd(lr: 0.1); zero_grad";
  CHECK(errors({.micro = "", .update = "step sgd(lr: 0.1)", .loss = two}) == Codes{});
  CHECK(errors({.micro = "", .update = "step sgd(lr: 0.1)", .window = kMean, .loss = two}) == Codes{});
  CHECK(errors({.loss = two}) == Codes{"L307:7"});
  CHECK(errors({.update = "scale_grad(1 / tokens.global); " + rest, .loss = two}) == Codes{"L308:7"});
}

TEST_CASE("a diagnostic shows the factor found, the right one and who brought it") {
  const Checked result = checked(loop_with(kMeans, "step sgd(lr: 0.1); zero_grad"));
  CHECK(result.notes("L301", "c found:  1/(K·R·n_rk)"));
  CHECK(result.notes("L301", "c needed: 1/N"));
  const diagnostics::Diagnostic* found = result.find("L301");
  REQUIRE(found);
  bool of_k = false;
  for (const diagnostics::Label& label : found->labels) of_k = of_k || (label.text == "× 1/K");
  CHECK(of_k);
}

TEST_CASE("monomials") {
  using check::Atom;
  using check::Monomial;
  using check::Symbol;
  const Atom ranks{Symbol::ranks, 0};
  const Atom count{Symbol::count_global, 0};
  const Monomial factor = Monomial::of(ranks) * Monomial::of(count, -1) * Monomial(0.5);
  CHECK((factor * factor.inverse()).is_one());
  CHECK(factor.exponent(count) == -1);
  CHECK(factor.without(Symbol::ranks).equals(Monomial::of(count, -1) * Monomial(0.5)));
  const auto name = [](Atom atom) { return std::string(atom.symbol == Symbol::ranks ? "R" : "N"); };
  CHECK(check::to_text(factor, name) == "R/(2·N)");
  CHECK(check::to_text(Monomial(3), name) == "3");
}

TEST_CASE("reductions: local and replicated parts") {
  using namespace check;
  Gradient gradient;
  LossValue loss{{{Summand{}}}};
  gradient.add(0, 1, loss, false);
  gradient.reduce(plan::ReduceMode::sum, nullptr, false);
  gradient.add(0, 2, loss, false);
  gradient.reduce(plan::ReduceMode::sum, nullptr, false);
  const Monomial ranks = Monomial::of({Symbol::ranks, 0});
  CHECK(gradient.parts()[0].summands[0].factor.equals(ranks));
  CHECK(gradient.parts()[1].summands[0].factor.is_one());
  // A mean of what is the same everywhere changes nothing.
  gradient.reduce(plan::ReduceMode::mean, nullptr, false);
  CHECK(gradient.parts()[0].summands[0].factor.equals(ranks));
  // Σ_r N_r = N, where each rank has multiplied the common gradient by its own count.
  gradient.multiply(Monomial::of({Symbol::count_rank, 0}), nullptr);
  gradient.reduce(plan::ReduceMode::sum, nullptr, false);
  CHECK(gradient.parts()[1].summands[0].factor.equals(Monomial::of({Symbol::count_global, 0})));
}

TEST_CASE("means of equal counts that are added lack K alone") {
  const std::string equal =
      "train = text(\"corpus.txt\", tokenizer: byte); micro_batch = 8 samples; short = drop";
  const std::string window = "size = 4 micro_batches; tail = drop; reduce = mean";
  CHECK(errors({.micro = "sync_on(last) { forward; loss(mean); backward }",
                .update = "step sgd(lr: 0.1); zero_grad",
                .window = window,
                .data = equal}) == Codes{"L315:6"});
  CHECK(errors({.micro = "sync_on(last) { forward; loss(mean); scale_loss(1 / micro_batches); backward }",
                .update = "step sgd(lr: 0.1); zero_grad",
                .window = window,
                .data = equal}) == Codes{});
}

TEST_CASE("a mean of one micro-batch, and a share of the rank's own count, are local denominators") {
  CHECK(errors({.micro = "sync_on(last) { forward; loss(mean); backward }",
                .update = "step sgd(lr: 0.1); zero_grad",
                .window = "size = 1 micro_batches; tail = flush; reduce = mean"}) == Codes{"L304:6"});
  CHECK(errors({.micro =
                    "sync_on(last) { forward; loss(mean); scale_loss(tokens.micro / tokens.rank); backward }",
                .update = "step sgd(lr: 0.1); zero_grad",
                .window = "size = 4 micro_batches; tail = flush; reduce = mean"}) == Codes{"L304:6"});
}

TEST_CASE("one missing reduction is one finding") {
  CHECK(errors({.micro = "sync_on(none) { forward; loss; backward }",
                .window = "size = 4 micro_batches; tail = flush; reduce = mean"}) == Codes{"L201:6"});
  CHECK(errors({.micro = "forward; loss; when last { reduce(mean) }; backward",
                .window = "size = 4 micro_batches; tail = flush; sync = manual"}) == Codes{"L206:6"});
}
