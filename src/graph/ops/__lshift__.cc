#include "graph/op.h"

namespace hone {

HONE_OP(__lshift__, "bitwise_left_shift by the name that self << other has") {
  FindOp("bitwise_left_shift")->define(call);
}

}  // namespace hone
