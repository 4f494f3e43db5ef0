#include "compiler/ast/printer.h"

#include <sstream>

namespace loop::ast {
namespace {

class Printer {
 public:
  explicit Printer(std::ostream& out) : out_(out) {}

  void item(const Item& item) { std::visit(*this, item.node); }
  void expr(const Expr& expr) { std::visit(*this, expr.node); }

  void operator()(const Use& use) {
    out_ << "(use " << std::string(static_cast<size_t>(use.dots), '.') << use.path.dotted() << ')';
  }

  void operator()(const When& when) {
    out_ << "(when ";
    expr(*when.condition);
    out_ << ' ';
    block(when.body);
    out_ << ')';
  }

  void operator()(const Head& head) {
    out_ << '(' << head.keyword.text;
    if (head.name) out_ << ' ' << head.name->text;
    if (head.args) args(*head.args);
    if (head.extends) out_ << " extends " << head.extends->dotted();
    if (head.assign != Assign::none) {
      out_ << (head.assign == Assign::equals ? " = " : " <- ");
      expr(*head.value);
    }
    for (const Clause& part : head.clauses) clause(part);
    if (head.block) {
      out_ << ' ';
      block(*head.block);
    }
    out_ << ')';
  }

  void operator()(const Number& number) { out_ << number.spelling; }
  void operator()(const Percent& percent) { out_ << percent.spelling; }
  void operator()(const Quantity& quantity) { out_ << quantity.spelling << ' ' << quantity.unit.text; }
  void operator()(const Path& path) { out_ << path.dotted(); }
  void operator()(const Text& text) {
    out_ << '"';
    for (const char c : text.value) {
      if (c == '\n') {
        out_ << "\\n";
        continue;
      }
      if (c == '"' || c == '\\') out_ << '\\';
      out_ << c;
    }
    out_ << '"';
  }

  void operator()(const Call& call) {
    out_ << call.callee.dotted();
    args(call.args);
  }

  void operator()(const List& list) {
    out_ << '[';
    const char* gap = "";
    for (const ExprPtr& element : list.elements) {
      out_ << gap;
      expr(*element);
      gap = " ";
    }
    out_ << ']';
  }

  void operator()(const Range& range) { form("->", {range.from.get(), range.to.get()}); }
  void operator()(const Unary& unary) { form(spelling(unary.op), {unary.operand.get()}); }
  void operator()(const Binary& binary) {
    form(spelling(binary.op), {binary.left.get(), binary.right.get()});
  }
  void operator()(const Conditional& conditional) {
    form("if", {conditional.condition.get(), conditional.then_value.get(), conditional.else_value.get()});
  }
  void operator()(const Parenthesized& parenthesized) { form("group", {parenthesized.inner.get()}); }

 private:
  void form(const char* head, std::initializer_list<const Expr*> parts) {
    out_ << '(' << head;
    for (const Expr* part : parts) {
      out_ << ' ';
      expr(*part);
    }
    out_ << ')';
  }

  void args(const std::vector<Arg>& list) {
    out_ << '(';
    const char* gap = "";
    for (const Arg& arg : list) {
      out_ << gap;
      if (arg.name) out_ << arg.name->text << ": ";
      expr(*arg.value);
      if (arg.range) interval(*arg.range);
      gap = ", ";
    }
    out_ << ')';
  }

  void interval(const Interval& range) {
    out_ << " in " << (range.low_closed ? '[' : '(');
    expr(*range.low);
    out_ << ", ";
    expr(*range.high);
    out_ << (range.high_closed ? ']' : ')');
  }

  void clause(const Clause& clause) {
    switch (clause.kind) {
      case ClauseKind::on:
        out_ << " on";
        for (const Name& name : clause.names) out_ << ' ' << name.text;
        return;
      case ClauseKind::every:
        out_ << " every ";
        break;
      case ClauseKind::when:
        out_ << " when ";
        break;
      case ClauseKind::per:
        out_ << " per ";
        break;
    }
    expr(*clause.value);
  }

  void block(const Block& block) {
    out_ << '{';
    const char* gap = "";
    for (const ItemPtr& child : block.items) {
      out_ << gap;
      item(*child);
      gap = " ";
    }
    out_ << '}';
  }

  std::ostream& out_;
};

}  // namespace

void print(std::ostream& out, const File& file) {
  for (const ItemPtr& item : file.items) {
    print(out, *item);
    out << '\n';
  }
}

void print(std::ostream& out, const Item& item) {
  Printer(out).item(item);
}
void print(std::ostream& out, const Expr& expr) {
  Printer(out).expr(expr);
}

std::string to_string(const File& file) {
  std::ostringstream out;
  print(out, file);
  return out.str();
}

std::string to_string(const Expr& expr) {
  std::ostringstream out;
  print(out, expr);
  return out.str();
}

}  // namespace loop::ast
