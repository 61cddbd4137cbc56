#include "graph/moments.h"

namespace hone::op_std_mean {

HONE_OP(std_mean, "std and mean over dim") { DefineMoments(call, Moment::kStd, true); }

}  // namespace hone::op_std_mean
