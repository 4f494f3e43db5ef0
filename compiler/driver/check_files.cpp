#include "compiler/driver/check_files.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

namespace loop::driver {
namespace {

constexpr size_t kMostThreads = 64;

size_t threads_for(size_t files, size_t jobs) {
  const size_t wanted = jobs > 0 ? jobs : std::max<size_t>(1, std::thread::hardware_concurrency());
  return std::min({wanted, files, kMostThreads});
}

}  // namespace

std::vector<std::unique_ptr<CheckedFile>> check_files(const std::vector<SpecFile>& files,
                                                      const CheckRequest& request, SettingsOfFiles& settings,
                                                      std::istream& in) {
  std::vector<std::unique_ptr<CheckedFile>> checked;
  for (const SpecFile& file : files) {
    checked.push_back(std::make_unique<CheckedFile>());
    checked.back()->path = file.path;
    checked.back()->settings = &settings.of(file.path);
  }
  std::vector<std::exception_ptr> failures(files.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < files.size(); i = next++) {
      try {
        SpecRequest spec;
        spec.path = files[i].path;
        spec.overrides = request.overrides;
        spec.look_for_data = request.look_for_data;
        spec.may_lack_loop = files[i].searched;
        if (const auto text = request.texts.find(spec.path); text != request.texts.end())
          spec.text = text->second;
        check_spec(checked[i]->compilation, spec, in);  // standard input is in the list once at most
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  std::vector<std::jthread> threads;
  for (size_t i = 1; i < threads_for(files.size(), request.jobs); ++i) threads.emplace_back(work);
  work();
  threads.clear();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return checked;
}

}  // namespace loop::driver
