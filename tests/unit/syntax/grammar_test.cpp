// What the grammar takes and how it is read.
#include <doctest/doctest.h>

#include <fstream>

#include "tests/unit/syntax/parsed.h"

using loop::testing::Parsed;
using loop::testing::tree_of;
using loop::testing::value_of;

namespace {

const char* const kWholeLoop = R"(
# A small language model
use std.optimizers.adamw

loop tiny {
  seed  = 7
  model = gpt(layers: 2, heads: 2, width: 32, context: 16, dropout: 0.0)

  data {
    train       = text("books.txt", tokenizer: byte, take: first(80%))
    micro_batch = 4 samples         # on each rank
    order       = shuffled
  }
  params {
    matrices = ndim >= 2
    rest     = others
  }
  loss = cross_entropy(ignore: -1) per tokens
  amp  = fp16(init_scale: 1_024)
  window {
    size = 8 micro_batches
    tail = carry
  }
  update {
    unscale; normalize
    clip(norm: 0.5) on matrices, rest
    step adamw(lr: warmup_cosine(peak: 3e-4, warmup: 5%, total: horizon), beta1: 0.9) on matrices
    step sgd(lr: 0.1) on rest
    update_scale
    zero_grad
  }
  stop = 300 updates or 2 h
  evaluate kept { on = valid; every = 50 updates; metrics = [loss, accuracy] }
  checkpoint { path = "runs/tiny"; every = 100 updates or 5 min; keep = last(2) + best(kept.loss) }
  log { every = 5 updates }
}
)";

}  // namespace

TEST_CASE("a whole loop") {
  CHECK(tree_of(kWholeLoop) ==
        "(use std.optimizers.adamw)\n"
        "(loop tiny {(seed = 7) (model = gpt(layers: 2, heads: 2, width: 32, context: 16, dropout: 0.0)) "
        "(data {(train = text(\"books.txt\", tokenizer: byte, take: first(80%))) (micro_batch = 4 samples) "
        "(order = shuffled)}) "
        "(params {(matrices = (>= ndim 2)) (rest = others)}) "
        "(loss = cross_entropy(ignore: (- 1)) per tokens) (amp = fp16(init_scale: 1_024)) "
        "(window {(size = 8 micro_batches) (tail = carry)}) "
        "(update {(unscale) (normalize) (clip(norm: 0.5) on matrices rest) "
        "(step adamw(lr: warmup_cosine(peak: 3e-4, warmup: 5%, total: horizon), beta1: 0.9) on matrices) "
        "(step sgd(lr: 0.1) on rest) (update_scale) (zero_grad)}) "
        "(stop = (or 300 updates 2 h)) "
        "(evaluate kept {(on = valid) (every = 50 updates) (metrics = [loss accuracy])}) "
        "(checkpoint {(path = \"runs/tiny\") (every = (or 100 updates 5 min)) (keep = (+ last(2) "
        "best(kept.loss)))}) "
        "(log {(every = 5 updates)})})\n");
}

TEST_CASE("a micro block and a loss of several terms") {
  CHECK(tree_of("micro {\n  sync_on(first) {   # encloses both\n    autocast { forward; loss(mean) }\n    "
                "backward\n  }\n}\n") ==
        "(micro {(sync_on(first) {(autocast {(forward) (loss(mean))}) (backward)})})\n");
  CHECK(tree_of("loss {\n  a = ce(ignore: -100) per tokens\n  b = 1e-3 * z() per tokens\n  c = 2 * l1() per "
                "boxes(at_least: ranks)\n"
                "  d = mse() per 64\n}") ==
        "(loss {(a = ce(ignore: (- 100)) per tokens) (b = (* 1e-3 z()) per tokens) (c = (* 2 l1()) per "
        "boxes(at_least: ranks)) "
        "(d = mse() per 64)})\n");
}

TEST_CASE("an update rule: states, lets, arrows, ranges of hyper-parameters") {
  CHECK(tree_of("optimizer sign_step(lr, beta = 0.9 in [0, 1), decay = 0 in [0, inf), eps in (0, 1]) {\n"
                "  state m\n  let s = sign(beta * m + (1 - beta) * grad)\n  m <- s\n  param <- param - lr * "
                "s\n}\n") ==
        "(optimizer sign_step(lr, beta: 0.9 in [0, 1), decay: 0 in [0, inf), eps in (0, 1]) "
        "{(state m) (let s = sign((+ (* beta m) (* (group (- 1 beta)) grad)))) (m <- s) (param <- (- param "
        "(* lr s)))})\n");
}

TEST_CASE("a schedule whose value goes over several lines") {
  CHECK(tree_of("schedule ramp(clock, peak, warmup) =\n  if clock < warmup then peak * clock / warmup\n  # "
                "afterwards\n  else peak\n") ==
        "(schedule ramp(clock, peak, warmup) = (if (< clock warmup) (/ (* peak clock) warmup) peak))\n");
}

