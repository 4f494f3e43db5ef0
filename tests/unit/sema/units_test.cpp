#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "compiler/sema/scalar.h"
#include "compiler/syntax/parser.h"
#include "tests/unit/sema/analysis.h"

using namespace loop;

namespace {

/// One expression, read on its own.
struct Read {
  base::SourceManager sources;
  diagnostics::Engine engine;
  sema::Modules modules{sources, engine, std::filesystem::path(LOOP_SOURCE_DIR) / "stdlib"};
  std::optional<sema::Scalar> value;

  explicit Read(const std::string& text) {
    base::FileId file = sources.add("expression", text);
    ast::ExprPtr expr = syntax::parse_expression(sources, file, engine);
    if (!expr) return;
    sema::Context context{sources, engine, modules};
    value = sema::read_scalar(context, *expr);
  }
  bool gives(double number, sema::Dim dim) const {
    return value && value->constant() && value->dim == dim &&
           std::abs(*value->constant() - number) <= 1e-12 * std::abs(number);
  }
  bool fails(const std::string& code) const {
    return !value && engine.diagnostics().size() == 1 &&
           diagnostics::entry(engine.diagnostics()[0].code).id == code;
  }
};

}  // namespace

TEST_CASE("quantities") {
  using sema::Dim;
  CHECK(Read("90%").gives(0.9, Dim::none));
  CHECK(Read("10 min").gives(600, Dim::seconds));
  CHECK(Read("1 h + 30 min + 1 s").gives(5401, Dim::seconds));
  CHECK(Read("2 GiB").gives(2147483648.0, Dim::bytes));
  CHECK(Read("2 KiB + 1 B").gives(2049, Dim::bytes));
  CHECK(Read("1 epoch").gives(1, Dim::epochs));
  CHECK(Read("16_384 tokens / 64").gives(256, Dim::tokens));
  CHECK(Read("16_384 tokens / 64 tokens").gives(256, Dim::none));
  CHECK(Read("2 * (3 updates - 1 updates)").gives(4, Dim::updates));
  CHECK(Read("max(3 epochs, 4 epochs)").gives(4, Dim::epochs));
  CHECK(Read("if 3 updates > 2 updates then 1 else 2").gives(1, Dim::none));
  CHECK(Read("2 ^ 3 ^ 2").gives(512, Dim::none));
  CHECK(Read("-(2 samples)").gives(-2, Dim::samples));
  CHECK(Read("cos(pi)").gives(-1, Dim::none));
}

TEST_CASE("mixing any two different units is an error that names both") {
  const std::vector<std::string>& names = sema::unit_names();
  for (const std::string& a : names) {
    for (const std::string& b : names) {
      bool same = sema::find_unit(a)->dim == sema::find_unit(b)->dim;
      for (const std::string op : {"+", "-", "<", ">=", "==", "/"}) {
        Read read("2 " + a + " " + op + " 1 " + b);
        CAPTURE(a);
        CAPTURE(b);
        CAPTURE(op);
        if (same) {
          CHECK(read.value);
          continue;
        }
        REQUIRE(read.fails("L051"));
        const diagnostics::Diagnostic& finding = read.engine.diagnostics()[0];
        CHECK(finding.message.find(sema::name(sema::find_unit(a)->dim)) != std::string::npos);
        CHECK(finding.message.find(sema::name(sema::find_unit(b)->dim)) != std::string::npos);
        CHECK(read.sources.text(finding.span) == op);
        CHECK(finding.labels.size() == 2);
      }
      CHECK(Read("2 " + a + " * 1 " + b).fails("L051"));
      CHECK(Read("min(2 " + a + ", 1 " + b + ")").value.has_value() == same);
    }
    CHECK(Read("2 " + a + " + 1").fails("L051"));
    CHECK(Read("sqrt(2 " + a + ")").fails("L052"));
  }
}

TEST_CASE("constant folding agrees with arithmetic") {
  std::mt19937_64 random(7);
  auto below = [&](uint64_t bound) { return random() % bound; };
  for (int round = 0; round < 300; ++round) {
    double expected = static_cast<double>(below(9) + 1);
    std::string text = std::to_string(static_cast<int>(expected));
    for (int i = 0; i < 6; ++i) {
      int operand = static_cast<int>(below(9)) + 1;
      switch (below(4)) {
        case 0:
          text = "(" + text + " + " + std::to_string(operand) + ")";
          expected += operand;
          break;
        case 1:
          text = "(" + text + " - " + std::to_string(operand) + ")";
          expected -= operand;
          break;
        case 2:
          text = "(" + text + " * " + std::to_string(operand) + ")";
          expected *= operand;
          break;
        default:
          text = "(" + text + " / " + std::to_string(operand) + ")";
          expected /= operand;
          break;
      }
    }
    CAPTURE(text);
    Read read(text);
    REQUIRE(read.value);
    CHECK(read.value->constant() == expected);
    // The same with a unit on the first number stays in that unit unless a plain number is added.
    bool scales_only = text.find('+') == std::string::npos && text.find('-') == std::string::npos;
    std::string with_unit = text;
    with_unit.insert(with_unit.find_last_of('(') + 2, " tokens");
    Read quantity(with_unit);
    CHECK(quantity.value.has_value() == scales_only);
    if (quantity.value) CHECK(quantity.value->dim == sema::Dim::tokens);
  }
}

TEST_CASE("numbers that are none") {
  CHECK(Read("1 / 0").fails("L058"));
  CHECK(Read("1 / (3 - 3)").fails("L058"));
  CHECK(Read("sqrt(0 - 1)").fails("L059"));
  CHECK(Read("1e308 * 10").fails("L059"));
  CHECK(Read("1e300 GiB").fails("L059"));
  CHECK(Read("1e400").value.has_value() == false);
  CHECK(Read("\"text\"").fails("L050"));
  CHECK(Read("[1]").fails("L050"));
  CHECK(Read("3 and true").fails("L050"));
  CHECK(Read("inf").fails("L062"));
}
