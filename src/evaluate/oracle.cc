#include "evaluate/oracle.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/loop_nest.h"
#include "target/cpu/compiler.h"

namespace hone {

struct Oracle::State {
  using Function = void (*)(const void* const* in, double* const* value, double* const* scale, double* const* honest,
                            int threads);
  void* library = nullptr;
  Function function = nullptr;
  std::vector<std::int64_t> counts;  // elements of each output
  ~State() {
    if (library) dlclose(library);
  }
};

Oracle::Oracle(std::unique_ptr<State> state) : state_(std::move(state)) {}
Oracle::Oracle(Oracle&&) noexcept = default;
Oracle& Oracle::operator=(Oracle&&) noexcept = default;
Oracle::~Oracle() = default;

Result<Oracle> Oracle::Compile(const Graph& graph) {
  CompileRequest request;
  request.source = OracleSource(graph);
  // No contraction into fused multiply-adds: the honest implementation rounds where the definitions say so.
  request.flags = {"-O2", "-ftree-vectorize", "-ffp-contract=off", "-w"};
  request.trusted = true;
  const Compiled compiled = HONE_TRY(CompileModule(request));
  if (!compiled.ok()) {
    return Fail(ErrorKind::kTool,
                fmt::format("the host compiler refuses the oracle of '{}': {}", graph.problem().name,
                            compiled.errors.empty() ? compiled.log.substr(0, 400) : compiled.errors[0].message));
  }
  // The OpenMP runtime's threads outlive a parallel region. Were it unloaded with the last module that needs it, they
  // would run on in memory that is gone: it stays.
  static void* const runtimes[] = {dlopen("libgomp.so.1", RTLD_NOW | RTLD_NODELETE),
                                   dlopen("libomp.so.5", RTLD_NOW | RTLD_NODELETE)};
  static_cast<void>(runtimes);
  auto state = std::make_unique<State>();
  state->library = dlopen(compiled.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!state->library) return Fail(ErrorKind::kTool, fmt::format("cannot load the oracle: {}", dlerror()));
  state->function = reinterpret_cast<State::Function>(dlsym(state->library, "hone_oracle"));
  if (!state->function)
    return Fail(ErrorKind::kCorrupt, fmt::format("{} has no hone_oracle; remove it", compiled.library));
  for (const Tensor* output : graph.problem().Outputs()) state->counts.push_back(ElementCount(output->shape));
  return Oracle(std::move(state));
}

Result<std::vector<Expected>> Oracle::Run(const std::vector<const void*>& inputs, int threads) const {
  std::vector<Expected> outputs(state_->counts.size());
  std::vector<std::vector<double>> honest(outputs.size());
  std::vector<double*> values, scales, honests;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto count = static_cast<std::size_t>(state_->counts[i]);
    outputs[i].value.resize(count);
    outputs[i].scale.resize(count);
    honest[i].resize(count);
    values.push_back(outputs[i].value.data());
    scales.push_back(outputs[i].scale.data());
    honests.push_back(honest[i].data());
  }
  state_->function(inputs.data(), values.data(), scales.data(), honests.data(), threads);

  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  // Results in the last bits of the smallest numbers carry an absolute error of about one such bit.
  constexpr double kTiny = std::numeric_limits<float>::denorm_min();
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    Expected& out = outputs[o];
    double ratio = 0;
    for (std::size_t i = 0; i < out.value.size(); ++i) {
      const double error = std::abs(honest[o][i] - out.value[i]);
      if (std::isnan(out.value[i])) continue;
      if (!std::isfinite(honest[o][i]) && std::isfinite(out.value[i])) {
        out.scale[i] = kInfinity;  // an honest implementation overflows here
      } else if (std::isfinite(error) && std::isfinite(out.scale[i]) && out.scale[i] > 0) {
        ratio = std::max(ratio, (error - kTiny) / out.scale[i]);
      }
    }
    out.honest_ratio = ratio;
    const double factor = kBudgetFactor * std::max(1.0, ratio);
    out.budget.resize(out.value.size());
    for (std::size_t i = 0; i < out.value.size(); ++i)
      out.budget[i] = out.scale[i] > 0 ? factor * out.scale[i] + kTiny : 0;
  }
  return outputs;
}

}  // namespace hone
