#include "graph/attention.h"

namespace hone::op_scaled_dot_product_attention {

HONE_OP(scaled_dot_product_attention, "softmax(query key^T * scale + attn_mask) value") {
  DefineAttention(call, "attn_mask", false);
}

}  // namespace hone::op_scaled_dot_product_attention
