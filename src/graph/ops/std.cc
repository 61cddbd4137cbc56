#include "graph/moments.h"

namespace hone::op_std {

HONE_OP(std, "square root of var") { DefineMoments(call, Moment::kStd, false); }

}  // namespace hone::op_std
