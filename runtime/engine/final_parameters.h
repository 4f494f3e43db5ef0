// The trained parameters as files.
#pragma once

#include <filesystem>
#include <string>

#include "loop/model.h"
#include "runtime/engine/averages.h"
#include "runtime/plan/plan.h"

namespace loop::engine {

/// Writes FOLDER/model.safetensors and, for every average, FOLDER/model.NAME.safetensors: parameters and
/// buffers under their names in the model. A tensor with several names is written once, under the first; the
/// file's metadata says which others it has ("tied.NAME"). Returns the first file. Throws loop::Error (usage)
/// when a file cannot be written.
std::filesystem::path write_parameters(const plan::Plan& plan, Model& model, Averages& averages,
                                       const std::filesystem::path& folder);

}  // namespace loop::engine
