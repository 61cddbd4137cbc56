#include "graph/scan.h"

namespace hone::op_cummin {

HONE_OP(cummin, "smallest of self from the first element to this one along dim, and where it is: the last of equals") {
  DefineRunningExtreme(call, false);
}

}  // namespace hone::op_cummin
