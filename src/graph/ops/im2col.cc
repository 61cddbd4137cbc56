#include "graph/window.h"

namespace hone::op_im2col {

HONE_OP(im2col, "sliding blocks as columns: [n, c * kernel, places]") { DefineUnfoldBlocks(call); }

}  // namespace hone::op_im2col
