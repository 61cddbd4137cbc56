// The process that runs the candidates of a problem for their profiles, one after the other: `hone profiled`, started
// by the evaluator (evaluate/profiled_process.h), never by hand.
#pragma once

#include <string>

namespace hone {

// In `file`, or on standard input where that is empty, it gets a ProfiledSetup and then ProfiledQuestions, a line each,
// until the end; on standard output it answers each with a ProfiledReport. What cannot be counted or recorded is said
// there. After a candidate that faults it ends: its context is lost. Returns the exit status.
int ProfiledMain(const std::string& file);

}  // namespace hone
