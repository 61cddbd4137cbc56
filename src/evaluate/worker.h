// The process that runs one candidate: `hone worker`, started by the judge (worker_process.h), never by hand.
#pragma once

namespace hone {

// Reads the WorkerSetup from standard input, maps the tensors, closes the sandbox and answers Requests until the
// channel ends. Returns the exit status.
int WorkerMain();

}  // namespace hone
