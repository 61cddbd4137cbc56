#include "graph/op.h"

namespace hone::op___rshift__ {

HONE_OP(__rshift__, "bitwise_right_shift by the name that self >> other has") {
  FindOp("bitwise_right_shift")->define(call);
}

}  // namespace hone::op___rshift__
