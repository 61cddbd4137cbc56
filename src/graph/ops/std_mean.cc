#include "graph/moments.h"

namespace hone {

HONE_OP(std_mean, "std and mean over dim") { DefineMoments(call, Moment::kStd, true); }

}  // namespace hone
