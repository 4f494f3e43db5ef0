#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "loop/error.h"
#include "runtime/data/arguments.h"
#include "runtime/data/array_source.h"
#include "runtime/data/csv_file.h"
#include "runtime/data/file.h"
#include "runtime/data/sources.h"

namespace loop::data {
namespace {

std::string_view trimmed(std::string_view field) {
  const size_t begin = field.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return field.substr(begin, field.find_last_not_of(" \t") - begin + 1);
}

// Nothing for text that is not a number in its whole length.
std::optional<double> number_in(std::string_view field) {
  field = trimmed(field);
  if (field.starts_with('+')) field.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || end != field.data() + field.size()) return std::nullopt;
  return value;
}

class CsvTable {
 public:
  CsvTable(std::filesystem::path file, const std::string& header)
      : file_(std::move(file)), text_(read_file(file_)) {
    CsvReader reader(text_, file_);
    std::vector<std::string> first;
    if (!reader.next(first)) throw file_error(file_, "has only empty lines", "use a file with rows");
    // A line of data has at least one number.
    const bool words = std::none_of(first.begin(), first.end(),
                                    [](const std::string& f) { return number_in(f) || f.empty(); });
    has_header_ = header == "yes" || (header == "auto" && words);
    columns_ = first.size();
    if (!has_header_) return;
    for (const std::string& field : first) names_.emplace_back(trimmed(field));
  }

  const std::filesystem::path& file() const { return file_; }
  size_t columns() const { return columns_; }

  /// A column by name, or by number: from 0, or from the end with a minus.
  size_t column(const std::string& name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found != names_.end()) {
      if (std::count(names_.begin(), names_.end(), name) > 1) {
        throw file_error(file_, "line 1: several columns are called `" + name + "`",
                         "name the column by its number, from 0");
      }
      return static_cast<size_t>(found - names_.begin());
    }
    int64_t index = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
    const auto count = static_cast<int64_t>(columns_);
    if (error == std::errc() && end == name.data() + name.size() && index >= -count && index < count) {
      return static_cast<size_t>(index < 0 ? index + count : index);
    }
    std::string known =
        has_header_ ? "the columns are "
                    : "without a header line, columns are numbers from 0 to " + std::to_string(count - 1);
    for (size_t i = 0; i < names_.size(); ++i) known += (i > 0 ? ", " : "") + names_[i];
    if (columns_ == 1 && has_header_ && names_[0].find(';') != std::string::npos)
      known += "; columns are separated by commas";
    throw Error(ErrorKind::findings, file_.string() + ": there is no column `" + name + "`", known);
  }

  /// Calls `row(fields, line)` for every row of data.
  template <class Row>
  void read(Row row) const {
    CsvReader reader(text_, file_);
    std::vector<std::string> fields;
    if (has_header_) reader.next(fields);
    while (reader.next(fields)) {
      if (fields.size() != columns_) {
        throw file_error(file_,
                         "line " + std::to_string(reader.line()) + ": " + std::to_string(fields.size()) +
                             " fields, but the first line has " + std::to_string(columns_),
                         "complete the line, or quote fields that hold commas");
      }
      row(fields, reader.line());
    }
  }

  /// The field as a finite number; an error names line and column.
  double number(const std::vector<std::string>& fields, size_t column, int64_t line) const {
    const std::string_view field = trimmed(fields[column]);
    if (field.empty()) fail(column, line, "the value is missing");
    const std::optional<double> value = number_in(field);
    if (!value) fail(column, line, "`" + std::string(field) + "` is not a number");
    if (!std::isfinite(*value)) fail(column, line, "the value is " + std::string(field));
    return *value;
  }

  [[noreturn]] void fail(size_t column, int64_t line, const std::string& what) const {
    const std::string name = has_header_ ? "`" + names_[column] + "`" : std::to_string(column) + " (from 0)";
    throw file_error(file_, "line " + std::to_string(line) + ", column " + name + ": " + what,
                     "fill in or remove the row, or leave the column out with `features`");
  }

 private:
  std::filesystem::path file_;
  std::string text_;
  std::vector<std::string> names_;
  size_t columns_ = 0;
  bool has_header_ = false;
};

// Classes written as whole numbers are those numbers; written as words, they are numbered in alphabetical
// order, or as in the training source.
class ClassColumn {
 public:
  void add(const CsvTable& table, const std::vector<std::string>& fields, size_t column, int64_t line) {
    labels_.emplace_back(trimmed(fields[column]));
    if (labels_.back().empty()) table.fail(column, line, "the class is missing");
    const std::optional<double> number = number_in(labels_.back());
    if (!number) words_ = true;
    if (number && !not_a_class_ && (*number < 0 || *number != std::floor(*number) || *number > 1e9))
      not_a_class_ = {column, line};
  }

