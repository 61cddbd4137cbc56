#include "target/cuda/built_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/text.h"
#include "target/cuda/library_steps.h"
#include "target/cuda/nvrtc.h"
#include "target/cuda/source_parts.h"
#include "target/generation.h"

namespace hone::cuda {
namespace {

constexpr int kPointerBytes = 8, kTensorMapBytes = 128;
constexpr int kManyKernels = 8;             // of a source: their code is made by several threads then
constexpr unsigned kMostAtOnce = 8;         // sources that are compiled side by side: a compiler takes some 0.4 GB
constexpr std::int64_t kMapAlignment = 16;  // of a tensor map's base and strides, and of its box's rows

std::int64_t ArgumentBytes(const PlanArgument& argument) {
  if (std::holds_alternative<BufferArgument>(argument)) return kPointerBytes;
  if (std::holds_alternative<TensorMapArgument>(argument)) return kTensorMapBytes;
  switch (std::get<NumberArgument>(argument).type) {
    case NumberArgument::Type::kI8:
    case NumberArgument::Type::kU8: return 1;
    case NumberArgument::Type::kI16:
    case NumberArgument::Type::kU16: return 2;
    case NumberArgument::Type::kI32:
    case NumberArgument::Type::kU32:
    case NumberArgument::Type::kF32: return 4;
    case NumberArgument::Type::kI64:
    case NumberArgument::Type::kU64:
    case NumberArgument::Type::kF64: return 8;
  }
  return 0;
}

std::int64_t Product(const std::array<std::int64_t, 3>& extents) { return extents[0] * extents[1] * extents[2]; }

class Builder {
 public:
  Builder(const Plan& plan, const Problem& problem, const DeviceModel& device, const std::string& program)
      : plan_(plan), problem_(problem), program_(program), device_(device), limits_(device.limits) {}

  Result<std::variant<BuiltPlan, PlanRefusal>> Run() {
    built_.plan = plan_;
    if (built_.plan.arch.empty()) built_.plan.arch = device_.arch;
    if (!RunsOn(built_.plan.arch, device_.arch)) {
      return PlanRefusal{
          .where = "/arch",
          .message = fmt::format("the plan is compiled for {}, and {} is {}: leave out arch, or name that",
                                 built_.plan.arch, device_.processor, device_.arch)};
    }
    for (const auto& buffer : plan_.buffers) {
      if (problem_.Find(buffer.name) != nullptr)
        Refuse("/buffers", fmt::format("'{}' is a tensor of the problem: call the buffer something else", buffer.name));
    }
    HONE_TRY(Compile());
    Steps(plan_.prepare, "/prepare", true, built_.prepare);
    Steps(plan_.steps, "/steps", false, built_.launches);
    if (refusal_) return std::move(*refusal_);
    FindEarly();
    return std::move(built_);
  }

 private:
  struct Memory {
    std::int64_t elements = 0;
    DType dtype = DType::kF32;
    std::optional<Role> role;  // of a tensor
  };

  // What the copy engine or a library does is not waited for by that instruction: a kernel follows a kernel.
  void FindEarly() {
    bool after_launch = false;
    std::size_t launches = 0;
    for (const PlanStep& step : built_.plan.steps) {
      const bool launch = std::holds_alternative<LaunchStep>(step);
      built_.early.push_back(launch && WaitsFirst(built_.launches[launches].code) && after_launch);
      launches += launch ? 1 : 0;
      after_launch = launch;
    }
  }

  void Refuse(std::string where, std::string message) {
    if (!refusal_) refusal_ = PlanRefusal{.where = std::move(where), .message = std::move(message)};
  }

  CubinRequest RequestOf(std::size_t s) const {
    const PlanSource& source = plan_.sources[s];
    CubinRequest request{.source = source.text,
                         .name = source.name,
                         .arch = built_.plan.arch,
                         .instances = {},
                         .flags = source.flags,
                         .program = program_};
    if (CountOf(source.text, "__global__") >= kManyKernels) request.flags.emplace_back("--split-compile=0");
    EachLaunch([&](const LaunchStep& launch) {
      if (launch.source != s || launch.kernel.find('<') == std::string::npos) return;
      if (std::find(request.instances.begin(), request.instances.end(), launch.kernel) == request.instances.end())
        request.instances.push_back(launch.kernel);
    });
    return request;
  }

