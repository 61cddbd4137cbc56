#include "oracle/device_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <utility>

#include "oracle/kernel_number.h"
#include "oracle/nudge.h"

namespace hone {

namespace {

constexpr std::int64_t kDouble = 8;  // bytes

// Parts are compiled side by side, so that each has few kernels where there are processors for it; but what comes
// before them is parsed once a part, which takes as long as two of them.
constexpr std::size_t kFewestKernels = 2, kMostKernels = 16;

Result<cuda::CompiledCubin> CompilePart(const CudaNests& nests, std::size_t first, std::size_t end,
                                        const std::string& name, const std::string& arch) {
  cuda::CubinRequest request;
  request.source = nests.Source(first, end);
  request.name = "oracle.cu";
  request.arch = arch;
  // The honest implementation rounds where the definitions say so.
  request.flags = {"--fmad=false"};
  for (const auto& type : {std::string("Tracked"), nests.honest}) {
    for (std::size_t k = first; k < end; ++k)
      request.instances.push_back(fmt::format("{}<{}>", nests.kernels[k].name, type));
  }
  auto compiled = HONE_TRY(cuda::CompileCubin(request));
  if (!compiled.ok()) {
    return Fail(ErrorKind::kTool, fmt::format("NVRTC refuses the oracle of '{}': line {}: {}", name,
                                              compiled.errors.front().line, compiled.errors.front().message));
  }
  return compiled;
}

}  // namespace

Result<std::vector<cuda::CompiledCubin>> CompileNests(const CudaNests& nests, const std::string& name,
                                                      const std::string& arch) {
  const auto& kernels = nests.kernels;
  const std::size_t threads = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t each = std::clamp((kernels.size() + threads - 1) / threads, kFewestKernels, kMostKernels);
  std::vector<std::size_t> begins;  // of parts, and where the last ends
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    if (k == 0 || k - begins.back() == each || kernels[k].units != kernels[k - 1].units) begins.push_back(k);
  }
  const std::size_t parts = begins.size();
  begins.push_back(kernels.size());
  std::vector<Result<cuda::CompiledCubin>> made(parts, cuda::CompiledCubin{});
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t part = next++; part < parts; part = next++)
      made[part] = CompilePart(nests, begins[part], begins[part + 1], name, arch);
  };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < std::min(parts, threads); ++i) others.emplace_back(work);
  work();
  for (auto& other : others) other.join();
  std::vector<cuda::CompiledCubin> compiled;
  for (auto& part : made) compiled.push_back(HONE_TRY(std::move(part)));
  return compiled;
}

Result<void> DeviceOracle::CompileAhead(const Graph& graph, const std::string& arch) {
  // What is wrong with these is said when they are loaded.
  std::thread judge([&] { static_cast<void>(CompileJudgeKernels(arch, JudgedTypes::Of(graph.problem()))); });
  const auto made = CompileNests(WriteCudaNests(graph, TorchProducts::kTf32), graph.problem().name, arch);
  judge.join();
  HONE_TRY(made);
  return {};
}

Result<std::unique_ptr<DeviceOracle>> DeviceOracle::Create(DeviceKernels& kernels, const Graph& graph,
                                                           const OracleRoom& room) {
  auto oracle = std::unique_ptr<DeviceOracle>(new DeviceOracle(kernels, WriteCudaNests(graph, TorchProducts::kTf32)));
  oracle->plan_ = PlanSlabs(oracle->nests_);
  if (oracle->plan_.peak_bytes > room.at_once) oracle->plan_ = PlanSlabs(oracle->nests_, room.by_slabs);
  const auto parts =
      HONE_TRY(CompileNests(oracle->nests_, graph.problem().name, kernels.context().device().model.arch));
  for (const auto& part : parts) {
    oracle->modules_.push_back(HONE_TRY(FromDevice(cuda::Module::Load(kernels.context(), part.cubin))));
    const std::size_t count = part.symbols.size() / 2;
    for (std::size_t i = 0; i < 2 * count; ++i)
      (i < count ? oracle->tracked_ : oracle->honest_)
          .push_back(HONE_TRY(FromDevice(oracle->modules_.back().Find(part.symbols[i]))));
  }
  for (const Tensor* output : graph.problem().Outputs()) {
    oracle->counts_.push_back(ElementCount(output->shape));
    oracle->real_.push_back(IsFloat(output->dtype));
  }
  for (const Tensor* input : graph.problem().Inputs()) oracle->inputs_.push_back(*input);
  return oracle;
}

