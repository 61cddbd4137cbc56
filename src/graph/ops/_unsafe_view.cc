#include "graph/op.h"

namespace hone::op__unsafe_view {

HONE_OP(_unsafe_view, "the same elements in row-major order under another shape; one extent may be -1") {
  FindOp("view")->define(call);
}

}  // namespace hone::op__unsafe_view
