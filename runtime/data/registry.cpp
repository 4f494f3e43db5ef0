// The sources a spec can name.
#include <map>
#include <string>

#include "loop/error.h"
#include "runtime/data/sources.h"

namespace loop {

std::unique_ptr<Source> make_source(const plan::Component& component, const SourceContext& context) {
  static const std::map<std::string, data::SourceFactory> kSources = {
      {"bin", data::make_bin},     {"csv", data::make_csv}, {"idx", data::make_idx},
      {"lines", data::make_lines}, {"npy", data::make_npy}, {"text", data::make_text},
  };
  const auto found = kSources.find(component.name);
  if (found != kSources.end()) return found->second(component, context);
  std::string names;
  for (const auto& [name, factory] : kSources) names += (names.empty() ? "" : ", ") + name;
  throw Error(ErrorKind::findings, "there is no data source `" + component.name + "`",
              "the sources are " + names);
}

}  // namespace loop
