#include <cmath>

#include "runtime/data/arguments.h"
#include "runtime/data/array_source.h"
#include "runtime/data/file.h"
#include "runtime/data/sources.h"

namespace loop::data {
namespace {

// IDX: 00 00 type rank, then one big-endian 32-bit extent per dimension, then the numbers. Type 08 is the
// unsigned byte.
struct IdxFile {
  std::string bytes;
  std::vector<int64_t> extents;
  size_t offset = 0;  // of the first number
};

constexpr int64_t kMostNumbers = int64_t{1} << 48;

int64_t big_endian(const std::string& bytes, size_t at) {
  int64_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

IdxFile read_idx(const std::filesystem::path& file, int64_t rank, const char* what) {
  IdxFile idx{read_file(file), {}, 4 + 4 * static_cast<size_t>(rank)};
  const int64_t expected = 0x0800 + rank;
  if (idx.bytes.size() < 4 || big_endian(idx.bytes, 0) != expected) {
    char text[64] = "fewer than four bytes";
    if (idx.bytes.size() >= 4) {
      std::snprintf(text, sizeof text, "0x%08X", static_cast<unsigned>(big_endian(idx.bytes, 0)));
    }
    char wanted[16];
    std::snprintf(wanted, sizeof wanted, "0x%08X", static_cast<unsigned>(expected));
    throw file_error(
        file,
        std::string("is not an IDX file of ") + what + ": it begins with " + text + " instead of " + wanted,
        "check that images and labels are not exchanged");
  }
  if (idx.bytes.size() < idx.offset)
    throw file_error(file, "ends within its header", "download or copy it again");
  int64_t numbers = 1;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t extent = big_endian(idx.bytes, 4 + 4 * static_cast<size_t>(d));
    if (extent != 0 && numbers > kMostNumbers / extent) {
      throw file_error(file, "its header is damaged", "download or copy it again");
    }
    idx.extents.push_back(extent);
    numbers *= extent;
  }
  const auto found = static_cast<int64_t>(idx.bytes.size() - idx.offset);
  if (numbers != found) {
    throw file_error(file,
                     "its header promises " + std::to_string(numbers) + " bytes of data, but there are " +
                         std::to_string(found),
                     "download or copy it again");
  }
  return idx;
}

}  // namespace

std::unique_ptr<Source> make_idx(const plan::Component& component, const SourceContext& context) {
  Arguments arguments(component);
  const auto image_file = resolved(context.base_dir, arguments.text("images"));
  const auto label_file = resolved(context.base_dir, arguments.text("labels"));
  const double mean = arguments.number("mean", 0);
  const double deviation = arguments.number("std", 1);
  const Slice slice = arguments.slice("take");
  arguments.refuse_others();
  if (!(deviation > 0) || !std::isfinite(deviation) || !std::isfinite(mean)) {
    throw Error(ErrorKind::findings, "idx(…): `std` must be above 0 and `mean` finite",
                "give the mean and standard deviation of pixels from 0 to 1");
  }

  IdxFile images = read_idx(image_file, 3, "images");
  const IdxFile labels = read_idx(label_file, 1, "labels");
  const int64_t count = images.extents[0];
  if (count != labels.extents[0]) {
    throw file_error(label_file,
                     std::to_string(labels.extents[0]) + " labels do not go with " + std::to_string(count) +
                         " images in " + image_file.string(),
                     "name the labels that belong to these images");
  }
  if (images.extents[1] * images.extents[2] == 0) {
    throw file_error(image_file, "its images have no pixels", "download or copy it again");
  }
  const Bounds part = take(slice, {image_file, count, "images"});

  ArrayData data;
  data.info.input_shape = {1, images.extents[1], images.extents[2]};
  data.inputs = Numbers::own(std::move(images.bytes), images.offset);
  // (pixel / 255 - mean) / std
  data.divisor = 255 * deviation;
  data.shift = 255 * mean;
  for (size_t i = labels.offset; i < labels.bytes.size(); ++i) {
    data.classes.push_back(static_cast<unsigned char>(labels.bytes[i]));
  }
  data.begin = part.begin;
  data.end = part.end;
  data.dtype = context.dtype;
  data.info.classes = number_of_classes(data.classes, context, label_file.string());
  return make_array_source(std::move(data));
}

}  // namespace loop::data
