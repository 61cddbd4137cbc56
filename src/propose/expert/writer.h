// Fused pieces as a program of the kernel language.
#pragma once

#include <optional>
#include <vector>

#include "dsl/kernel.h"
#include "propose/expert/pieces.h"

namespace hone::expert {

// For a device of these limits: of families, only those that run there. Nothing if a piece has no form in the language.
std::optional<dsl::Program> WriteProgram(const Memory& memory, const std::vector<Piece>& pieces,
                                         const dsl::Limits& limits);

}  // namespace hone::expert
