// A plan for a CUDA device as one Python file: ModelNew, whose kernels torch.utils.cpp_extension.load_inline compiles.
#pragma once

#include <string>

#include "report/export.h"

namespace hone {

// Needs material.plan. Without material.model, ModelNew takes the problem's parameters by name. kUsage says what such a
// file cannot hold: a plan of several sources, parameters whose values lie in a file.
Result<std::string> ModelNewText(const ExportMaterial& material);

}  // namespace hone