  Result<void> Compile() {
    const auto start = std::chrono::steady_clock::now();
    std::vector<CubinRequest> requests;
    for (std::size_t s = 0; s < plan_.sources.size(); ++s) requests.push_back(RequestOf(s));
    const auto all = CompileAll(requests);
    built_.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    built_.cached = true;
    for (std::size_t s = 0; s < requests.size() && !refusal_; ++s) {
      if (!all[s]) return tl::unexpected<Error>(all[s].error());
      const CompiledCubin& compiled = *all[s];
      built_.cached &= compiled.cached;
      built_.log += compiled.log;
      if (!compiled.ok()) {
        const CubinError& first = compiled.errors.front();
        refusal_ = PlanRefusal{.compile_error = true,
                               .where = plan_.sources[s].name,
                               .line = first.line,
                               .message = first.message,
                               .log = compiled.log};
        return {};
      }
      auto& kernels = kernels_.emplace_back();
      for (auto& facts : HONE_TRY(ReadCubin(compiled.cubin))) kernels[facts.name] = std::move(facts);
      for (std::size_t i = 0; i < requests[s].instances.size(); ++i)
        kernels[requests[s].instances[i]] = kernels[compiled.symbols[i]];
      EachLaunch([&](const LaunchStep& launch) {
        if (launch.source == s && !kernels.contains(launch.kernel)) FindMangled(launch.kernel, kernels);
      });
      built_.cubins.push_back(compiled.cubin);
    }
    return {};
  }

  // Side by side, as far as the machine has threads.
  static std::vector<Result<CompiledCubin>> CompileAll(const std::vector<CubinRequest>& requests) {
    std::vector<Result<CompiledCubin>> all(requests.size(), Fail(ErrorKind::kTool, "not compiled"));
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      for (std::size_t s = next++; s < requests.size(); s = next++) all[s] = CompileCubin(requests[s]);
    };
    std::vector<std::jthread> others;
    const auto threads =
        std::min<std::size_t>(requests.size(), std::min(kMostAtOnce, std::thread::hardware_concurrency()));
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(work);
    work();
    others.clear();
    return all;
  }

  // A kernel that is not extern "C" goes by its name, too, where no other one has it: "compute" is _Z7computePKfPfl.
  static void FindMangled(const std::string& name, std::map<std::string, KernelFacts, std::less<>>& kernels) {
    const std::string prefix = fmt::format("_Z{}{}", name.size(), name);
    const KernelFacts* found = nullptr;
    for (const auto& [symbol, facts] : kernels) {
      if (!symbol.starts_with(prefix) || symbol.substr(prefix.size(), 1) == "I") continue;  // I: a template's instance
      if (found != nullptr) return;
      found = &facts;
    }
    if (found != nullptr) kernels[name] = KernelFacts(*found);
  }

  template <class Visit>
  void EachLaunch(const Visit& visit) const {
    for (const auto* steps : {&plan_.prepare, &plan_.steps}) {
      for (const auto& step : *steps) {
        if (const auto* launch = std::get_if<LaunchStep>(&step)) visit(*launch);
      }
    }
  }

  void Steps(const std::vector<PlanStep>& steps, std::string_view list, bool preparing,
             std::vector<KernelFacts>& facts) {
    for (std::size_t i = 0; i < steps.size() && !refusal_; ++i) {
      const std::string where = fmt::format("{}/{}", list, i);
      if (const auto* set = std::get_if<MemsetStep>(&steps[i])) {
        Find(where, set->buffer, preparing, true);
      } else if (const auto* matmul = std::get_if<MatmulStep>(&steps[i])) {
        LibraryStep(where, *matmul, preparing);
      } else if (const auto* convolution = std::get_if<ConvolutionStep>(&steps[i])) {
        LibraryStep(where, *convolution, preparing);
      } else if (const auto* kernel = Launch(where, std::get<LaunchStep>(steps[i]), preparing)) {
        facts.push_back(*kernel);
      }
    }
  }

  template <class Step>
  void LibraryStep(const std::string& where, const Step& step, bool preparing) {
    const auto issue =
        CheckStep(step, [&](std::string_view part, const std::string& name, bool written) -> std::optional<PlanMemory> {
          const auto memory = Find(fmt::format("{}{}", where, part), name, preparing, written);
          if (!memory) return std::nullopt;
          return PlanMemory{memory->elements, memory->dtype};
        });
    if (issue) Refuse(where + issue->part, issue->message);
    if (!step.workspace.empty() && problem_.Find(step.workspace) != nullptr)
      Refuse(where + "/workspace", "a workspace is a buffer of the plan");
  }

