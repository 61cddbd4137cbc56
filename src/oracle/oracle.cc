#include "oracle/oracle.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "analysis/cost.h"
#include "oracle/element_check.h"
#include "oracle/loop_nest.h"
#include "oracle/nudge.h"
#include "target/cpu/compiler.h"

namespace hone {

namespace {

// A compiled half of the oracle.
struct Half {
  using Function = void (*)(const void* const* in, double* const* value, double* const* scale, int threads);
  void* library = nullptr;
  Function function = nullptr;
  Half() = default;
  Half(const Half&) = delete;
  Half& operator=(const Half&) = delete;
  ~Half() {
    if (library) dlclose(library);
  }
};

}  // namespace

struct Oracle::State {
  Half values, honest;
  std::vector<std::int64_t> counts;  // elements of each output
  std::vector<bool> real;            // whether it is of a real type
  std::vector<Tensor> inputs;
};

Oracle::Oracle(std::unique_ptr<State> state) : state_(std::move(state)) {}
Oracle::Oracle(Oracle&&) noexcept = default;
Oracle& Oracle::operator=(Oracle&&) noexcept = default;
Oracle::~Oracle() = default;

namespace {

// Of so many operations the oracle runs for less time than better code of it takes to compile.
constexpr double kBriefFlops = 1e6;

Result<Compiled> CompileHalf(std::string source, bool brief) {
  CompileRequest request;
  request.source = std::move(source);
  // No contraction into fused multiply-adds: the honest implementation rounds where the definitions say so.
  // At -O2 the compiler takes to vectors only loops whose count it knows; those over lanes are worth it.
  // C++17's headers are read in half the time. Whole numbers wrap around, as PyTorch's do.
  request.flags = {"-std=c++17", "-ffp-contract=off", "-fwrapv", "-w"};
  if (brief) {
    request.flags.push_back("-O1");
  } else {
    request.flags.insert(request.flags.end(), {"-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic"});
  }
  request.trusted = true;
  return CompileModule(request);
}

Result<void> LoadHalf(const Compiled& compiled, const std::string& problem, Half& half) {
  if (!compiled.ok()) {
    return Fail(ErrorKind::kTool,
                fmt::format("the host compiler refuses the oracle of '{}': {}", problem,
                            compiled.errors.empty() ? compiled.log.substr(0, 400) : compiled.errors[0].message));
  }
  half.library = dlopen(compiled.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!half.library) return Fail(ErrorKind::kTool, fmt::format("cannot load the oracle: {}", dlerror()));
  half.function = reinterpret_cast<Half::Function>(dlsym(half.library, "hone_oracle"));
  if (!half.function)
    return Fail(ErrorKind::kCorrupt, fmt::format("{} has no hone_oracle; remove it", compiled.library));
  return {};
}

}  // namespace

Result<Oracle> Oracle::Compile(const Graph& graph) {
  OracleSources sources = SourcesOfOracle(graph);
  std::optional<Result<Compiled>> honest;
  const bool brief = GraphCost(graph).flops() < kBriefFlops;
  std::thread other([&] { honest = CompileHalf(std::move(sources.honest), brief); });
  auto values = CompileHalf(std::move(sources.values), brief);
  other.join();
  // The OpenMP runtime's threads outlive a parallel region. Were it unloaded with the last module that needs it, they
  // would run on in memory that is gone: it stays.
  static void* const runtimes[] = {dlopen("libgomp.so.1", RTLD_NOW | RTLD_NODELETE),
                                   dlopen("libomp.so.5", RTLD_NOW | RTLD_NODELETE)};
  static_cast<void>(runtimes);
  auto state = std::make_unique<State>();
  const Compiled compiled_values = HONE_TRY(std::move(values));
  HONE_TRY(LoadHalf(compiled_values, graph.problem().name, state->values));
  const Compiled compiled_honest = HONE_TRY(std::move(*honest));
  HONE_TRY(LoadHalf(compiled_honest, graph.problem().name, state->honest));
  for (const Tensor* output : graph.problem().Outputs()) {
    state->counts.push_back(ElementCount(output->shape));
    state->real.push_back(IsFloat(output->dtype));
  }
  for (const Tensor* input : graph.problem().Inputs()) state->inputs.push_back(*input);
  return Oracle(std::move(state));
}

bool HasNeighbours(DType dtype) { return dtype == DType::kF32 || (IsSmallFloat(dtype) && Bytes(dtype) == 2); }
std::uint16_t InfinityOf16Bits(DType dtype) { return dtype == DType::kF16 ? 0x7c00 : 0x7f80; }

double UndecidedScale(double worst, double value) { return std::max(2 * worst, 2.5e-5) * (1 + std::abs(value)); }

namespace {

// Calls work(begin, end) for parts of [0, count) on as many threads; small counts on this one.
void InParts(std::size_t count, int threads, const std::function<void(int, std::size_t, std::size_t)>& work) {
  const auto parts = static_cast<std::size_t>(count < (1u << 20) ? 1 : std::max(threads, 1));
  std::vector<std::thread> others;
  for (std::size_t part = 1; part < parts; ++part) {
    others.emplace_back([=, &work] { work(static_cast<int>(part), count * part / parts, count * (part + 1) / parts); });
  }
  work(0, 0, count / parts);
  for (auto& other : others) other.join();
}

bool IsUndecided(const Expected& out, std::size_t i) { return std::isinf(out.scale[i]) && std::isfinite(out.value[i]); }

// Whether the error analysis says nothing about most of an output: bounds that grow through a deep network may end at
// infinity everywhere, and let anything pass.
bool IsUndecided(const Expected& out) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < out.value.size(); ++i) count += IsUndecided(out, i) ? 1 : 0;
  return 2 * count > out.value.size();
}

