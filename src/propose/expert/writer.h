// Fused pieces as a program of the kernel language.
#pragma once

#include <optional>
#include <vector>

#include "dsl/program.h"
#include "propose/expert/pieces.h"

namespace hone::expert {

// Nothing if a piece has no form in the language.
std::optional<dsl::Program> WriteProgram(const Memory& memory, const std::vector<Piece>& pieces);

}  // namespace hone::expert
