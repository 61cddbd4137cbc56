// What the language itself says of the statements of a program: by which way each is made, and by which others it could
// be.
#pragma once

#include <vector>

#include "dsl/kernel.h"
#include "profile/profile.h"

namespace hone {

// One profile a statement, in order.
std::vector<Profile> ProfilesOf(const dsl::KernelProgram& program);

}  // namespace hone
