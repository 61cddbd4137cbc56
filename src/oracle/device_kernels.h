// What the judge does on a device: its memory there, and calls of its own kernels (device_code/judge.cu). One context,
// one thread. Failures are the device's (kDevice): no candidate runs in this process.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "oracle/compare.h"
#include "oracle/element_check.h"
#include "oracle/whole_output.h"
#include "problem/generate.h"
#include "problem/problem.h"
#include "target/cuda/driver.h"
#include "target/cuda/nvrtc.h"
#include "target/cuda/try.h"

namespace hone {

class DeviceHeap;

// Memory of one's own. Empty when moved from; the heap has to outlive it.
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(DeviceHeap* heap, cuda::Address address, std::int64_t bytes)
      : heap_(heap), address_(address), bytes_(bytes) {}
  DeviceArray(DeviceArray&& other) noexcept { *this = std::move(other); }
  DeviceArray& operator=(DeviceArray&& other) noexcept;
  ~DeviceArray() { Release(); }
  void Release();
  cuda::Address address() const { return address_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  DeviceHeap* heap_ = nullptr;
  cuda::Address address_ = 0;
  std::int64_t bytes_ = 0;
};

// Keeps what is given back for the next who asks for as much: the driver's own allocation waits for the device.
class DeviceHeap {
 public:
  explicit DeviceHeap(cuda::Context& context) : context_(context) {}
  ~DeviceHeap() { Trim(); }
  DeviceHeap(const DeviceHeap&) = delete;
  DeviceHeap& operator=(const DeviceHeap&) = delete;
  Result<DeviceArray> Take(std::int64_t bytes);
  // Called when the device is full, before Take fails: whoever else can give memory back then does.
  void WhenFull(std::function<void()> give_way) { give_way_ = std::move(give_way); }
  void Trim();                 // to the driver
  std::int64_t spare() const;  // kept for nobody yet, in bytes

 private:
  friend class DeviceArray;
  cuda::Context& context_;
  std::multimap<std::int64_t, cuda::Address> spare_;
  std::function<void()> give_way_;
};

// What the oracle expects of one output, on the device: the budget of an element is factor * scale + tiny, 0 where the
// scale is 0 (oracle/oracle.h).
struct DeviceExpected {
  DeviceArray value, scale;  // doubles
  double honest_ratio = 0;
  double factor = 0;
  double open_error = 0;
  double size = 0;
  std::optional<ExpectedWhole> whole;
};

// Element types for which there are kernels: each takes its time to compile.
struct JudgedTypes {
  std::set<DType> drawn, compared;
  static JudgedTypes Of(const Problem& problem);
  static JudgedTypes All();
};

// The module of the judge's kernels for a device of this architecture ("sm_90a"): no device is needed to make it.
Result<cuda::CompiledCubin> CompileJudgeKernels(const std::string& arch, const JudgedTypes& types);

class DeviceKernels {
 public:
  // Draws and comparisons are of tensors of these types.
  static Result<std::unique_ptr<DeviceKernels>> Load(cuda::Context& context, DeviceHeap& heap,
                                                     const JudgedTypes& types);

  cuda::Context& context() { return context_; }
  DeviceHeap& heap() { return heap_; }

  // Elements [begin, end) of the tensor at `to`, which is where its first lies. Not of FromFile.
  Result<void> Draw(const Tensor& tensor, const Drawing& drawing, cuda::Address to, std::int64_t begin,
                    std::int64_t end);
  // A few elements, which `seed` chooses, hold all ones then.
  Result<void> Spoil(const Tensor& tensor, cuda::Address at, std::uint64_t seed);
  // Writes bytes that lie at a multiple of 8 as they are.
  Result<void> Rewrite(cuda::Address at, std::int64_t bytes);
  // 16 bits repeated from `at` on, which is even.
  Result<void> Poison(cuda::Address at, std::int64_t bytes, std::uint16_t pattern);
  // What one run of the honest implementation is beside the expected values.
  Result<UndecidedPart> FindUndecided(const DeviceExpected& expected, cuda::Address honest, std::int64_t count);
  // Gives elements about which the error analysis says nothing a scale; `worst` is the honest runs' largest error
  // there.
  Result<void> Decide(DeviceExpected& expected, cuda::Address honest, std::int64_t count, double worst);
  // Sets the honest ratio and the factor, from the honest implementation's values.
  Result<void> Settle(DeviceExpected& expected, cuda::Address honest, std::int64_t count);
  // `to` becomes neighbours of the elements at `from` (nudge.h), of an input that HasNeighbours (oracle.h).
  Result<void> Nudge(const Tensor& input, cuda::Address from, cuda::Address to, int run, std::uint64_t number);
  Result<OutputCheck> Compare(const Tensor& tensor, cuda::Address got, const DeviceExpected& expected,
                              std::uint16_t poison);
  Result<OutputCheck> CompareOpen(const Tensor& tensor, cuda::Address got, const DeviceExpected& expected, double room,
                                  const DeviceExpected* distance, double sure_room = kAnyRoom);
  Result<NormCheck> CompareNorm(const Tensor& tensor, cuda::Address got, const DeviceExpected& expected,
                                std::uint16_t poison);
  // The first byte that differs. Both addresses are multiples of 8.
  Result<std::optional<std::int64_t>> FirstDifference(cuda::Address a, cuda::Address b, std::int64_t bytes);

 private:
  DeviceKernels(cuda::Context& context, DeviceHeap& heap, cuda::Module module)
      : context_(context), heap_(heap), module_(std::move(module)) {}
  // Runs a kernel that writes a part a block, and merges them.
  template <class Part, class... Arguments>
  Result<Part> Merge(const std::string& kernel, std::int64_t count, Arguments... arguments);
  template <class... Arguments>
  Result<void> Launch(const std::string& kernel, std::int64_t blocks, int threads, Arguments... arguments);
  std::int64_t Blocks(std::int64_t count) const;

  cuda::Context& context_;
  DeviceHeap& heap_;
  cuda::Module module_;
  std::map<std::string, void*> functions_;  // by instance
  DeviceArray results_;                     // of the blocks of one kernel
};

}  // namespace hone
