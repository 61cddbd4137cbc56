// Scaled dot product attention: what its ATen names share.
#pragma once

#include "graph/op.h"

namespace hone {

// softmax(query key^T * scale + bias) value for query [..., l, e], key [..., s, e], value [..., s, v]. Arguments
// is_causal, scale, dropout_p and the mask (a truth value an element, or what is added) under the name `mask`. Outputs
// the result, and then the log of each row's sum of exponents if `with_logsumexp`.
void DefineAttention(OpCall& call, std::string_view mask, bool with_logsumexp);

}  // namespace hone
