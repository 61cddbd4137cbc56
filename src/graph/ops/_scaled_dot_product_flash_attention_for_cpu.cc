#include "graph/attention.h"

namespace hone::op__scaled_dot_product_flash_attention_for_cpu {

HONE_OP(_scaled_dot_product_flash_attention_for_cpu,
        "softmax(query key^T * scale + bias) value, and the log of each row's sum") {
  DefineAttention(call, "attn_mask", true);
}

}  // namespace hone::op__scaled_dot_product_flash_attention_for_cpu
