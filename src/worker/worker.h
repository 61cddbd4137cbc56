// The process that runs one candidate: `hone worker`, started by the judge (worker_process.h), never by hand.
#pragma once

namespace hone {

struct WorkerSetup;

// Reads the WorkerSetup from standard input and becomes the worker of its form: maps the tensors, closes the sandbox
// and answers Requests until the channel ends. Returns the exit status.
int WorkerMain();

int HostModuleWorkerMain(WorkerSetup setup);  // a module in host memory
int PlanWorkerMain(WorkerSetup setup);        // a plan, whose tensors lie in device memory that the judge shares
int CudaModuleWorkerMain(WorkerSetup setup);  // a module that runs there

}  // namespace hone