Result<void> DeviceOracle::RunSlab(const SlabGroup& group, std::size_t number, std::int64_t slab, const PassOf& pass,
                                   std::vector<DeviceArray>& memories) {
  using Kind = CudaNests::Argument::Kind;
  const CudaNests::Run& run = nests_.runs[number];
  const auto [begin, end] = group.PartsOf(slab);
  DeviceArray scratch;
  std::int64_t scratch_bytes = 0;
  for (const auto& launch : run.launches) scratch_bytes = std::max(scratch_bytes, launch.scratch_bytes);
  if (scratch_bytes > 0) scratch = HONE_TRY(kernels_.heap().Take(scratch_bytes));
  std::vector<std::vector<cuda::Address>> addresses;
  std::vector<std::vector<KernelNumber>> numbers;
  for (const auto& launch : run.launches) {
    auto& numbers_of_launch = numbers.emplace_back();
    for (const std::int32_t number_of : launch.numbers) numbers_of_launch.push_back(KernelNumberOf(number_of));
    auto& of_launch = addresses.emplace_back();
    for (const auto& argument : launch.arguments) {
      const auto index = static_cast<std::size_t>(argument.index);
      cuda::Address address = argument.kind == Kind::kInput   ? pass.inputs[index]
                              : argument.kind == Kind::kValue ? pass.value[index]
                              : argument.kind == Kind::kScale ? pass.scale[index]
                                                              : scratch.address();
      if (argument.kind == Kind::kMemory) {
        const auto& memory = nests_.memories[index];
        const int element = pass.tracked ? memory.tracked_bytes : memory.honest_bytes;
        const bool within = group.within.contains(argument.index);
        const std::int64_t of_part = memory.elements / group.parts * element;
        if (memories[index].address() == 0)
          memories[index] = HONE_TRY(kernels_.heap().Take(within ? of_part * group.each : memory.elements * element));
        // Where it would begin if all parts were there.
        address = memories[index].address() - static_cast<cuda::Address>(within ? of_part * begin : 0);
      }
      of_launch.push_back(address);
    }
  }
  for (std::int64_t i = 0; i < run.steps; ++i) {
    std::int64_t step = run.reversed ? run.steps - 1 - i : i;
    for (std::size_t l = 0; l < run.launches.size(); ++l) {
      const auto& launch = run.launches[l];
      const std::int64_t of_part = launch.count / group.parts;
      std::int64_t wanted_begin = of_part * begin, wanted_end = of_part * end;
      std::vector<void*> arguments;
      for (auto& address : addresses[l]) arguments.push_back(&address);
      arguments.insert(arguments.end(), {&step, &wanted_begin, &wanted_end});
      if (!numbers[l].empty()) arguments.push_back(numbers[l].data());
      const auto kernel = static_cast<std::size_t>(launch.kernel);
      HONE_TRY(
          FromDevice(kernels_.context().Launch(pass.tracked ? tracked_[kernel] : honest_[kernel],
                                               launch.Blocks(wanted_end - wanted_begin), launch.threads, arguments)));
    }
  }
  return {};
}

