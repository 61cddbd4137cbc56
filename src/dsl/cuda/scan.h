// Writes scans for CUDA. Along the innermost dimension a block goes through its row by tiles: a thread's neighbouring
// elements, then threads of a warp, then warps, then what the tiles before it made. Along another one a thread goes
// down a column.
#pragma once

#include "dsl/cuda/writer.h"
#include "dsl/family.h"

namespace hone::dsl {

struct DeviceScan {
  ReduceOp fold = ReduceOp::kSum;  // kSum, kProd, kMax or kMin
  Expr body;                       // what is scanned, a real or a whole number
  bool reverse = false, exclusive = false;
};
// `kernel.epilogue` is the result, of `it`.
void EmitScanCuda(const KernelProgram& program, const Kernel& kernel, const DeviceScan& scan, DeviceWriter& out);
std::span<const Knob> ScanKnobsCuda();

}  // namespace hone::dsl