void Decide(Expected& out, double worst) {
  for (std::size_t i = 0; i < out.value.size(); ++i) {
    if (IsUndecided(out, i) && std::isfinite(out.budget[i])) out.scale[i] = UndecidedScale(worst, out.value[i]);
  }
}

// The input `number` as bytes, one that HasNeighbours.
std::vector<std::byte> NudgedInput(const Tensor& input, const void* values, int run, std::uint64_t number) {
  const auto count = static_cast<std::size_t>(ElementCount(input.shape));
  std::vector<std::byte> nudged(count * static_cast<std::size_t>(Bytes(input.dtype)));
  std::memcpy(nudged.data(), values, nudged.size());
  const auto each = [&]<class Bits>(Bits bits, const auto& neighbour) {
    for (std::size_t i = 0; i < count; ++i) {
      std::byte* const at = nudged.data() + i * sizeof(bits);
      std::memcpy(&bits, at, sizeof(bits));
      bits = neighbour(bits, i);
      std::memcpy(at, &bits, sizeof(bits));
    }
  };
  if (input.dtype == DType::kF32) {
    each(std::uint32_t{}, [&](std::uint32_t bits, std::size_t i) { return Nudged(bits, run, number, i); });
  } else {
    const std::uint16_t infinity = InfinityOf16Bits(input.dtype);
    each(std::uint16_t{}, [&](std::uint16_t bits, std::size_t i) { return Nudged(bits, infinity, run, number, i); });
  }
  return nudged;
}

UndecidedPart Beside(const Expected& out, const std::vector<double>& run) {
  UndecidedPart all;
  for (std::size_t i = 0; i < run.size(); ++i) all.Add(out.value[i], out.scale[i], run[i]);
  return all;
}

// Turns the scales of one output into budgets; `out.budget` holds the honest implementation's values.
void SetBudgets(Expected& out, int threads) {
  std::vector<HonestPart> parts(static_cast<std::size_t>(std::max(threads, 1)));
  InParts(out.value.size(), threads, [&](int part, std::size_t begin, std::size_t end) {
    HonestPart own;
    for (std::size_t i = begin; i < end; ++i) own.Add(out.value[i], out.budget[i], out.scale[i]);
    parts[static_cast<std::size_t>(part)] = own;
  });
  HonestPart whole;
  for (const HonestPart& part : parts) whole = Merged(whole, part);
  out.honest_ratio = whole.ratio;
  out.open_error = whole.open;
  out.size = whole.size;
  const double factor = kBudgetFactor * std::max(1.0, out.honest_ratio);
  InParts(out.value.size(), threads, [&](int, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) out.budget[i] = BudgetOf(factor, out.scale[i]);
  });
}

}  // namespace

Result<std::vector<Expected>> Oracle::Run(const std::vector<const void*>& inputs, int threads) const {
  std::vector<Expected> outputs(state_->counts.size());
  std::vector<double*> values, scales, honests;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto count = static_cast<std::size_t>(state_->counts[i]);
    outputs[i].value.resize(count);
    outputs[i].scale.resize(count);
    outputs[i].budget.resize(count);
    values.push_back(outputs[i].value.data());
    scales.push_back(outputs[i].scale.data());
    honests.push_back(outputs[i].budget.data());
  }
  state_->honest.function(inputs.data(), honests.data(), scales.data(), threads);
  state_->values.function(inputs.data(), values.data(), scales.data(), threads);
  DecideOutputs(inputs, outputs, threads);
  for (auto& output : outputs) SetBudgets(output, threads);
  return outputs;
}

void Oracle::DecideOutputs(const std::vector<const void*>& inputs, std::vector<Expected>& outputs, int threads) const {
  std::map<std::size_t, HonestRuns> undecided;  // by output
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (!state_->real[o] || !IsUndecided(outputs[o])) continue;
    undecided[o].Add(Beside(outputs[o], outputs[o].budget));
  }
  if (undecided.empty()) return;
  // One run's errors say too little where rounding decides the size of what follows: other runs, from inputs that
  // differ in the last bit, show how far results may lie apart.
  for (int run = 0; run < kNudgedRuns; ++run) {
    std::vector<std::vector<std::byte>> nudged(inputs.size());
    std::vector<const void*> from = inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!HasNeighbours(state_->inputs[i].dtype)) continue;
      nudged[i] = NudgedInput(state_->inputs[i], inputs[i], run, i);
      from[i] = nudged[i].data();
    }
    std::vector<std::vector<double>> values, scales;
    std::vector<double*> value, scale;
    for (const Expected& output : outputs) {
      value.push_back(values.emplace_back(output.value.size()).data());
      scale.push_back(scales.emplace_back(output.value.size()).data());
    }
    state_->honest.function(from.data(), value.data(), scale.data(), threads);
    for (auto& [o, runs] : undecided) runs.Add(Beside(outputs[o], values[o]));
  }
  for (const auto& [o, runs] : undecided) {
    outputs[o].whole = WholeOf(runs);
    Decide(outputs[o], runs.worst);
  }
}

}  // namespace hone
