// The last gate, on request: an accepted candidate for a CUDA device once more under NVIDIA's compute-sanitizer, which
// sees what outputs do not show: reads out of bounds, races in shared memory, reads of memory that nobody has written,
// barriers that not all threads reach.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "problem/problem.h"
#include "protocol/protocol.h"
#include "verdict/verdict.h"

namespace hone {

// "2025.3.1", for doctor. Of the first toolkit that has one (target/cuda/toolkit.h).
Result<std::string> SanitizerVersion();

struct CertifyRequest {
  const Problem& problem;
  Form form = Form::kModule;
  std::string built;                        // path of a built plan or a compiled module
  std::string program;                      // that has the verb "sanitized"
  std::string device;                       // UUID; empty = the first
  std::chrono::milliseconds wall{120'000};  // for each tool: they slow a kernel down a hundred times
};

// Runs the tools one after the other on the problem's own inputs at full size. Adds a line for each to
// evaluation.how->certificate, what is absent, too slow or cannot be confined (modules, without bubblewrap) included; a
// finding becomes the verdict. Fails when the world does.
Result<void> Certify(const CertifyRequest& request, Evaluation& evaluation);

// The first finding in a sanitizer's log, as one line; empty if there is none.
std::string FirstSanitizerFinding(const std::string& log);

}  // namespace hone
