// What a statement computes, as a text that is the same for the same work in any program: the statement as a program of
// its own, without its settings, all names given anew in the order in which they are met.
//
//   program piece                         from  h = matmul(x, w) with {tile: 64x256x256} -> max(it, 0)
//   input  n1: f32[512, 1024]
//   input  n2: f32[1024, 4096]
//   output n0: f32[512, 4096]
//   n0 = matmul(n1, n2) -> max(it, 0)
#pragma once

#include <string>
#include <vector>

#include "dsl/kernel.h"
#include "dsl/program.h"

namespace hone::expert {

// One a statement, in their order. `checked` is what the checker made of the program.
std::vector<std::string> PieceTexts(const dsl::Program& program, const dsl::KernelProgram& checked);

}  // namespace hone::expert
