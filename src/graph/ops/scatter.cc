#include "graph/scatter.h"

namespace hone::op_scatter {

HONE_OP(scatter, "self with src (or value) at the places of index along dim") {
  const ScalarType type = ScalarTypeOf(call.Tensor("self").dtype());
  Scattering how = Scattering::kOverwrite;
  if (const std::string reduce = call.String("reduce", ""); reduce == "add") {
    how = Scattering::kAdd;
  } else if (reduce == "multiply") {
    how = Scattering::kMultiply;
  } else if (!reduce.empty()) {
    return call.Fail("reduce has to be add or multiply");
  }
  if (!call.Has("src") || !call.IsTensor("src")) {
    const Expr value = Cast(call.Scalar(call.Has("value") ? "value" : "src"), type);
    return DefineScatter(call, how, [&](Indices) { return value; });
  }
  const Operand source = call.Tensor("src");
  DefineScatter(call, how,
                [&](Indices at) { return source(std::vector<Expr>(at.begin(), at.begin() + source.rank())); });
}

}  // namespace hone::op_scatter
