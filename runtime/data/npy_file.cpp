#include "runtime/data/npy_file.h"

#include <cctype>
#include <cstring>
#include <map>

#include "runtime/data/file.h"

namespace loop::data {
namespace {

struct ElementType {
  Numbers::Type type;
  int64_t bytes;
};

const std::map<std::string, ElementType>& element_types() {
  static const std::map<std::string, ElementType> kTypes = {
      {"<f4", {Numbers::Type::f32, 4}}, {"<f8", {Numbers::Type::f64, 8}}, {"<i2", {Numbers::Type::i16, 2}},
      {"<i4", {Numbers::Type::i32, 4}}, {"<i8", {Numbers::Type::i64, 8}}, {"<u2", {Numbers::Type::u16, 2}},
      {"|i1", {Numbers::Type::i8, 1}},  {"|u1", {Numbers::Type::u8, 1}},
  };
  return kTypes;
}

// The header is a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::filesystem::path& file) : text_(text), file_(file) {}

  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;

  void parse() {
    expect('{');
    bool descr_seen = false, order_seen = false, shape_seen = false;
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        descr = quoted(), descr_seen = true;
      } else if (key == "fortran_order") {
        fortran_order = boolean(), order_seen = true;
      } else if (key == "shape") {
        tuple(), shape_seen = true;
      } else {
        damaged();
      }
      accept(',');
    }
    if (!descr_seen || !order_seen || !shape_seen) damaged();
  }

 private:
  [[noreturn]] void damaged() const {
    throw file_error(file_, "its header is not that of a plain array",
                     "write it with numpy.save(file, array)");
  }
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) damaged();
  }
  std::string quoted() {
    skip_space();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) damaged();
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) damaged();
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  bool boolean() {
    skip_space();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    }
    damaged();
  }
  void tuple() {
    expect('(');
    while (!accept(')')) {
      int64_t extent = 0;
      size_t digits = 0;
      skip_space();
      for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])); ++at_, ++digits) {
        if (digits >= 15) damaged();
        extent = extent * 10 + (text_[at_] - '0');
      }
      if (digits == 0) damaged();
      accept('L');  // Python 2 wrote 3L
      shape.push_back(extent);
      accept(',');
    }
  }

  std::string_view text_;
  const std::filesystem::path& file_;
  size_t at_ = 0;
};

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr int64_t kMostNumbers = int64_t{1} << 56;

}  // namespace

NpyArray read_npy(const std::filesystem::path& file) {
  const auto mapped = std::make_shared<const MappedFile>(file);
  const auto bytes =
      std::string_view(reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size());
  if (bytes.substr(0, kMagic.size()) != kMagic || bytes.size() < 10) {
    throw file_error(file, "is not an .npy file",
                     "write it with numpy.save(file, array); .npz archives must be unpacked");
  }
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(bytes[i])); };
  const size_t version = byte(6);
  if (version < 1 || version > 3) {
    throw file_error(file, "has the unknown .npy version " + std::to_string(version),
                     "write it with numpy.save");
  }
  size_t length = byte(8) | byte(9) << 8;
  size_t begin = 10;
  if (version > 1) {
    begin = 12;
    if (bytes.size() >= begin) length |= byte(10) << 16 | byte(11) << 24;
  }
  if (bytes.size() < begin || bytes.size() - begin < length) {
    throw file_error(file, "ends within its header", "copy it again");
  }
  HeaderParser header(bytes.substr(begin, length), file);
  header.parse();
  const auto type = element_types().find(header.descr);
  if (type == element_types().end()) {
    throw file_error(file, "holds elements of the type '" + header.descr + "', which is not read",
                     "save it as float32, float64, int8, int16, int32, int64, uint8 or uint16, for example "
                     "array.astype('<f4')");
  }
  if (header.fortran_order && header.shape.size() > 1) {
    throw file_error(file, "is stored column by column (Fortran order)",
                     "save numpy.ascontiguousarray(array)");
  }
  if (header.shape.empty())
    throw file_error(file, "holds a single number, not an array of samples", "save an array");
  int64_t count = 1;
  for (int64_t extent : header.shape) {
    if (extent != 0 && count > kMostNumbers / extent)
      throw file_error(file, "its header is damaged", "copy it again");
    count *= extent;
  }
  const auto found = static_cast<int64_t>(bytes.size() - begin - length);
  if (found != count * type->second.bytes) {
    throw file_error(file,
                     "its header promises " + std::to_string(count * type->second.bytes) +
                         " bytes of data, but there are " + std::to_string(found),
                     "copy it again");
  }
  return {header.shape, {type->second.type, bytes.data() + begin + length, count, mapped}};
}

}  // namespace loop::data
