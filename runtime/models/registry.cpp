#include <map>
#include <mutex>

#include "loop/error.h"
#include "loop/model.h"
#include "runtime/models/builtin.h"

namespace loop {
namespace {

// The built-in makers are named here and not by static objects of their files: a static library drops the
// object files nobody refers to.
struct Registry {
  std::mutex mutex;
  std::map<std::string, ModelFactory> factories = {
      {"gpt", models::make_gpt},
      {"linear", models::make_linear},
      {"mlp", models::make_mlp},
      {"cnn", models::make_cnn},
      {"embedding_classifier", models::make_embedding_classifier},
  };
};

Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

void register_model(const std::string& name, ModelFactory factory) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (!factory)
    throw Error(ErrorKind::internal, "The factory registered for model \"" + name + "\" is empty");
  if (!all.factories.emplace(name, std::move(factory)).second)
    throw Error(ErrorKind::internal, "A model named \"" + name + "\" is already registered",
                "Give your model another name.");
}

std::shared_ptr<Model> make_model(const plan::Component& component, const DataInfo& data) {
  ModelFactory factory;
  {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    const auto found = all.factories.find(component.name);
    if (found != all.factories.end()) factory = found->second;
  }
  if (!factory) {
    std::string known;
    for (const std::string& name : model_names()) known += (known.empty() ? "" : ", ") + name;
    throw Error(
        ErrorKind::findings, "There is no model named \"" + component.name + "\"",
        "Known models: " + known + ". A model of your own must be registered with loop::register_model.");
  }
  return factory(component, data);
}

std::vector<std::string> model_names() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::vector<std::string> names;
  for (const auto& [name, factory] : all.factories) names.push_back(name);
  return names;
}

}  // namespace loop
