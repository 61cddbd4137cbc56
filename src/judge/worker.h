// A worker as the judge sees it: questions, and answers that are believed no further than they have to be. What runs a
// candidate is a process (worker_process.h); tests have one without (testing/fake_worker.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "base/result.h"
#include "protocol/protocol.h"
#include "verdict/verdict.h"

namespace hone {

struct WorkerReply {
  Reply said;
  std::uint64_t wall_ns = 0;  // from asking to the answer, by our clock
};
// What came of a question. Without a reply the worker is gone, and the verdict says why.
using WorkerAnswer = tl::expected<WorkerReply, Verdict>;

// Not thread-safe. The destructor ends it, and waits until it is gone.
class Worker {
 public:
  virtual ~Worker() = default;

  // Within `wall`, or it is ended, with that for a verdict. Fails with kInterrupted alone; it is gone then, too.
  virtual Result<WorkerAnswer> Ask(Request request, std::chrono::milliseconds wall) = 0;

  // While stopped it uses no processor. Ask only after Continue.
  virtual void Stop() = 0;
  virtual void Continue() = 0;
  // Processor time of all its threads, or 0 if the system does not say.
  virtual std::uint64_t ProcessorNanoseconds() const = 0;
  // Whether any of its threads computes, or would if it were given a processor.
  virtual bool Busy() const = 0;
  virtual std::string sandbox() const = 0;  // what holds it: "bubblewrap + seccomp"
};

}  // namespace hone
