#include "graph/sorted.h"

namespace hone::op_searchsorted {

HONE_OP(
    searchsorted,
    "how many of the sorted numbers (a row of them for each row of self) lie below self, or not above it if right") {
  CountBelow(call, "sorted_sequence");
}

}  // namespace hone::op_searchsorted
