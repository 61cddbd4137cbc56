// The process that runs one candidate: `hone worker`, started by the judge (worker_process.h), never by hand.
#pragma once

#include <functional>

namespace hone {

struct Reply;
struct Request;
struct WorkerSetup;

// Reads the WorkerSetup from standard input, maps the tensors, closes the sandbox and answers Requests until the
// channel ends. Returns the exit status.
int WorkerMain();

// Says that it is ready, gets ready for what takes longer, then answers every Request until the channel ends, and ends
// the process.
int ServeRequests(const std::function<void()>& get_ready, const std::function<Reply(const Request&)>& answer);

// The same for a plan (plan_worker.cc), whose tensors lie in device memory that the judge shares.
int PlanWorkerMain(WorkerSetup setup);

// And for a module that runs there (cuda_module_worker.cc).
int CudaModuleWorkerMain(WorkerSetup setup);

}  // namespace hone
