#include "graph/quantize.h"

namespace hone::op__fake_quantize_per_tensor_affine_cachemask_tensor_qparams {

HONE_OP(_fake_quantize_per_tensor_affine_cachemask_tensor_qparams,
        "self in steps of scale, if that is enabled, and where it is within their ends") {
  const auto only = [](const Operand& of) {
    return [of](Indices) { return Cast(of(std::vector<Expr>(of.shape().size(), Expr(0))), ScalarType::kReal); };
  };
  DefineFakeQuantize(call, only(call.Tensor("scale")), only(call.Tensor("zero_point")),
                     call.Tensor("fake_quant_enabled"));
}

}  // namespace hone::op__fake_quantize_per_tensor_affine_cachemask_tensor_qparams
