#include "compiler/driver/availability.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "compiler/base/text.h"

namespace loop::driver {
namespace {

using diagnostics::Code;
using diagnostics::Engine;
using sema::Span;

// What the runtime has, by the names a spec uses.
const std::vector<std::string> kModels = {"cnn", "embedding_classifier", "gpt", "linear", "mlp"};
const std::vector<std::string> kSources = {"bin", "csv", "idx", "lines", "npy", "text"};
const std::vector<std::string> kLosses = {"bce_with_logits", "cross_entropy", "info_nce", "l1", "mse",
                                          "z_loss"};
bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The last part of a dotted name: a component may be written with its module.
std::string last_part(const std::string& name) {
  return name.substr(name.rfind('.') + 1);
}

std::string quoted(const std::string& text) {
  return "`" + text + "`";
}

class Report {
 public:
  Report(const sema::Spec& spec, std::optional<int64_t> ranks, Engine& engine)
      : spec_(spec), ranks_(ranks), engine_(engine) {}

  void all() {
    where_it_runs();
    numbers();
    model();
    data();
    objective();
    window();
    what_lasts();
  }

 private:
  void missing(Span place, const std::string& what, const std::string& instead) {
    engine_.report(Code::L990, place, {what, instead});
  }

  void one_of(Span place, const std::string& what, const std::vector<std::string>& available) {
    missing(place, what, "it has " + base::enumerate(available, " and "));
  }

  void where_it_runs() {
    if (spec_.device.value == plan::Device::cuda) {
      missing(spec_.device.span, "training on a GPU", "use `device = cpu`, or `auto`");
    }
    const auto& fixed = spec_.ranks.value;
    if (fixed && ranks_ && *fixed != *ranks_) {
      engine_.report(Code::L991, spec_.ranks.span, {std::to_string(*fixed), std::to_string(*ranks_)});
    }
  }

  void numbers() {
    if (spec_.dtype.value == plan::Dtype::bf16) {
      missing(spec_.dtype.span, "bf16 parameters", "use `dtype = fp32` or `fp64`");
    } else if (spec_.accumulate.written && spec_.accumulate.value != spec_.dtype.value) {
      missing(spec_.accumulate.span, "accumulating in another type than that of the parameters",
              "leave `accumulate` out or give `dtype` the same value");
    }
  }

  void model() {
    const sema::ModelUse& model = spec_.model;
    if (!has(kModels, last_part(model.component.name))) {
      one_of(model.span, "the model " + quoted(model.component.name), kModels);
    }
    if (!spec_.init_weights.value.empty()) {
      missing(spec_.init_weights.span, "starting from a file of weights", "use `init = random`");
    }
    if (spec_.batch_norm.value == plan::BatchNorm::across_ranks) {
      missing(spec_.batch_norm.span, "BatchNorm across ranks", "use `batch_norm = per_micro`");
    } else if (spec_.batch_norm.value == plan::BatchNorm::frozen) {
      missing(spec_.batch_norm.span, "frozen BatchNorm", "use `batch_norm = per_micro`");
    }
  }

  void data() {
    for (const sema::SourceUse& source : spec_.data.sources) {
      if (!has(kSources, last_part(source.source.component.name))) {
        one_of(source.span, "the data source " + quoted(source.source.component.name), kSources);
      }
      if (source.facts.split_by_file) {
        missing(source.span, "a source whose files are split among ranks",
                "use one that is dealt from one order");
      }
    }
  }

  void objective() {
    for (const sema::LossTerm& term : spec_.terms) {
      if (!has(kLosses, last_part(term.term.component.name))) {
        one_of(term.name_span, "the loss " + quoted(term.term.component.name), kLosses);
      } else if (!term.facts.decomposes) {
        missing(term.name_span, "a loss that couples the samples of a batch",
                "use one that is a sum over samples");
      }
      const auto unit = spec_.count_classes.at(static_cast<size_t>(term.term.count_class)).unit;
      if (unit == plan::CountUnit::boxes) {
        missing(term.unit_span, "`per boxes`", "use `per samples`, `per tokens` or a constant");
      }
    }
  }

  void window() {
    if (spec_.window.oom.value == plan::OomPolicy::halve) {
      missing(spec_.window.oom.span, "`oom = halve`", "use `oom = error` and a `micro_batch` that fits");
    }
  }

  void what_lasts() {
    if (spec_.checkpoint.value) {
      missing(spec_.checkpoint.span, "`checkpoint`", "leave it out; the run cannot be resumed then");
    }
    if (!spec_.resume.value.empty() && spec_.resume.value != "never") {
      missing(spec_.resume.span, "`resume`", "use `resume = never`");
    }
  }

  const sema::Spec& spec_;
  std::optional<int64_t> ranks_;
  Engine& engine_;
};

}  // namespace

void report_unavailable(const sema::Spec& spec, std::optional<int64_t> ranks, diagnostics::Engine& engine) {
  Report(spec, ranks, engine).all();
}

}  // namespace loop::driver