TEST_CASE("modules, constants, variants, recipes, guards") {
  CHECK(tree_of("use .shared.base\nuse ..up\nconst budget = 2000 updates\nloop big extends base.small { "
                "window { size = 2 samples } }\n"
                "recipe r(lr = 1e-3, depth) { }\nloop x = r(lr: 0.1)\naverage slow = ema(decay: 0.99)\nwhen "
                "finite and not last { step sgd(lr: 1) }\n"
                "tick updates every 2 when finite\nresume = \"here\"") ==
        "(use .shared.base)\n(use ..up)\n(const budget = 2000 updates)\n"
        "(loop big extends base.small {(window {(size = 2 samples)})})\n"
        "(recipe r(lr: 1e-3, depth) {})\n(loop x = r(lr: 0.1))\n(average slow = ema(decay: 0.99))\n"
        "(when (and finite (not last)) {(step sgd(lr: 1))})\n(tick updates every 2 when finite)\n(resume = "
        "\"here\")\n");
}

TEST_CASE("contextual words are names where a name is wanted") {
  CHECK(tree_of(
            "on = every\nevery = on.when + per\nper(in: 784, use = 3)\nwhen = 1\nuse <- 2\nextends = in\n") ==
        "(on = every)\n(every = (+ on.when per))\n(per(in: 784, use: 3))\n(when = 1)\n(use <- 2)\n(extends = "
        "in)\n");
  CHECK(tree_of("unscale on decayed") == "(unscale on decayed)\n");
  CHECK(tree_of("step adamw(lr: on) on on, every every when when when") ==
        "(step adamw(lr: on) on on every every when when when)\n");
}

TEST_CASE("precedence") {
  CHECK(value_of("a + b * c ^ d ^ e") == "(+ a (* b (^ c (^ d e))))");
  CHECK(value_of("a - b - c") == "(- (- a b) c)");
  CHECK(value_of("a / b * c") == "(* (/ a b) c)");
  CHECK(value_of("-a ^ b") == "(- (^ a b))");
  CHECK(value_of("a ^ -b") == "(^ a (- b))");
  CHECK(value_of("-a * b") == "(* (- a) b)");
  CHECK(value_of("a - -b") == "(- a (- b))");
  CHECK(value_of("not a == b and c") == "(and (not (== a b)) c)");
  CHECK(value_of("a or b and not c or d") == "(or (or a (and b (not c))) d)");
  CHECK(value_of("a < b + 1 and c >= d") == "(and (< a (+ b 1)) (>= c d))");
  CHECK(value_of("1 -> 2 * 4 micro_batches") == "(-> 1 (* 2 4 micro_batches))");
  CHECK(value_of("(a + b) * c") == "(* (group (+ a b)) c)");
  CHECK(value_of("if a then b else if c then d else e + 1") == "(if a b (if c d (+ e 1)))");
  CHECK(value_of("2 * (if a then b else c)") == "(* 2 (group (if a b c)))");
  CHECK(value_of("a != b or x == y") == "(or (!= a b) (== x y))");
}

TEST_CASE("literals") {
  const Parsed parsed("x = [1_000, 2.5e-3, 90%, 16 KiB, \"a\\n\\\"\\\\\\t\\u{fc}\\u{1F600}\"]");
  REQUIRE(parsed.findings() == "");
  const auto& head = std::get<loop::ast::Head>(parsed.result.file.items[0]->node);
  const auto& list = std::get<loop::ast::List>(head.value->node).elements;
  CHECK(std::get<loop::ast::Number>(list[0]->node).value == 1000);
  CHECK(std::get<loop::ast::Number>(list[1]->node).value == doctest::Approx(0.0025));
  CHECK(std::get<loop::ast::Percent>(list[2]->node).fraction == doctest::Approx(0.9));
  CHECK(std::get<loop::ast::Percent>(list[2]->node).spelling == "90%");
  CHECK(std::get<loop::ast::Quantity>(list[3]->node).unit.text == "KiB");
  CHECK(std::get<loop::ast::Text>(list[4]->node).value == "a\n\"\\\t\xC3\xBC\xF0\x9F\x98\x80");
}

TEST_CASE("where newlines end a statement and where they do not") {
  CHECK(tree_of("a = f(\n  1,\n\n  x: [2,\n 3]\n)\nb = 2") == "(a = f(1, x: [2 3]))\n(b = 2)\n");
  CHECK(tree_of("a =\n\n  # why\n  3\nb <-\n 4") == "(a = 3)\n(b <- 4)\n");
  CHECK(tree_of("a = b +\n c\n  - d\nor e") == "(a = (or (- (+ b c) d) e))\n");
  CHECK(tree_of("a = if b\n then c\n else\n d") == "(a = (if b c d))\n");
  CHECK(tree_of("window\n{\n size = 1 samples\n}") == "(window {(size = 1 samples)})\n");
  CHECK(tree_of("when a and\n b {\n c\n}") == "(when (and a b) {(c)})\n");
  CHECK(tree_of("a;;b;\n;\nc") == "(a)\n(b)\n(c)\n");
  CHECK(tree_of("block { a; b = 1; }") == "(block {(a) (b = 1)})\n");
  CHECK(tree_of("a = 1\r\nb = 2\rc = 3") == "(a = 1)\n(b = 2)\n(c = 3)\n");
  CHECK(tree_of("step f(1) on a,\n b") == "(step f(1) on a b)\n");
  CHECK(tree_of("") == "");
  CHECK(tree_of("\n # nothing\n;\n") == "");
}

