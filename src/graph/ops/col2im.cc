#include "graph/window.h"

namespace hone::op_col2im {

HONE_OP(col2im, "columns as sliding blocks that add up: [n, c, h, w]") { DefineFoldBlocks(call); }

}  // namespace hone::op_col2im
