#include "graph/window.h"

namespace hone {

HONE_OP(im2col, "sliding blocks as columns: [n, c * kernel, places]") { DefineUnfoldBlocks(call); }

}  // namespace hone