  void finish(const CsvTable& table, const SourceContext& context, ArrayData& data) const {
    if (words_) return number_words(table, context, data);
    if (not_a_class_)
      table.fail(not_a_class_->first, not_a_class_->second,
                 "a class must be a whole number from 0, or a word");
    for (const std::string& label : labels_) data.classes.push_back(static_cast<int64_t>(*number_in(label)));
    data.info.classes = number_of_classes(data.classes, context, table.file().string());
  }

 private:
  void number_words(const CsvTable& table, const SourceContext& context, ArrayData& data) const {
    std::vector<std::string>& names = data.info.class_names;
    names = context.vocabulary_of ? context.vocabulary_of->info().class_names : labels_;
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::map<std::string, int64_t> numbers;
    for (size_t i = 0; i < names.size(); ++i) numbers[names[i]] = static_cast<int64_t>(i);
    for (const std::string& label : labels_) {
      const auto found = numbers.find(label);
      if (found == numbers.end()) {
        throw Error(
            ErrorKind::findings,
            table.file().string() + ": the class `" + label + "` does not occur in the training source",
            "train on data that has every class");
      }
      data.classes.push_back(found->second);
    }
    data.info.classes = static_cast<int64_t>(names.size());
  }

  std::vector<std::string> labels_;
  bool words_ = false;
  std::optional<std::pair<size_t, int64_t>> not_a_class_;
};

std::vector<size_t> feature_columns(const CsvTable& table, const std::vector<std::string>& names,
                                    const std::vector<size_t>& targets) {
  std::vector<size_t> columns;
  for (const std::string& name : names) columns.push_back(table.column(name));
  for (size_t column : columns) {
    if (std::count(targets.begin(), targets.end(), column)) {
      throw Error(ErrorKind::findings, table.file().string() + ": a column is both a feature and a target",
                  "leave it out of `features`");
    }
  }
  for (size_t column = 0; names.empty() && column < table.columns(); ++column) {
    if (!std::count(targets.begin(), targets.end(), column)) columns.push_back(column);
  }
  if (columns.empty()) {
    throw file_error(table.file(), "has no column besides the target", "columns are separated by commas");
  }
  return columns;
}

}  // namespace

std::unique_ptr<Source> make_csv(const plan::Component& component, const SourceContext& context) {
  Arguments arguments(component);
  const auto file = resolved(context.base_dir, arguments.text("path"));
  const std::vector<std::string> target_names = arguments.names("target");
  const std::vector<std::string> feature_names = arguments.names("features");
  const bool classification =
      arguments.choice("task", {"classification", "regression"}, "") == "classification";
  const std::string header = arguments.choice("header", {"auto", "yes", "no"}, "auto");
  const Slice slice = arguments.slice("take");
  arguments.refuse_others();
  if (target_names.empty() || (classification && target_names.size() > 1)) {
    throw Error(ErrorKind::findings,
                target_names.empty() ? "csv(…): `target` names no column"
                                     : "csv(…): a class stands in one column, but `target` names " +
                                           std::to_string(target_names.size()),
                classification ? "name the column of the classes" : "name one column or several");
  }

  const CsvTable table(file, header);
  std::vector<size_t> targets;
  for (const std::string& name : target_names) targets.push_back(table.column(name));
  const std::vector<size_t> features = feature_columns(table, feature_names, targets);

  ArrayData data;
  ClassColumn classes;
  std::vector<double> inputs, values;
  int64_t rows = 0;
  table.read([&](const std::vector<std::string>& fields, int64_t line) {
    ++rows;
    for (size_t column : features) inputs.push_back(table.number(fields, column, line));
    if (classification) classes.add(table, fields, targets.front(), line);
    for (size_t i = 0; !classification && i < targets.size(); ++i) {
      values.push_back(table.number(fields, targets[i], line));
    }
  });
  const Bounds part = take(slice, {file, rows, "rows"});
  data.info.input_shape = {static_cast<int64_t>(features.size())};
  data.inputs = Numbers::own(std::move(inputs));
  if (classification) {
    classes.finish(table, context, data);
  } else {
    data.values = Numbers::own(std::move(values));
    data.info.outputs = static_cast<int64_t>(targets.size());
  }
  data.begin = part.begin;
  data.end = part.end;
  data.dtype = context.dtype;
  return make_array_source(std::move(data));
}

}  // namespace loop::data
