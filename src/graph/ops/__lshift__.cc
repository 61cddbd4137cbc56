#include "graph/op.h"

namespace hone::op___lshift__ {

HONE_OP(__lshift__, "bitwise_left_shift by the name that self << other has") {
  FindOp("bitwise_left_shift")->define(call);
}

}  // namespace hone::op___lshift__
