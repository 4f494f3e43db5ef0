// The tree's own helpers and its printed form.
#include "compiler/ast/ast.h"

#include <doctest/doctest.h>

#include <sstream>

#include "compiler/ast/printer.h"

using namespace loop::ast;

namespace {

ExprPtr make(decltype(Expr::node) node) {
  return std::make_shared<Expr>(Expr{std::move(node), {}});
}
Name word(const std::string& text) {
  return {text, {}};
}
Path path(std::initializer_list<std::string> parts) {
  Path result;
  for (const std::string& part : parts) result.parts.push_back(word(part));
  return result;
}
ExprPtr number(const std::string& spelling) {
  return make(Number{0, spelling});
}

}  // namespace

TEST_CASE("a path is written with dots") {
  CHECK(path({"a"}).dotted() == "a");
  CHECK(path({"std", "optimizers", "adamw"}).dotted() == "std.optimizers.adamw");
  CHECK(Path{}.dotted().empty());
}

TEST_CASE("operators are spelled as in a spec") {
  const std::pair<BinaryOp, const char*> binary[] = {
      {BinaryOp::add, "+"},         {BinaryOp::subtract, "-"},   {BinaryOp::multiply, "*"},
      {BinaryOp::divide, "/"},      {BinaryOp::power, "^"},      {BinaryOp::less, "<"},
      {BinaryOp::less_equal, "<="}, {BinaryOp::greater, ">"},    {BinaryOp::greater_equal, ">="},
      {BinaryOp::equal, "=="},      {BinaryOp::not_equal, "!="}, {BinaryOp::logical_and, "and"},
      {BinaryOp::logical_or, "or"},
  };
  for (const auto& [op, text] : binary) CHECK(std::string(spelling(op)) == text);
  CHECK(std::string(spelling(UnaryOp::negate)) == "-");
  CHECK(std::string(spelling(UnaryOp::logical_not)) == "not");
}

TEST_CASE("strip removes parentheses around an expression only") {
  const ExprPtr inner = make(Binary{BinaryOp::add, make(Parenthesized{number("1")}), number("2"), {}});
  const ExprPtr wrapped = make(Parenthesized{make(Parenthesized{inner})});
  CHECK(&strip(*wrapped) == inner.get());
  CHECK(&strip(*inner) == inner.get());
}

TEST_CASE("the printed tree") {
  Head head;
  head.keyword = word("step");
  head.name = word("adamw");
  head.args = std::vector<Arg>{};
  head.args->push_back(
      {word("lr"), number("1e-3"), Interval{number("0"), make(path({"inf"})), true, false, {}}, {}});
  head.args->push_back({std::nullopt, make(Text{"a\"\\\n"}), std::nullopt, {}});
  head.extends = path({"a", "b"});
  head.assign = Assign::arrow;
  head.value = make(Conditional{make(path({"c"})), make(Unary{UnaryOp::negate, number("2")}),
                                make(Range{number("1"), make(Quantity{8, "8", word("micro_batches")})})});
  head.clauses.push_back({ClauseKind::on, {}, {word("x"), word("y")}, nullptr, {}});
  head.clauses.push_back({ClauseKind::per, {}, {}, make(Call{path({"boxes"}), {}, {}}), {}});
  head.clauses.push_back({ClauseKind::every, {}, {}, make(Percent{0.9, "90%"}), {}});
  head.clauses.push_back({ClauseKind::when, {}, {}, make(List{{number("1"), number("2")}}), {}});
  head.block = Block{};
  head.block->items.push_back(std::make_shared<Item>(Item{Use{2, path({"u"})}, {}}));
  head.block->items.push_back(
      std::make_shared<Item>(Item{When{make(Parenthesized{number("1")}), Block{}}, {}}));

  File file;
  file.items.push_back(std::make_shared<Item>(Item{std::move(head), {}}));
  const std::string expected =
      "(step adamw(lr: 1e-3 in [0, inf), \"a\\\"\\\\\\n\") extends a.b <- (if c (- 2) (-> 1 8 "
      "micro_batches)) on x y "
      "per boxes() every 90% when [1 2] {(use ..u) (when (group 1) {})})\n";
  CHECK(to_string(file) == expected);
  std::ostringstream out;
  print(out, file);
  CHECK(out.str() == expected);
}
