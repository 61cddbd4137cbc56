#include "graph/op.h"

namespace hone::op_native_channel_shuffle {

HONE_OP(native_channel_shuffle, "[n, groups * c, ...] with the channels of the groups taken in turn") {
  FindOp("channel_shuffle")->define(call);
}

}  // namespace hone::op_native_channel_shuffle
