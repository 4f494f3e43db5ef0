// The models that come with Loop, one maker per file. Their parameters' names and shapes are those of
// stdlib/models/*.loop.
#pragma once

#include <memory>

#include "loop/arguments.h"
#include "loop/model.h"

namespace loop::models {

std::shared_ptr<Model> make_gpt(const plan::Component& component, const DataInfo& data);
std::shared_ptr<Model> make_linear(const plan::Component& component, const DataInfo& data);
std::shared_ptr<Model> make_mlp(const plan::Component& component, const DataInfo& data);
std::shared_ptr<Model> make_cnn(const plan::Component& component, const DataInfo& data);
std::shared_ptr<Model> make_embedding_classifier(const plan::Component& component, const DataInfo& data);

/// The argument `outputs`, or else what the data asks for: its classes, or the columns of its target.
int64_t output_count(Arguments& arguments, const DataInfo& data);

}  // namespace loop::models
