#include "graph/moments.h"

namespace hone {

HONE_OP(std, "square root of var") { DefineMoments(call, Moment::kStd, false); }

}  // namespace hone
