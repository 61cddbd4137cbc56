// The oracle (oracle.h) on a device: the same definitions and budgets, as kernels (oracle/cuda_nest.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "oracle/cuda_nest.h"
#include "oracle/device_kernels.h"
#include "oracle/slabs.h"
#include "target/cuda/nvrtc.h"

namespace hone {

// In parts of a few kernels each, in order, which compile side by side: a deep network has hundreds of them. Symbols
// of a part: those of all its kernels for Tracked, then those for the honest type. No device is needed to compile them.
Result<std::vector<cuda::CompiledCubin>> CompileNests(const CudaNests& nests, const std::string& name,
                                                      const std::string& arch);

// Bytes for what an oracle keeps for itself while it runs: where all of it at once takes more than `at_once`, it goes
// by slabs, which take `by_slabs` where that is possible. Slabs as small as they go take their time.
struct OracleRoom {
  std::int64_t at_once = kAnyBytes, by_slabs = kAnyBytes;
};

// Not thread-safe. `kernels` outlives it.
class DeviceOracle {
 public:
  static Result<std::unique_ptr<DeviceOracle>> Create(DeviceKernels& kernels, const Graph& graph,
                                                      const OracleRoom& room = {});
  // Has what Create compiles, and DeviceKernels::Load for the graph's problem, in the build cache; no device is needed.
  static Result<void> CompileAhead(const Graph& graph, const std::string& arch);
  // inputs: one a tensor of Problem::Inputs(), on the device. One result an output; what it takes beside them is given
  // back.
  Result<std::vector<DeviceExpected>> Run(std::span<const cuda::Address> inputs);
  const CudaNests& nests() const { return nests_; }
  const SlabPlan& plan() const { return plan_; }

 private:
  DeviceOracle(DeviceKernels& kernels, CudaNests nests) : kernels_(kernels), nests_(std::move(nests)) {}
  // What a pass reads and writes: inputs, and where outputs' values and scales go.
  struct PassOf {
    std::span<const cuda::Address> inputs;
    bool tracked = false;
    std::span<const cuda::Address> value, scale;
  };
  Result<void> RunSlab(const SlabGroup& group, std::size_t run, std::int64_t slab, const PassOf& pass,
                       std::vector<DeviceArray>& memories);
  Result<void> Pass(const PassOf& pass);
  // Gives outputs about which the error analysis says nothing a scale.
  Result<void> Decide(std::span<const cuda::Address> inputs, std::vector<DeviceExpected>& outputs,
                      std::span<const cuda::Address> honests);

  DeviceKernels& kernels_;
  CudaNests nests_;
  SlabPlan plan_;
  std::vector<cuda::Module> modules_;
  std::vector<void*> tracked_, honest_;  // by kernel
  std::vector<std::int64_t> counts_;     // elements of each output
  std::vector<bool> real_;               // whether it is of a real type
  std::vector<Tensor> inputs_;
};

}  // namespace hone