Result<void> DeviceOracle::Pass(const PassOf& pass) {
  std::vector<DeviceArray> memories(nests_.memories.size());
  // What comes next runs behind this on the same stream, and may have its memory.
  const auto release = [&](int memory) { memories[static_cast<std::size_t>(memory)].Release(); };
  for (const SlabGroup& group : plan_.groups) {
    for (std::int64_t slab = 0; slab < group.Slabs(); ++slab) {
      for (const std::size_t run : group.runs) {
        HONE_TRY(RunSlab(group, run, slab, pass, memories));
        for (const int memory : nests_.runs[run].done) {
          if (group.within.contains(memory)) release(memory);
        }
      }
    }
    for (const int memory : group.done) release(memory);
  }
  return {};
}

Result<std::vector<DeviceExpected>> DeviceOracle::Run(std::span<const cuda::Address> inputs) {
  std::vector<DeviceExpected> outputs(counts_.size());
  std::vector<DeviceArray> honest;
  std::vector<cuda::Address> values, scales, honests;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    outputs[o].value = HONE_TRY(kernels_.heap().Take(kDouble * counts_[o]));
    outputs[o].scale = HONE_TRY(kernels_.heap().Take(kDouble * counts_[o]));
    honest.push_back(HONE_TRY(kernels_.heap().Take(kDouble * counts_[o])));
    values.push_back(outputs[o].value.address());
    scales.push_back(outputs[o].scale.address());
    honests.push_back(honest.back().address());
  }
  // Its zero scales are overwritten.
  HONE_TRY(Pass({.inputs = inputs, .tracked = false, .value = honests, .scale = scales}));
  HONE_TRY(Pass({.inputs = inputs, .tracked = true, .value = values, .scale = scales}));
  HONE_TRY(Decide(inputs, outputs, honests));
  for (std::size_t o = 0; o < outputs.size(); ++o) HONE_TRY(kernels_.Settle(outputs[o], honests[o], counts_[o]));
  return outputs;
}

// As Oracle::DecideOutputs does in host memory.
Result<void> DeviceOracle::Decide(std::span<const cuda::Address> inputs, std::vector<DeviceExpected>& outputs,
                                  std::span<const cuda::Address> honests) {
  std::map<std::size_t, HonestRuns> undecided;  // by output
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (!real_[o]) continue;
    const auto all = HONE_TRY(kernels_.FindUndecided(outputs[o], honests[o], counts_[o]));
    if (2 * all.count > static_cast<double>(counts_[o])) undecided[o].Add(all);
  }
  if (undecided.empty()) return {};
  std::vector<DeviceArray> neighbours, values, scales;
  std::vector<cuda::Address> nudged(inputs.begin(), inputs.end()), values_at, scales_at;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& input = inputs_[i];
    if (!HasNeighbours(input.dtype)) continue;
    neighbours.push_back(HONE_TRY(kernels_.heap().Take(Bytes(input.dtype) * ElementCount(input.shape))));
    nudged[i] = neighbours.back().address();
  }
  for (const std::int64_t count : counts_) {
    values.push_back(HONE_TRY(kernels_.heap().Take(kDouble * count)));
    scales.push_back(HONE_TRY(kernels_.heap().Take(kDouble * count)));
    values_at.push_back(values.back().address());
    scales_at.push_back(scales.back().address());
  }
  for (int run = 0; run < kNudgedRuns; ++run) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (HasNeighbours(inputs_[i].dtype)) HONE_TRY(kernels_.Nudge(inputs_[i], inputs[i], nudged[i], run, i));
    }
    HONE_TRY(Pass({.inputs = nudged, .tracked = false, .value = values_at, .scale = scales_at}));
    for (auto& [o, runs] : undecided) runs.Add(HONE_TRY(kernels_.FindUndecided(outputs[o], values_at[o], counts_[o])));
  }
  for (const auto& [o, runs] : undecided) {
    outputs[o].whole = WholeOf(runs);
    HONE_TRY(kernels_.Decide(outputs[o], honests[o], counts_[o], runs.worst));
  }
  return {};
}

}  // namespace hone
