#include "runtime/data/array_source.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "loop/error.h"

namespace loop::data {
namespace {

// Calls `use` with the numbers as a typed pointer. Files do not promise alignment, so elements are read by
// memcpy.
template <class Use>
auto typed(const Numbers& numbers, Use use) {
  switch (numbers.type) {
    case Numbers::Type::u8:
      return use(static_cast<const uint8_t*>(numbers.data));
    case Numbers::Type::i8:
      return use(static_cast<const int8_t*>(numbers.data));
    case Numbers::Type::u16:
      return use(static_cast<const uint16_t*>(numbers.data));
    case Numbers::Type::i16:
      return use(static_cast<const int16_t*>(numbers.data));
    case Numbers::Type::i32:
      return use(static_cast<const int32_t*>(numbers.data));
    case Numbers::Type::i64:
      return use(static_cast<const int64_t*>(numbers.data));
    case Numbers::Type::f32:
      return use(static_cast<const float*>(numbers.data));
    case Numbers::Type::f64:
      break;
  }
  return use(static_cast<const double*>(numbers.data));
}

template <class T>
T element(const T* data, int64_t index) {
  T value;
  std::memcpy(&value, reinterpret_cast<const char*>(data) + index * static_cast<int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

template <class Out>
void copy_scaled(const Numbers& numbers, int64_t begin, int64_t n, Out* out, double divisor, double shift) {
  typed(numbers, [&](const auto* data) {
    for (int64_t i = 0; i < n; ++i) {
      out[i] = static_cast<Out>((static_cast<double>(element(data, begin + i)) - shift) / divisor);
    }
  });
}

class ArraySource final : public Source {
 public:
  explicit ArraySource(ArrayData data) : data_(std::move(data)) {
    shape_ = data_.token_ids ? std::vector<int64_t>{data_.info.context} : data_.info.input_shape;
    for (int64_t extent : shape_) elements_ *= extent;
  }

  int64_t size() const override { return data_.end - data_.begin; }
  int64_t positions(int64_t) const override { return data_.token_ids ? elements_ : 1; }
  int64_t counted(int64_t sample, std::optional<int64_t> ignore) const override {
    if (data_.info.classes == 0) return data_.info.outputs;
    return ignore && data_.classes[data_.begin + sample] == *ignore ? 0 : 1;
  }
  const DataInfo& info() const override { return data_.info; }

  Batch collate(std::span<const int64_t> samples, int64_t padding_rows) const override {
    const int64_t counting = static_cast<int64_t>(samples.size());
    const int64_t rows = counting + padding_rows;
    std::vector<int64_t> shape = {rows};
    shape.insert(shape.end(), shape_.begin(), shape_.end());

    Batch batch;
    batch.inputs = torch::zeros(shape, data_.token_ids ? torch::kInt64 : data_.dtype);
    fill(batch.inputs, samples, data_.inputs, elements_, data_.divisor, data_.shift);
    if (data_.info.classes > 0) {
      batch.targets = torch::full({rows}, kPaddingTarget, torch::kLong);
      auto* targets = batch.targets.mutable_data_ptr<int64_t>();
      for (int64_t row = 0; row < counting; ++row) targets[row] = data_.classes[data_.begin + samples[row]];
    } else {
      batch.targets = torch::zeros({rows, data_.info.outputs}, data_.dtype);
      fill(batch.targets, samples, data_.values, data_.info.outputs, 1, 0);
    }
    if (padding_rows > 0) {
      batch.valid = torch::zeros({rows}, torch::kBool);
      std::fill_n(batch.valid.mutable_data_ptr<bool>(), counting, true);
    }
    batch.samples = counting;
    batch.positions = rows * positions(0);
    batch.sample_ids.assign(samples.begin(), samples.end());
    return batch;
  }

 private:
  void fill(torch::Tensor& tensor, std::span<const int64_t> samples, const Numbers& numbers, int64_t width,
            double divisor, double shift) const {
    for (size_t row = 0; row < samples.size(); ++row) {
      const int64_t from = (data_.begin + samples[row]) * width;
      const int64_t to = static_cast<int64_t>(row) * width;
      if (tensor.scalar_type() == torch::kInt64) {
        numbers.copy(from, width, tensor.mutable_data_ptr<int64_t>() + to);
      } else if (tensor.scalar_type() == torch::kFloat64) {
        numbers.copy(from, width, tensor.mutable_data_ptr<double>() + to, divisor, shift);
      } else {
        numbers.copy(from, width, tensor.mutable_data_ptr<float>() + to, divisor, shift);
      }
    }
  }

  ArrayData data_;
  std::vector<int64_t> shape_;  // of one sample's inputs
  int64_t elements_ = 1;
};

}  // namespace

Numbers Numbers::own(std::vector<double> values) {
  const auto owned = std::make_shared<const std::vector<double>>(std::move(values));
  return {Type::f64, owned->data(), static_cast<int64_t>(owned->size()), owned};
}

Numbers Numbers::own(std::string bytes, size_t offset) {
  const auto owned = std::make_shared<const std::string>(std::move(bytes));
  return {Type::u8, owned->data() + offset, static_cast<int64_t>(owned->size() - offset), owned};
}

void Numbers::copy(int64_t begin, int64_t n, float* out, double divisor, double shift) const {
  copy_scaled(*this, begin, n, out, divisor, shift);
}

void Numbers::copy(int64_t begin, int64_t n, double* out, double divisor, double shift) const {
  copy_scaled(*this, begin, n, out, divisor, shift);
}

void Numbers::copy(int64_t begin, int64_t n, int64_t* out) const {
  typed(*this, [&](const auto* numbers) {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<int64_t>(element(numbers, begin + i));
  });
}

int64_t Numbers::first_not_finite() const {
  if (integral()) return -1;
  return typed(*this, [&](const auto* numbers) -> int64_t {
    for (int64_t i = 0; i < count; ++i) {
      if (!std::isfinite(static_cast<double>(element(numbers, i)))) return i;
    }
    return -1;
  });
}

std::unique_ptr<Source> make_array_source(ArrayData data) {
  return std::make_unique<ArraySource>(std::move(data));
}

int64_t number_of_classes(const std::vector<int64_t>& classes, const SourceContext& context,
                          const std::string& what) {
  const int64_t found = classes.empty() ? 0 : *std::max_element(classes.begin(), classes.end()) + 1;
  if (!context.vocabulary_of) return found;
  const int64_t known = context.vocabulary_of->info().classes;
  if (found > known) {
    throw Error(ErrorKind::findings,
                what + ": class " + std::to_string(found - 1) +
                    " does not occur in the training source, which has " + std::to_string(known) + " classes",
                "train on data that has every class");
  }
  return known;
}

}  // namespace loop::data
