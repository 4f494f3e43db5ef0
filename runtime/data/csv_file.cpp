#include "runtime/data/csv_file.h"

#include <algorithm>

#include "runtime/data/file.h"

namespace loop::data {

CsvReader::CsvReader(std::string_view text, const std::filesystem::path& file) : text_(text), file_(file) {
  if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;  // byte order mark
}

void CsvReader::malformed(const std::string& what) const {
  throw file_error(file_, "line " + std::to_string(line_) + ": " + what,
                   "put the whole field in quotes and double those in it");
}

// From behind the opening quote to behind the closing one.
std::string CsvReader::quoted_field() {
  std::string field;
  for (; at_ < text_.size(); ++at_) {
    if (text_[at_] == '\n') ++line_;
    if (text_[at_] == '"') {
      ++at_;
      if (at_ == text_.size() || text_[at_] != '"') return field;
    }
    field += text_[at_];
  }
  line_ = record_line_;
  malformed("a quote is opened and not closed");
}

bool CsvReader::next(std::vector<std::string>& fields) {
  fields.clear();
  while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) line_ += text_[at_++] == '\n';
  if (at_ == text_.size()) return false;
  record_line_ = line_;
  for (;;) {
    if (at_ < text_.size() && text_[at_] == '"') {
      ++at_;
      fields.push_back(quoted_field());
    } else {
      const size_t end = std::min(text_.find_first_of(",\r\n\"", at_), text_.size());
      fields.emplace_back(text_.substr(at_, end - at_));
      at_ = end;
    }
    if (at_ == text_.size()) return true;
    if (text_[at_] == ',') {
      ++at_;
      continue;
    }
    if (text_.substr(at_, 2) == "\r\n") ++at_;
    if (text_[at_] != '\n') malformed("a quote or a carriage return stands inside a field");
    ++at_;
    ++line_;
    return true;
  }
}

}  // namespace loop::data
