#include "graph/op.h"

namespace hone::op__reshape_alias {

HONE_OP(_reshape_alias, "self under another shape") {
  const Operand x = call.Tensor("self");
  call.Ignore({"stride"});
  call.Output(call.Reshape(x, call.Ints("size")));
}

}  // namespace hone::op__reshape_alias
