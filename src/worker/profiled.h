// The process that runs a candidate for its profile: `hone profiled`, started by the evaluator
// (evaluate/device_profile.h), never by hand.
#pragma once

#include <string>

namespace hone {

// In `file`, or on standard input where that is empty, it gets a ProfiledSetup, on standard output it answers with a
// ProfiledReport. What cannot be counted or recorded is said there. Returns the exit status; what ends it otherwise is
// on standard error.
int ProfiledMain(const std::string& file);

}  // namespace hone
