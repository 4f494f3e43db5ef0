// A folder of its own for each test, and what went wrong as one text.
#pragma once

#include <zlib.h>

#include <filesystem>
#include <string>

#include "loop/error.h"
#include "loop/source.h"
#include "tests/support/temporary_folder.h"

namespace loop::data::test {

class Scratch {
 public:
  std::filesystem::path folder() const { return folder_.path(); }
  void write(const std::string& name, const std::string& bytes) const { folder_.write(name, bytes); }
  void write_gzip(const std::string& name, const std::string& bytes) const {
    gzFile file = gzopen(folder_.path(name).c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
  }
  std::string read(const std::string& name) const { return folder_.text(name); }

  /// `args` is JSON.
  std::unique_ptr<Source> source(const std::string& name, const std::string& args,
                                 SourceContext context = {}) const {
    context.base_dir = folder();
    return make_source({name, plan::json::parse(args)}, context);
  }
  /// "kind N | message | repair", with the folder's name taken out; empty if nothing is wrong.
  std::string problem(const std::string& name, const std::string& args,
                      const SourceContext& context = {}) const {
    try {
      source(name, args, context);
    } catch (const Error& error) {
      std::string text =
          "kind " + std::to_string(error.exit_code()) + " | " + error.what() + " | " + error.repair();
      const std::string prefix = folder_.path() + "/";
      for (size_t at; (at = text.find(prefix)) != std::string::npos;) text.erase(at, prefix.size());
      return text;
    }
    return "";
  }

 private:
  testing::TemporaryFolder folder_;
};

template <class T>
std::vector<T> values(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.contiguous().view({-1});
  return std::vector<T>(flat.data_ptr<T>(), flat.data_ptr<T>() + flat.numel());
}

inline std::vector<int64_t> shape(const torch::Tensor& tensor) {
  return tensor.sizes().vec();
}

}  // namespace loop::data::test
