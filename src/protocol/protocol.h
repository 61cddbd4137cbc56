// What judge and worker say to each other. First the judge writes one line of JSON, the WorkerSetup, to the worker's
// standard input; after that both exchange records of fixed size over a socket that keeps their borders. The worker's
// process also runs the candidate, so nothing that comes from it is trusted: it can only speak to its own disadvantage
// or be found out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "problem/problem.h"
#include "protocol/tensor_memory.h"

namespace hone {

// Descriptors that a worker is started with beside 0, 1, 2.
inline constexpr int kChannelDescriptor = 3;
inline constexpr int kInputsDescriptor = 4;   // read-only: inputs and parameters
inline constexpr int kOutputsDescriptor = 5;  // outputs
inline constexpr int kReportedExit = 120;     // status of a worker that has said over the channel why it ends
inline constexpr std::size_t kMaxSlots = 16;

// What a worker runs. A module is foreign code in the worker's process, with its tensors in host memory (kModule) or on
// a device (kCudaModule). A plan is not: all that the process does is ours, the kernels can reach the device memory of
// its context alone.
enum class Form : std::uint8_t { kModule, kPlan, kCudaModule };
inline bool OnDevice(Form form) { return form != Form::kModule; }
inline bool IsForeign(Form form) { return form != Form::kPlan; }
std::string_view Name(Form form);  // "cuda_module"
std::optional<Form> ParseForm(std::string_view name);

// A slot is memory for one set of inputs, or of outputs. The worker maps each input and output slot `views` times, at
// different addresses: the same data can so be given twice at different places.
struct WorkerSetup {
  Form form = Form::kModule;
  std::string library;  // path as the worker sees it, of a shared object; a plan's comes with Ask::kLoad
  std::string kernels;  // on a device: the cubin of the worker's own kernels
  int threads = 1;
  int views = 1;
  std::int64_t input_bytes = 0, output_bytes = 0;   // on a device: of the memory behind the two descriptors
  std::int64_t allowance_bytes = 0;                 // address space that the candidate may use
  std::int64_t cpu_seconds = 0;                     // RLIMIT_CPU
  std::int64_t flush_bytes = 0;                     // buffer that is swept before a cold call
  std::vector<Tensor> inputs, parameters, outputs;  // shapes and types
  std::vector<std::vector<Place>> input_slots, output_slots;
  std::vector<Place> parameter_places;
};
std::string ToJson(const WorkerSetup& setup);  // one line
// Which output is written into an input, and the other way round: then a candidate is given the output's memory as
// both, with the input's values in it before each call.
std::optional<std::size_t> UpdateOf(const WorkerSetup& setup, std::size_t input);
std::optional<std::size_t> UpdatedBy(const WorkerSetup& setup, std::size_t output);
Result<WorkerSetup> ParseWorkerSetup(const std::string& line);

enum class Ask : std::uint32_t {
  kLoad,     // dlopen and look for the symbols; of a plan, load Request::library
  kPrepare,  // hone_prepare, if there is one
  kRun,      // hone_run, `count` times, from slots[0] into slots[1]
  kRelease,  // hone_release, if there was a hone_prepare
  kTime,     // from each slot into the same one, `repeats` times over slots[0 .. count)
  kPing,     // nothing: how long a question takes
  kUnload,   // of a plan: its buffers wiped and freed, its kernels gone; another may be loaded then
};

struct Request {
  std::uint64_t nonce = 0;  // the answer carries it; the candidate does not see it coming
  Ask ask = Ask::kPing;
  std::uint32_t count = 1;
  std::uint32_t repeats = 1;
  std::uint32_t warm = 0;   // on a host: bring the slots' inputs into the candidate's caches before the clock starts
  std::uint32_t cold = 0;   // flush slots[0] and the parameters from all caches before the clock starts
  std::uint32_t brief = 0;  // on a device: calls so short that all are asked for before the first may begin
  std::uint32_t view = 0;
  std::uint32_t slots[kMaxSlots] = {};
  std::uint32_t guard_inputs = 0;  // kLoad, on a device: kernels fault when they write to an input
  std::uint32_t held = 0;          // kRun of a CUDA module: its stream is busy until the next question
  std::uint32_t keep_shared = 0;   // kRun, on a device: shared memory is not filled with NaNs before
  char library[1024] = {};         // kLoad of a plan: path of the built plan
};

enum class Said : std::uint32_t {
  kReady,  // set up, the sandbox is closed; comes once, unasked
  kDone,
  kInvalid,    // not a module: `text` says why
  kReturned,   // a function of the module returned `code`, not 0
  kThrew,      // an exception left the module; `text` is its what()
  kNoMemory,   // std::bad_alloc left the module
  kFault,      // signal `code` at `address`
  kForbidden,  // system call number `code`; `text` is the path, if it has one
  kDevice,     // the device or its driver refuses with CUresult `code`; `text` says in which call
};

enum class Zone : std::uint32_t { kNone, kInput, kParameter, kOutput };

struct Reply {
  std::uint64_t nonce = 0;
  Said said = Said::kDone;
  std::int32_t code = 0;
  std::uint64_t nanoseconds = 0;  // of the calls asked for, by the worker's clock
  // kRun of one call: what went on after the return, as processor time of other threads or, on a device, as time until
  // it stood still once the stream was done.
  std::uint64_t after_ns = 0;
  std::uint32_t held = 0;             // kRun with `held`: it still is
  std::uint32_t as_graph = 0;         // kTime of a plan: its launches were asked for as one CUDA graph
  std::int64_t persisting_bytes = 0;  // of the device's second-level cache that the module has set aside
  std::uint64_t address = 0;
  Zone zone = Zone::kNone;  // of a fault: the tensor whose memory or red zone it was
  std::uint32_t tensor = 0;
  std::int64_t offset = 0;        // from the tensor's first byte
  std::int64_t size = 0;          // of that tensor
  std::uint32_t wrote = 0;        // the fault was a write
  std::uint32_t memory_full = 0;  // no more could be allocated at that moment
  char text[256] = {};
};
static_assert(std::is_trivially_copyable_v<Request> && std::is_trivially_copyable_v<Reply>);

// "socket" for a number of this machine's.
std::string SystemCallName(int number);

}  // namespace hone
