#include "graph/quantize.h"

namespace hone::op_fake_quantize_per_channel_affine_cachemask {

HONE_OP(fake_quantize_per_channel_affine_cachemask,
        "self in steps of its channel's scale, and where it is within their ends") {
  const Operand x = call.Tensor("self"), scale = call.Tensor("scale"), zero_point = call.Tensor("zero_point");
  const auto axis = static_cast<std::size_t>(call.Dim("axis", x.rank()));
  if (!call.failed() && (scale.rank() != 1 || zero_point.rank() != 1)) call.Fail("scales are one a channel");
  const auto of_channel = [axis](const Operand& of) {
    return [of, axis](Indices at) { return Cast(of({at[axis]}), ScalarType::kReal); };
  };
  DefineFakeQuantize(call, of_channel(scale), of_channel(zero_point));
}

}  // namespace hone::op_fake_quantize_per_channel_affine_cachemask
