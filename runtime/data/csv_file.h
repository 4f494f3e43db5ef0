// Records of a CSV file (RFC 4180: commas, double quotes, quotes doubled inside quotes, line ends inside
// quotes allowed).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace loop::data {

class CsvReader {
 public:
  CsvReader(std::string_view text, const std::filesystem::path& file);
  /// The next record's fields; empty lines are passed over. False at the end. Throws loop::Error (usage) with
  /// the line for a quote that is not closed or stands inside a field.
  bool next(std::vector<std::string>& fields);
  /// Line on which the last record begins, from 1.
  int64_t line() const { return record_line_; }

 private:
  std::string quoted_field();
  [[noreturn]] void malformed(const std::string& what) const;

  std::string_view text_;
  const std::filesystem::path& file_;
  size_t at_ = 0;
  int64_t line_ = 1;
  int64_t record_line_ = 1;
};

}  // namespace loop::data
