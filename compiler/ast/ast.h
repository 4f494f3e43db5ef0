// The syntax tree of a .loop file: uniform statements, no meaning yet. Nodes are immutable after parsing and
// shared, so that `extends`, recipes and overrides can merge trees without copying them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/base/source.h"

namespace loop::ast {

using base::Span;

struct Expr;
struct Item;
using ExprPtr = std::shared_ptr<const Expr>;
using ItemPtr = std::shared_ptr<const Item>;

struct Name {
  std::string text;
  Span span;
};

/// `a.b.c`; a plain name is a path of one part.
struct Path {
  std::vector<Name> parts;
  Span span;
  std::string dotted() const;
};

/// `in [0, 1)`
struct Interval {
  ExprPtr low;
  ExprPtr high;
  bool low_closed = true;
  bool high_closed = true;
  Span span;
};

/// `name: value in [0, 1)`; a parameter list without defaults has bare paths as values.
struct Arg {
  std::optional<Name> name;
  ExprPtr value;
  std::optional<Interval> range;
  Span span;
};

enum class UnaryOp { negate, logical_not };
enum class BinaryOp {
  add,
  subtract,
  multiply,
  divide,
  power,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  logical_and,
  logical_or
};

/// The operator as written: `+`, `and`, `<=` …
const char* spelling(BinaryOp op);
const char* spelling(UnaryOp op);

struct Number {
  double value = 0;
  std::string spelling;
};
struct Percent {
  double fraction = 0;
  std::string spelling;
};  // `90%` has fraction 0.9
struct Text {
  std::string value;
};  // a string literal, escapes resolved
struct Quantity {
  double value = 0;
  std::string spelling;
  Name unit;
};  // `4 micro_batches`
struct Call {
  Path callee;
  std::vector<Arg> args;
  Span args_span;
};
struct List {
  std::vector<ExprPtr> elements;
};
struct Range {
  ExprPtr from;
  ExprPtr to;
};  // `1 -> 8 micro_batches`
struct Unary {
  UnaryOp op;
  ExprPtr operand;
};
struct Binary {
  BinaryOp op;
  ExprPtr left;
  ExprPtr right;
  Span op_span;
};
struct Conditional {
  ExprPtr condition;
  ExprPtr then_value;
  ExprPtr else_value;
};
struct Parenthesized {
  ExprPtr inner;
};  // kept for the formatter

struct Expr {
  std::variant<Number, Percent, Text, Quantity, Path, Call, List, Range, Unary, Binary, Conditional,
               Parenthesized>
      node;
  Span span;
};

/// The expression with any parentheses around it removed.
const Expr& strip(const Expr& expr);

/// `{ … }`; items in source order.
struct Block {
  std::vector<ItemPtr> items;
  Span span;  // braces included
};

/// `use ..shared.base`: `dots` leading dots, then the path.
struct Use {
  int dots = 0;
  Path path;
};

struct When {
  ExprPtr condition;
  Block body;
};

enum class ClauseKind { on, every, when, per };

/// `on a, b`, `every 200 updates`, `when finite`, `per tokens`, `per boxes(at_least: ranks)`, `per 64`.
struct Clause {
  ClauseKind kind;
  Span keyword;
  std::vector<Name> names;  // on
  ExprPtr value;            // every, when, per (a Number, Path or Call)
  Span span;
};

enum class Assign { none, equals, arrow };

/// Every other statement: `window { … }`, `tail = flush`, `step adamw(…) on plain`, `loop x extends y { … }`,
/// `m <- …`, `schedule f(…) = …`.
struct Head {
  Name keyword;
  std::optional<Name> name;
  std::optional<std::vector<Arg>> args;
  Span args_span;
  std::optional<Path> extends;
  Assign assign = Assign::none;
  ExprPtr value;  // set iff assign != none
  std::vector<Clause> clauses;
  std::optional<Block> block;
};

struct Item {
  std::variant<Use, When, Head> node;
  Span span;
};

/// `# …` without its newline. `own_line`: nothing but blanks stands before it.
struct Comment {
  std::string text;
  Span span;
  bool own_line = false;
};

struct File {
  base::FileId id;
  std::vector<ItemPtr> items;
  std::vector<Comment> comments;  // in source order
};

}  // namespace loop::ast
