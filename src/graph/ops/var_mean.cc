#include "graph/moments.h"

namespace hone::op_var_mean {

HONE_OP(var_mean, "var and mean over dim") { DefineMoments(call, Moment::kVar, true); }

}  // namespace hone::op_var_mean
