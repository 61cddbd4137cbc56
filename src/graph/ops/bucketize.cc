#include "graph/sorted.h"

namespace hone::op_bucketize {

HONE_OP(
    bucketize,
    "how many of the sorted numbers (a row of them for each row of self) lie below self, or not above it if right") {
  CountBelow(call, "boundaries");
}

}  // namespace hone::op_bucketize
