#include "loop/error.h"
#include "runtime/data/arguments.h"
#include "runtime/data/file.h"
#include "runtime/data/npy_file.h"
#include "runtime/data/sources.h"

namespace loop::data {
namespace {

std::string text_of(const std::vector<int64_t>& shape) {
  std::string text;
  for (int64_t extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "(" + text + ")";
}

void check_finite(const NpyArray& array, const std::filesystem::path& file) {
  const int64_t at = array.numbers.first_not_finite();
  if (at < 0) return;
  const int64_t row = at / (array.numbers.count / array.rows());
  throw file_error(file, "row " + std::to_string(row) + " (from 0) has a number that is NaN or infinite",
                   "remove or replace it before training");
}

// Class numbers from an integer array of one dimension.
std::vector<int64_t> classes_of(const NpyArray& array, const std::filesystem::path& file) {
  std::vector<int64_t> classes(array.numbers.count);
  array.numbers.copy(0, array.numbers.count, classes.data());
  for (size_t row = 0; row < classes.size(); ++row) {
    if (classes[row] < 0) {
      throw file_error(
          file, "row " + std::to_string(row) + " (from 0) has the class " + std::to_string(classes[row]),
          "number classes from 0");
    }
  }
  return classes;
}

// Token ids instead of numbers: every row is a sequence, and a model looks its elements up in a table.
void read_as_tokens(const NpyArray& inputs, const std::filesystem::path& file, int64_t vocabulary,
                    const SourceContext& context, ArrayData& data) {
  if (!inputs.numbers.integral() || inputs.shape.size() > 2) {
    throw file_error(file,
                     "its shape " + text_of(inputs.shape) + " of " +
                         (inputs.numbers.integral() ? "integers" : "real numbers") +
                         " is not one of token ids",
                     "use integers of shape (samples, length), or leave out `vocabulary`");
  }
  if (context.vocabulary_of && context.vocabulary_of->info().vocabulary != vocabulary) {
    throw Error(ErrorKind::findings,
                "the source of " + file.string() + " has a vocabulary of " + std::to_string(vocabulary) +
                    ", the training source one of " +
                    std::to_string(context.vocabulary_of->info().vocabulary),
                "give both the same `vocabulary`");
  }
  const int64_t length = inputs.numbers.count / inputs.rows();
  std::vector<int64_t> row(static_cast<size_t>(length));
  for (int64_t at = 0; at < inputs.rows(); ++at) {
    inputs.numbers.copy(at * length, length, row.data());
    for (const int64_t token : row) {
      if (token >= 0 && token < vocabulary) continue;
      throw file_error(file,
                       "row " + std::to_string(at) + " (from 0) has the token " + std::to_string(token) +
                           ", outside the vocabulary of " + std::to_string(vocabulary),
                       "give the vocabulary of the tokenizer that wrote the file");
    }
  }
  data.token_ids = true;
  data.info.vocabulary = vocabulary;
  data.info.context = length;
}

}  // namespace

std::unique_ptr<Source> make_npy(const plan::Component& component, const SourceContext& context) {
  Arguments arguments(component);
  const auto input_file = resolved(context.base_dir, arguments.text("inputs"));
  const auto target_file = resolved(context.base_dir, arguments.text("targets"));
  const auto vocabulary = arguments.integer("vocabulary", 1, "none");
  const Slice slice = arguments.slice("take");
  arguments.refuse_others();

  NpyArray inputs = read_npy(input_file);
  NpyArray targets = read_npy(target_file);
  if (inputs.rows() != targets.rows()) {
    throw file_error(target_file,
                     std::to_string(targets.rows()) + " targets do not go with " +
                         std::to_string(inputs.rows()) + " inputs in " + input_file.string(),
                     "the first dimension of both arrays is the sample");
  }
  ArrayData data;
  const Bounds part = take(slice, {input_file, inputs.rows(), "samples"});
  if (inputs.numbers.count == 0 || targets.numbers.count == 0) {
    throw file_error(inputs.numbers.count == 0 ? input_file : target_file, "its samples hold no numbers",
                     "save arrays with data");
  }
  check_finite(inputs, input_file);
  check_finite(targets, target_file);

  if (vocabulary) {
    read_as_tokens(inputs, input_file, *vocabulary, context, data);
  } else {
    data.info.input_shape = {inputs.shape.begin() + 1, inputs.shape.end()};
    if (data.info.input_shape.empty()) data.info.input_shape = {1};
  }
  if (targets.shape.size() == 1 && targets.numbers.integral()) {
    data.classes = classes_of(targets, target_file);
    data.info.classes = number_of_classes(data.classes, context, target_file.string());
  } else if (targets.shape.size() <= 2 && !targets.numbers.integral()) {
    data.info.outputs = targets.shape.size() == 2 ? targets.shape[1] : 1;
    data.values = targets.numbers;
  } else {
    throw file_error(target_file,
                     std::string("its shape ") + text_of(targets.shape) + " of " +
                         (targets.numbers.integral() ? "integers" : "real numbers") +
                         " is not one of targets",
                     "use integers of shape (samples) for classes, or real numbers of shape (samples) or "
                     "(samples, outputs) "
                     "for values");
  }
  data.inputs = inputs.numbers;
  data.begin = part.begin;
  data.end = part.end;
  data.dtype = context.dtype;
  return make_array_source(std::move(data));
}

}  // namespace loop::data