  // The memory of that name; refuses when there is none, or when the step may not have it.
  std::optional<Memory> Find(const std::string& where, const std::string& name, bool preparing, bool written) {
    for (const auto& buffer : plan_.buffers) {
      if (buffer.name == name) return Memory{ElementCount(buffer.shape), buffer.dtype, {}};
    }
    const Tensor* tensor = problem_.Find(name);
    if (tensor == nullptr) {
      std::vector<std::string_view> known;
      for (const auto& buffer : plan_.buffers) known.push_back(buffer.name);
      for (const auto& other : problem_.tensors) known.push_back(other.name);
      Refuse(where, fmt::format("neither the problem nor the plan has '{}'{}", name, DidYouMean(name, known)));
      return std::nullopt;
    }
    if (preparing && tensor->role != Role::kParameter) {
      Refuse(where, fmt::format("'{}' is not there yet when a plan prepares: parameters and buffers are", name));
      return std::nullopt;
    }
    if (written && tensor->role != Role::kOutput) {
      Refuse(where, fmt::format("'{}' is read only: set a buffer or an output", name));
      return std::nullopt;
    }
    return Memory{ElementCount(tensor->shape), tensor->dtype, tensor->role};
  }

  const KernelFacts* Launch(const std::string& where, const LaunchStep& launch, bool preparing) {
    const auto& kernels = kernels_[launch.source];
    const auto found = kernels.find(launch.kernel);
    if (found == kernels.end()) {
      std::vector<std::string_view> known;
      for (const auto& [name, facts] : kernels) known.push_back(name);
      Refuse(where, fmt::format("{} has no kernel '{}'{}; an extern \"C\" kernel keeps its name",
                                plan_.sources[launch.source].name, launch.kernel, DidYouMean(launch.kernel, known)));
      return nullptr;
    }
    const KernelFacts& facts = found->second;
    const std::int64_t threads = Product(launch.block), shared = launch.shared_bytes + facts.static_shared_bytes;
    if (threads > limits_.block_threads) {
      Refuse(where, fmt::format("a block of {} threads: {} is the most", threads, limits_.block_threads));
    } else if (facts.max_threads > 0 && threads > facts.max_threads) {
      Refuse(where, fmt::format("a block of {} threads, but {} is compiled for at most {} (__launch_bounds__)", threads,
                                launch.kernel, facts.max_threads));
    } else if (shared > limits_.block_shared_bytes) {
      Refuse(where, fmt::format("{} bytes of shared memory ({} static, {} dynamic): {} is the most", shared,
                                facts.static_shared_bytes, launch.shared_bytes, limits_.block_shared_bytes));
    } else if (Product(launch.cluster) > limits_.cluster_blocks) {
      Refuse(where,
             fmt::format("a cluster of {} blocks: {} is the most", Product(launch.cluster), limits_.cluster_blocks));
    } else if (launch.grid[1] > 65535 || launch.grid[2] > 65535) {
      Refuse(where, "a grid has at most 65535 blocks along y and z");
    } else if (OccupancyOf(facts, threads, launch.shared_bytes, limits_).blocks == 0) {
      Refuse(where, fmt::format("{} threads of {} registers do not fit a multiprocessor", threads, facts.registers));
    } else if (const std::int64_t most =
                   device_.multiprocessors *
                   static_cast<std::int64_t>(OccupancyOf(facts, threads, launch.shared_bytes, limits_).blocks);
               launch.together > most) {
      Refuse(where,
             fmt::format("{} blocks of '{}' wait for each other, and {} holds {} of them at once: it would never end",
                         launch.together, launch.kernel, device_.processor, most));
    }
    Arguments(where, launch, facts, preparing);
    return &facts;
  }

