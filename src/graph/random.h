// Random numbers with a meaning: an operator's draw is a function of the number of its node and of the element's place,
// so that the same problem has the same result everywhere and a candidate can be compared with it.
//
// Draw i of node n is h(h(i) + n * 0x9e3779b9) of 32 bits, all modulo 2^32, where h mixes bits:
//   x ^= x >> 16; x *= 0x7feb352d; x ^= x >> 15; x *= 0x846ca68b; x ^= x >> 16
#pragma once

#include "graph/op.h"

namespace hone {

// Draw number `flat` of this call, 0 <= draw < 2^32. Calls that draw several numbers an element name them by `which`.
Expr DrawnBits(const OpCall& call, const Expr& flat, int which = 0);
// The same as a real, 0 <= draw < 1: bits / 2^32.
Expr DrawnUniform(const OpCall& call, const Expr& flat);
// A standard normal number of two draws (Box and Muller).
Expr DrawnNormal(const OpCall& call, const Expr& flat);
// True with probability p.
Expr DrawnTruth(const OpCall& call, const Expr& flat, double p);

// Dropout in training: an element (or, `by_channel`, a whole channel [n, c]) is kept with probability 1 - p and then
// divided by it. Outputs the values, and then which were kept if `with_mask`. In evaluation input itself.
void DefineDropout(OpCall& call, bool training, bool by_channel, bool with_mask);

}  // namespace hone
