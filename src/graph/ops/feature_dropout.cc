#include "graph/random.h"

namespace hone::op_feature_dropout {

HONE_OP(feature_dropout, "dropout of whole channels") { DefineDropout(call, call.Bool("train"), true, false); }

}  // namespace hone::op_feature_dropout
