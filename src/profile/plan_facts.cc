#include "profile/plan_facts.h"

#include <algorithm>
#include <map>

#include "analysis/graph_costs.h"
#include "target/bound.h"

namespace hone {
namespace {

void Set(Profile& profile, std::string_view name, double value, double confidence = 1) {
  profile.Set(name, value, FactSource::kAnalytic, confidence);
}

// Ceilings of a datasheet are what nobody quite reaches.
double ConfidenceIn(const DeviceModel& device) {
  return device.ceilings.source == Ceilings::Source::kDatasheet ? 0.8 : 1;
}

// A node of a CUDA graph, where the device was never calibrated: datasheets do not say, and we have not measured it
// there.
constexpr double kUsualLaunchUs = 1;

const PlanBuffer* FindBuffer(const Plan& plan, const std::string& name) {
  const auto found = std::find_if(plan.buffers.begin(), plan.buffers.end(),
                                  [&](const PlanBuffer& buffer) { return buffer.name == name; });
  return found == plan.buffers.end() ? nullptr : &*found;
}

double BytesOf(const std::string& name, const Plan& plan, const Problem& problem) {
  if (const PlanBuffer* buffer = FindBuffer(plan, name))
    return static_cast<double>(ElementCount(buffer->shape) * Bytes(buffer->dtype));
  const Tensor* tensor = problem.Find(name);
  return tensor == nullptr ? 0 : static_cast<double>(tensor->bytes());
}

// Bits of mantissa of a product, and those that the contract asks for.
double BitsOf(LibraryCompute compute) {
  switch (compute) {
    case LibraryCompute::kF32: return 23;
    case LibraryCompute::kTf32:
    case LibraryCompute::kF16: return 10;
    case LibraryCompute::kBf16: return 7;
    case LibraryCompute::kF64: return 52;
  }
  return 0;
}

double BitsAsked(Precision contract, bool convolution) {
  switch (contract) {
    case Precision::kTorch: return convolution ? 10 : 23;
    case Precision::kFp64: return 52;
    case Precision::kFp32: return 23;
    case Precision::kTf32:
    case Precision::kFp16: return 10;
    case Precision::kBf16: return 7;
  }
  return 0;
}

// The most exact product of a library's that is made of f32, beside what is asked.
void AddPrecision(Profile& profile, const Plan& plan, const Problem& problem) {
  double excess = -1, bits = 0, asked = 0;
  const auto look = [&](const std::string& operand, LibraryCompute compute, bool convolution) {
    const PlanBuffer* buffer = FindBuffer(plan, operand);
    const Tensor* tensor = problem.Find(operand);
    const DType dtype = buffer ? buffer->dtype : tensor ? tensor->dtype : DType::kF32;
    if (dtype != DType::kF32) return;  // 16-bit types are multiplied as they are
    const double wanted = BitsAsked(problem.contract, convolution), more = std::max(0.0, BitsOf(compute) - wanted);
    if (more <= excess) return;
    excess = more;
    bits = BitsOf(compute);
    asked = wanted;
  };
  for (const PlanStep& step : plan.steps) {
    if (const auto* matmul = std::get_if<MatmulStep>(&step)) look(matmul->a.buffer, matmul->compute, false);
    if (const auto* convolution = std::get_if<ConvolutionStep>(&step))
      look(convolution->x.buffer, convolution->compute, true);
  }
  if (excess < 0) return;
  Set(profile, "product_bits", bits);
  Set(profile, "contract_bits", asked);
  Set(profile, "excess_bits", excess);
}

struct AddNames {
  std::vector<std::string>& names;