  void Arguments(const std::string& where, const LaunchStep& launch, const KernelFacts& facts, bool preparing) {
    if (launch.arguments.size() != facts.parameters.size()) {
      return Refuse(where, fmt::format("'{}' has {} parameters, the step gives {} arguments", launch.kernel,
                                       facts.parameters.size(), launch.arguments.size()));
    }
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
      const std::string here = fmt::format("{}/arguments/{}", where, i);
      const PlanArgument& argument = launch.arguments[i];
      if (const auto bytes = ArgumentBytes(argument); bytes != facts.parameters[i].bytes) {
        return Refuse(here, fmt::format("parameter {} of '{}' has {} bytes, the argument {}", i, launch.kernel,
                                        facts.parameters[i].bytes, bytes));
      }
      if (const auto* buffer = std::get_if<BufferArgument>(&argument)) {
        const auto memory = Find(here, buffer->name, preparing, false);
        if (memory && buffer->offset > 0 && buffer->offset >= memory->elements) {
          Refuse(here, fmt::format("offset {} is beyond '{}', which has {} elements", buffer->offset, buffer->name,
                                   memory->elements));
        }
      } else if (const auto* map = std::get_if<TensorMapArgument>(&argument)) {
        TensorMap(here, *map, preparing);
      }
    }
  }

  void TensorMap(const std::string& where, const TensorMapArgument& map, bool preparing) {
    if (const auto why = Lacks(device_, {.tensor_maps = true})) return Refuse(where, *why);
    const auto memory = Find(where, map.buffer, preparing, false);
    if (!memory) return;
    const auto element = static_cast<std::int64_t>(Bytes(memory->dtype));
    std::int64_t last = map.offset;
    for (std::size_t d = 0; d < map.shape.size(); ++d) {
      last += (map.shape[d] - 1) * map.strides[d];
      if (d + 1 < map.shape.size() && map.strides[d] * element % kMapAlignment != 0) {
        return Refuse(where, fmt::format("stride {} of '{}' is {} bytes: the copy engine wants a multiple of {}",
                                         map.strides[d], map.buffer, map.strides[d] * element, kMapAlignment));
      }
    }
    const std::int64_t row = map.box.back() * element;
    if (last >= memory->elements) {
      Refuse(where,
             fmt::format("the map reaches element {} of '{}', which has {}", last, map.buffer, memory->elements));
    } else if (map.offset * element % kMapAlignment != 0) {
      Refuse(where, fmt::format("offset {} is {} bytes: the copy engine wants a multiple of {}", map.offset,
                                map.offset * element, kMapAlignment));
    } else if (row % kMapAlignment != 0) {
      Refuse(where,
             fmt::format("a row of the box has {} bytes: the copy engine wants a multiple of {}", row, kMapAlignment));
    } else if (map.swizzle > 0 && row > map.swizzle) {
      Refuse(where, fmt::format("a row of the box has {} bytes, more than the swizzle's {}", row, map.swizzle));
    } else if (map.tf32 && memory->dtype != DType::kF32) {
      Refuse(where, fmt::format("'{}' is {}: only f32 becomes TF32", map.buffer, hone::Name(memory->dtype)));
    } else if (map.pixels) {
      Pixels(where, map);
    }
  }

  void Pixels(const std::string& where, const TensorMapArgument& map) {
    const std::size_t spatial = map.pixels->lower.size();
    const std::int64_t least = LeastPixelCorner(spatial), most = -least - 1;
    for (std::size_t d = 0; d < spatial; ++d) {
      const std::int64_t lower = map.pixels->lower[d], upper = map.pixels->upper[d];
      if (std::min(lower, upper) < least || std::max(lower, upper) > most) {
        return Refuse(where, fmt::format("pixels from {} to {}: the copy engine wants both from {} to {} here", lower,
                                         upper, least, most));
      }
      if (map.shape[d + 1] - 1 + upper < lower)
        return Refuse(where, fmt::format("there are no pixels from {} to {} along spatial dimension {}", lower,
                                         map.shape[d + 1] - 1 + upper, d));
    }
  }

  const Plan& plan_;
  const Problem& problem_;
  const std::string& program_;
  const DeviceModel& device_;
  const MultiprocessorLimits& limits_;
  std::vector<std::map<std::string, KernelFacts, std::less<>>> kernels_;  // of each source, by name
  BuiltPlan built_;
  std::optional<PlanRefusal> refusal_;
};

using nlohmann::json;

json Names(const std::vector<KernelFacts>& kernels) {
  json names = json::array();
  for (const auto& kernel : kernels) names.push_back(kernel.name);
  return names;
}

}  // namespace

