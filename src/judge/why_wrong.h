// What kind of wrong it is helps whoever has to mend it.
#pragma once

#include "judge/examination.h"
#include "judge/gate.h"

namespace hone {

// The verdict on a draw's two calls, of which one at least was wrong; the candidate is released. Right once and wrong
// once is nondeterministic. What else is found out stands in the reason: the outputs of an earlier call, a copy of an
// input, shared memory that was not written. May ask the worker for more.
Result<Verdict> SayWhyWrong(Examination& examination, const PreparedDraw& draw, const SeenOutputs& first,
                            const SeenOutputs& second);

}  // namespace hone
