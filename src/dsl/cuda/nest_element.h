// One element of a nest as CUDA: what nests and sequences share.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "dsl/cuda/expr.h"
#include "dsl/cuda/writer.h"
#include "dsl/element.h"
#include "dsl/kernel.h"

namespace hone::dsl {

// Lines that declare where `at` stands in a space of these indices; adds their names by index.
void NamePlaces(DeviceWriter& out, const Kernel& kernel, const std::vector<IndexVar>& indices, const std::string& at,
                std::map<int, std::string>& names);

// "x[i * 1024 + j]" as a value in a register: a load of flat form, its indices named in `expr`.
std::string ElementText(DeviceWriter& out, DeviceExpr& expr, const Kernel& kernel, const ExprNode& load);

// Lines that compute and store one element of a kernel's target, its indices named; by a whole warp if `lane`, the
// thread's number in it, is given. `made` stands for the value kIt, where there is one.
void WriteElement(DeviceWriter& out, const Kernel& kernel, const FlatElement& element,
                  const std::map<int, std::string>& names, const std::string& lane = "", const std::string& made = "");

}  // namespace hone::dsl