// One line of JSON that says how long the cubins are, then the cubins.
std::string Pack(const BuiltPlan& built) {
  json head = {{"plan", ToJson(built.plan)},
               {"prepare", Names(built.prepare)},
               {"launches", Names(built.launches)},
               {"cublas_lt", built.libraries.cublas_lt},
               {"cudnn", built.libraries.cudnn},
               {"cubins", json::array()},
               {"early", built.early}};
  std::string cubins;
  for (const auto& cubin : built.cubins) {
    head["cubins"].push_back(cubin.size());
    cubins += cubin;
  }
  return head.dump() + "\n" + cubins;
}

Result<BuiltPlan> Unpack(std::string_view bytes) {
  const auto corrupt = [] { return Fail(ErrorKind::kCorrupt, "this is not a built plan"); };
  const auto end = bytes.find('\n');
  if (end == std::string_view::npos) return corrupt();
  try {
    const json head = json::parse(bytes.substr(0, end));
    auto plan = ParsePlan(head.at("plan").get<std::string>());
    if (!std::holds_alternative<Plan>(plan)) return corrupt();
    BuiltPlan built{.plan = std::get<Plan>(std::move(plan)),
                    .libraries = {head.at("cublas_lt").get<std::string>(), head.at("cudnn").get<std::string>()}};
    for (const auto& [names, kernels] : {std::pair{"prepare", &built.prepare}, {"launches", &built.launches}}) {
      for (const auto& name : head.at(names)) kernels->emplace_back().name = name;
    }
    built.early = head.at("early").get<std::vector<bool>>();
    if (built.early.size() != built.plan.steps.size()) return corrupt();
    bytes.remove_prefix(end + 1);
    for (const auto& size : head.at("cubins")) {
      const auto length = size.get<std::size_t>();
      if (bytes.size() < length) return corrupt();
      built.cubins.emplace_back(bytes.substr(0, length));
      bytes.remove_prefix(length);
    }
    return built;
  } catch (const json::exception&) {
    return corrupt();
  }
}

Occupancy OccupancyOf(const KernelFacts& kernel, std::int64_t threads, std::int64_t shared_bytes,
                      const MultiprocessorLimits& limits) {
  constexpr int kWarp = 32, kRegisterUnit = 256, kSharedUnit = 128;
  const auto up = [](std::int64_t x, std::int64_t unit) { return (x + unit - 1) / unit * unit; };
  const std::int64_t warps = std::max<std::int64_t>(1, up(threads, kWarp) / kWarp);
  const std::int64_t warp_registers = up(std::max(kernel.registers, 1) * kWarp, kRegisterUnit);
  // Each of the four schedulers has a quarter of the registers and of the warps.
  const std::int64_t warps_by_registers = limits.registers / 4 / warp_registers * 4;
  const std::int64_t shared = up(shared_bytes + kernel.static_shared_bytes + limits.reserved_shared_bytes, kSharedUnit);
  const std::pair<std::int64_t, std::string_view> most[] = {
      {warps_by_registers / warps, "registers"},
      {limits.shared_bytes / shared, "shared memory"},
      {limits.warps / warps, "warps"},
      {limits.blocks, "blocks"},
  };
  const auto least = *std::min_element(std::begin(most), std::end(most),
                                       [](const auto& a, const auto& b) { return a.first < b.first; });
  return {.blocks = static_cast<int>(least.first),
          .warps = static_cast<int>(least.first * warps),
          .limit = least.second,
          .by_registers = static_cast<int>(most[0].first),
          .by_shared = static_cast<int>(most[1].first),
          .by_warps = static_cast<int>(most[2].first),
          .by_blocks = static_cast<int>(most[3].first)};
}

Result<std::variant<BuiltPlan, PlanRefusal>> BuildPlan(const Plan& plan, const Problem& problem,
                                                       const DeviceModel& device, const std::string& program) {
  const Plan parts = InParts(plan);
  if (parts.sources.size() == plan.sources.size()) return Builder(plan, problem, device, program).Run();
  auto built = HONE_TRY(Builder(parts, problem, device, program).Run());
  const auto* refusal = std::get_if<PlanRefusal>(&built);
  if (refusal == nullptr || !refusal->compile_error) return built;
  return Builder(plan, problem, device, program).Run();  // not apart after all, or an error to be read of in the whole
}

}  // namespace hone::cuda
