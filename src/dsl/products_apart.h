// Matmuls of several products as one matmul a product: for back ends that make one at a time.
#pragma once

#include "dsl/kernel.h"

namespace hone::dsl {

// The program with every matmul that has lets cut into its products, but those whose setting `products` is together.
// Each let is then a value of its own, in the type that is computed in, made before what reads it.
KernelProgram ProductsApart(const KernelProgram& program);

}  // namespace hone::dsl
