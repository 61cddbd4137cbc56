#include "graph/quantize.h"

namespace hone::op_fake_quantize_per_tensor_affine_cachemask {

HONE_OP(fake_quantize_per_tensor_affine_cachemask, "self in steps of scale, and where it is within their ends") {
  const Expr scale(call.Real("scale")), zero_point(static_cast<double>(call.Int("zero_point")));
  DefineFakeQuantize(call, [&](Indices) { return scale; }, [&](Indices) { return zero_point; });
}

}  // namespace hone::op_fake_quantize_per_tensor_affine_cachemask