  void Add(const std::string& name) const {
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  void operator()(const LaunchStep& launch) const {
    for (const PlanArgument& argument : launch.arguments) {
      if (const auto* buffer = std::get_if<BufferArgument>(&argument)) Add(buffer->name);
      if (const auto* map = std::get_if<TensorMapArgument>(&argument)) Add(map->buffer);
    }
  }
  void operator()(const MemsetStep& set) const { Add(set.buffer); }
  void operator()(const MatmulStep& matmul) const {
    Add(matmul.a.buffer);
    Add(matmul.b.buffer);
    if (matmul.c) Add(matmul.c->buffer);
    if (matmul.bias) Add(matmul.bias->name);
    Add(matmul.d.buffer);
  }
  void operator()(const ConvolutionStep& convolution) const {
    Add(convolution.x.buffer);
    Add(convolution.w.buffer);
    if (convolution.bias) Add(convolution.bias->name);
    Add(convolution.y.buffer);
  }
};

}  // namespace

std::vector<std::string> NamesOf(const PlanStep& step) {
  std::vector<std::string> names;
  std::visit(AddNames{names}, step);
  return names;
}

void AddDeviceFacts(Profile& profile, const DeviceModel& device) {
  const Ceilings& ceilings = device.ceilings;
  const double confidence = ConfidenceIn(device);
  const double copy = ceilings.CopyBandwidth(std::int64_t{1} << 40);  // of memory: no cache holds that
  if (copy > 0) Set(profile, "bandwidth", copy, confidence);
  if (device.l2_bytes > 0) Set(profile, "l2_bytes", static_cast<double>(device.l2_bytes));
  if (ceilings.fork_join_us > 0) {
    Set(profile, "launch_us", ceilings.fork_join_us, confidence);
  } else if (device.kind == DeviceKind::kCuda) {
    Set(profile, "launch_us", kUsualLaunchUs, 0.5);
  }
}

void AddProblemFacts(Profile& profile, const Graph& graph, const DeviceModel& device) {
  profile.SetWord("contract", Name(graph.problem().contract), FactSource::kAnalytic);
  const Bound bound = SpeedOfLight(graph, device);
  Set(profile, "problem_flops", bound.flops);
  Set(profile, "problem_bytes", bound.bytes);
  const Cost cost = CostsOf(graph).written;
  if (cost.flops() > 0) Set(profile, "product_share", 2 * cost.multiply_adds / cost.flops());
  if (device.kind == DeviceKind::kCuda && device.ceilings.vector_flops_f32 > 0)
    Set(profile, "vector_limit_us", bound.flops / device.ceilings.vector_flops_f32 * 1e6, ConfidenceIn(device));
  if (bound.us <= 0) return;
  const double confidence = ConfidenceIn(device);
  Set(profile, "bytes_limit_us", bound.bytes_us, confidence);
  Set(profile, "flops_limit_us", bound.flops_us, confidence);
  Set(profile, "bound_us", bound.us, confidence);
  const auto launch_us = profile.Get("launch_us"), launches = profile.Get("launches");
  if (launch_us && launches) {
    const double launching = *launch_us * *launches;
    Set(profile, "launch_share", launching / (launching + bound.us), confidence);
  }
}

void AddPlanFacts(Profile& profile, const Plan& plan, const Problem& problem, const DeviceModel& device) {
  Set(profile, "launches", static_cast<double>(plan.steps.size()));
  profile.SetWord("contract", Name(problem.contract), FactSource::kAnalytic);
  AddPrecision(profile, plan, problem);
  std::map<std::string, int> uses;
  for (const PlanStep& step : plan.steps) {
    for (const std::string& name : NamesOf(step)) ++uses[name];
  }
  // A buffer's content before its first use in a run is from `prepare`, where that names it; then it is a parameter.
  std::vector<std::string> prepared;
  for (const PlanStep& step : plan.prepare) {
    for (const std::string& name : NamesOf(step)) prepared.push_back(name);
  }
  double handed_on = 0, again = 0, largest = 0;
  std::string which;
  for (const auto& [name, count] : uses) {
    const double bytes = BytesOf(name, plan, problem);
    const Tensor* tensor = problem.Find(name);
    const bool given = (tensor != nullptr && tensor->role != Role::kOutput) ||
                       std::find(prepared.begin(), prepared.end(), name) != prepared.end();
    if (given) again += bytes * (count - 1);
    if (given || count < 2) continue;
    // Written once and read by every later step that names it. An output has to be written anyway.
    const double moved = bytes * (tensor == nullptr ? count : count - 1);
    handed_on += moved;
    if (moved > largest) {
      largest = moved;
      which = name;
    }
  }
  Set(profile, "handed_on_bytes", handed_on, 0.8);
  if (!which.empty()) profile.SetWord("handed_on_most", which, FactSource::kAnalytic);
  Set(profile, "read_again_bytes", again, 0.6);
  const double copy = device.ceilings.CopyBandwidth(std::int64_t{1} << 40);
  double all = 0;
  for (const auto& [name, count] : uses) all += BytesOf(name, plan, problem) * count;
  Set(profile, "plan_bytes", all, 0.8);
  if (all > 0) {
    Set(profile, "handed_on_share", handed_on / all, 0.8);
    Set(profile, "read_again_share", again / all, 0.6);
  }
  if (copy > 0) Set(profile, "plan_limit_us", all / copy * 1e6, 0.8 * ConfidenceIn(device));
}

void AddStepFacts(Profile& profile, const Plan& plan, const PlanStep& step, const Problem& problem,
                  const DeviceModel& device) {
  double bytes = 0;
  for (const std::string& name : NamesOf(step)) bytes += BytesOf(name, plan, problem);
  Set(profile, "step_bytes", bytes, 0.8);
  const double copy = device.ceilings.CopyBandwidth(static_cast<std::int64_t>(bytes));
  if (copy > 0) Set(profile, "step_limit_us", bytes / copy * 1e6, 0.8 * ConfidenceIn(device));
}

}  // namespace hone
