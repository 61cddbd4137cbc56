#include "graph/op.h"

namespace hone::op__assert_tensor_metadata {

HONE_OP(_assert_tensor_metadata, "nothing: it checks at run time what hone knows") {
  call.Ignore({"a", "size", "stride", "dtype"});
  call.Output({0}, DType::kF32, [](Indices) { return Expr(0.0); });
}

}  // namespace hone::op__assert_tensor_metadata
