#include "graph/scan.h"

namespace hone::op_cummax {

HONE_OP(cummax, "largest of self from the first element to this one along dim, and where it is: the last of equals") {
  DefineRunningExtreme(call, true);
}

}  // namespace hone::op_cummax
