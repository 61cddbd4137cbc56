// The judge's process: `hone judge`, started by the evaluator (local_evaluator.h), never by hand. One line of JSON in,
// one out.
#pragma once

namespace hone {

// Reads requests from standard input until it ends; SIGUSR1 interrupts the one that is being worked on. Returns the
// exit status.
int JudgeMain();

}  // namespace hone
