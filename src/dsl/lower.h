// From a program's text to its typed form in one step, for those who need nothing in between.
#pragma once

#include <string_view>
#include <variant>

#include "dsl/kernel.h"

namespace hone::dsl {

// Parse, then Check: the program, or the first complaint of either. EmitCpu makes the module of it.
std::variant<KernelProgram, Complaint> Lower(std::string_view text, const Problem* problem,
                                             const DeviceModel& device = {});

}  // namespace hone::dsl