TEST_CASE("a comma may follow the last argument, element") {
  CHECK(tree_of("x = f(a, b: 2,)\ny = [1, 2,]\nz(q,)") == "(x = f(a, b: 2))\n(y = [1 2])\n(z(q))\n");
}

TEST_CASE("a byte-order mark and comments") {
  const Parsed parsed("\xEF\xBB\xBF# head\na = 1 # one\n  # two  \n");
  CHECK(parsed.findings() == "");
  const auto& comments = parsed.result.file.comments;
  REQUIRE(comments.size() == 3);
  CHECK(comments[0].text == "# head");
  CHECK(comments[0].own_line);
  CHECK(comments[1].text == "# one");
  CHECK_FALSE(comments[1].own_line);
  CHECK(comments[2].own_line);
  CHECK(comments[2].span.begin == 24);
}

TEST_CASE("places are byte ranges, also after characters of several bytes") {
  const Parsed parsed("s = \"ü漢\"  # ü\nt = f(a: 10 min) every 2 on x {\n  u\n}\n");
  REQUIRE(parsed.findings() == "");
  const auto text = [&](loop::base::Span span) { return std::string(parsed.sources.text(span)); };
  const auto& items = parsed.result.file.items;
  CHECK(text(items[0]->span) == "s = \"ü漢\"");
  const auto& second = std::get<loop::ast::Head>(items[1]->node);
  CHECK(text(items[1]->span) == "t = f(a: 10 min) every 2 on x {\n  u\n}");
  CHECK(text(second.keyword.span) == "t");
  CHECK(text(second.value->span) == "f(a: 10 min)");
  const auto& call = std::get<loop::ast::Call>(second.value->node);
  CHECK(text(call.args_span) == "(a: 10 min)");
  CHECK(text(call.args[0].span) == "a: 10 min");
  CHECK(text(std::get<loop::ast::Quantity>(call.args[0].value->node).unit.span) == "min");
  CHECK(text(second.clauses[0].keyword) == "every");
  CHECK(text(second.clauses[0].span) == "every 2");
  CHECK(text(second.clauses[1].names[0].span) == "x");
  CHECK(text(second.block->span) == "{\n  u\n}");
}

TEST_CASE("places inside expressions") {
  const Parsed parsed("x = -(a + b) * if_.c -> [1] \ny = if a then b else c");
  REQUIRE(parsed.findings() == "");
  const auto text = [&](loop::base::Span span) { return std::string(parsed.sources.text(span)); };
  const auto& x = *std::get<loop::ast::Head>(parsed.result.file.items[0]->node).value;
  CHECK(text(x.span) == "-(a + b) * if_.c -> [1]");
  const auto& product = *std::get<loop::ast::Range>(x.node).from;
  CHECK(text(product.span) == "-(a + b) * if_.c");
  CHECK(text(std::get<loop::ast::Binary>(product.node).op_span) == "*");
  CHECK(text(std::get<loop::ast::Binary>(product.node).left->span) == "-(a + b)");
  CHECK(text(std::get<loop::ast::Head>(parsed.result.file.items[1]->node).value->span) ==
        "if a then b else c");
}

TEST_CASE("a single expression") {
  CHECK(value_of("16 micro_batches") == "16 micro_batches");
  CHECK(value_of("\n  ramp(1 -> 8 micro_batches,\n over: 10 updates)\n") ==
        "ramp((-> 1 8 micro_batches), over: 10 updates)");
  CHECK(value_of("") == "error");
  CHECK(value_of("a b") == "error");
  CHECK(value_of("a = b") == "error");
  CHECK(value_of("(a") == "error");
  CHECK(value_of("\"a") == "error");
  CHECK(value_of("a < b < c") == "error");
  CHECK(value_of("a } b") == "error");
  CHECK(value_of("a; b") == "error");
}

TEST_CASE("every decision of the grammar is LL(1), so that no text is ambiguous or slow") {
  std::ifstream file(LOOP_BINARY_DIR "/compiler/syntax/generated/LoopParser.cpp");
  std::stringstream generated;
  generated << file.rdbuf();
  REQUIRE(generated.str().find("LoopParser::expr()") != std::string::npos);
  // ANTLR writes this call for each decision that one token does not settle.
  CHECK(generated.str().find("adaptivePredict") == std::string::npos);
}
