// Cuts that come to the same: a graph without attention is cut alike whether attention may be fused or not, and each
// cut that is written costs a check of every statement.
#pragma once

#include <vector>

#include "propose/expert/pieces.h"

namespace hone::expert {

// Whether they are the same but for the numbers of their indices, so that the same program is written of both.
bool SamePieces(const std::vector<Piece>& a, const std::vector<Piece>& b);

}  // namespace hone::expert
