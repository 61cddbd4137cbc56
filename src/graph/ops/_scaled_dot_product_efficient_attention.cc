#include "graph/attention.h"

namespace hone::op__scaled_dot_product_efficient_attention {

HONE_OP(_scaled_dot_product_efficient_attention,
        "softmax(query key^T * scale + bias) value, and the log of each row's sum") {
  DefineAttention(call, "attn_bias", true);
}

}  // namespace hone::op__scaled_dot_product_efficient_attention
