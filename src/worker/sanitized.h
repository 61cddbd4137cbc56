// The process that compute-sanitizer watches: `hone sanitized`, started by the evaluator (evaluate/certify.h), never by
// hand.
#pragma once

namespace hone {

// On standard input it gets one line of JSON: problem, folder, form, built. Prepares and runs the candidate once.
// Returns the exit status.
int SanitizedMain();

}  // namespace hone
