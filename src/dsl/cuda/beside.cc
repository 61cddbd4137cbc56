#include "dsl/cuda/beside.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/check.h"

namespace hone::dsl {
namespace {

// The driver passes 4 KiB of parameters, of which tensor maps are 128 bytes each.
constexpr std::size_t kMostParameterBytes = 3 << 10;
constexpr std::int64_t kMostStaticShared = 48 << 10;
constexpr const char *kBlock = "block_of_these", *kBlocks = "blocks_of_these";

bool Meet(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& name) { return b.contains(name); });
}

// Whether one has to be done before the other begins.
bool Depend(const StepUse& a, const StepUse& b) {
  return !a.known || !b.known || Meet(a.writes, b.reads) || Meet(a.writes, b.writes) || Meet(a.reads, b.writes);
}

std::string ReplaceAll(std::string text, std::string_view what, std::string_view by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

std::size_t ParameterBytes(const LaunchStep& launch) {
  std::size_t bytes = 0;
  for (const PlanArgument& argument : launch.arguments)
    bytes += std::holds_alternative<TensorMapArgument>(argument) ? 128 : 8;
  return bytes;
}

class Joiner {
 public:
  Joiner(std::vector<PlanStep>& steps, std::vector<StepUse>& uses, std::vector<KernelText>& kernels,
         const DeviceModel& device)
      : steps_(steps), uses_(uses), kernels_(kernels), device_(device) {}

  std::string Run() {
    const auto as_written = Grouped(AsWritten()), by_need = Grouped(ByNeed());
    const auto& groups = by_need.size() < as_written.size() ? by_need : as_written;
    if (groups.size() == steps_.size()) return "";
    std::vector<PlanStep> steps;
    std::vector<StepUse> uses;
    for (const auto& group : groups) {
      StepUse use = uses_[group[0]];
      for (const std::size_t member : group) {
        use.reads.insert(uses_[member].reads.begin(), uses_[member].reads.end());
        use.writes.insert(uses_[member].writes.begin(), uses_[member].writes.end());
      }
      steps.push_back(group.size() == 1 ? steps_[group[0]] : Joined(group));
      uses.push_back(std::move(use));
    }
    steps_ = std::move(steps);
    uses_ = std::move(uses);
    return std::move(text_);
  }

 private:
  std::vector<std::size_t> AsWritten() const {
    std::vector<std::size_t> order(steps_.size());
    std::iota(order.begin(), order.end(), 0);
    return order;
  }
  // By how many others have to come before, one after the other.
  std::vector<std::size_t> ByNeed() const {
    std::vector<int> before(steps_.size(), 0);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      for (std::size_t other = 0; other < i; ++other) {
        if (Depend(uses_[i], uses_[other])) before[i] = std::max(before[i], before[other] + 1);
      }
    }
    std::vector<std::size_t> order = AsWritten();
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return before[a] < before[b]; });
    return order;
  }

  // Steps that are one launch, in an order that keeps every step behind those that it needs.
  std::vector<std::vector<std::size_t>> Grouped(const std::vector<std::size_t>& order) const {
    std::vector<std::vector<std::size_t>> groups;
    for (const std::size_t i : order) {
      std::size_t first = groups.size();
      while (first > 0 && std::none_of(groups[first - 1].begin(), groups[first - 1].end(),
                                       [&](std::size_t other) { return Depend(uses_[i], uses_[other]); }))
        --first;
      const auto joined = std::find_if(groups.begin() + static_cast<std::ptrdiff_t>(first), groups.end(),
                                       [&](const auto& group) { return MayJoin(group, i); });
      if (joined == groups.end()) {
        groups.push_back({i});
      } else {
        joined->push_back(i);
      }
    }
    return groups;
  }

  const LaunchStep& Launch(std::size_t step) const { return std::get<LaunchStep>(steps_[step]); }
  const KernelText& KernelOf(std::size_t step) const {
    const auto found = std::find_if(kernels_.begin(), kernels_.end(),
                                    [&](const KernelText& kernel) { return kernel.name == Launch(step).kernel; });
    HONE_CHECK(found != kernels_.end(), "a launch of no kernel");
    return *found;
  }

  // Blocks that the device holds at once, as far as threads and shared memory say.
  std::int64_t Room(const LaunchStep& launch) const {
    const MultiprocessorLimits& limits = device_.limits;
    const std::int64_t threads = launch.block[0];
    return device_.multiprocessors *
           std::min<std::int64_t>(std::max<std::int64_t>(1, limits.warps * 32 / threads),
                                  limits.shared_bytes / (launch.shared_bytes + limits.reserved_shared_bytes));
  }

  bool MayJoin(const std::vector<std::size_t>& group, std::size_t step) const {
    if (!uses_[step].aside || !uses_[group[0]].aside) return false;
    const LaunchStep &first = Launch(group[0]), &launch = Launch(step);
    if (first.block != launch.block || first.shared_bytes != launch.shared_bytes ||
        KernelOf(group[0]).bounds != KernelOf(step).bounds)
      return false;
    std::int64_t blocks = 0;
    std::size_t bytes = ParameterBytes(launch);
    std::map<std::string, std::int64_t> shared = {{launch.kernel, uses_[step].static_shared_bytes}};
    for (const std::size_t member : group) {
      shared[Launch(member).kernel] = uses_[member].static_shared_bytes;
      blocks += Launch(member).grid[0];
      bytes += ParameterBytes(Launch(member));
    }
    std::int64_t static_shared = 0;
    for (const auto& [kernel, of_it] : shared) static_shared += of_it;
    return std::min(blocks, launch.grid[0]) < Room(launch) && bytes <= kMostParameterBytes &&
           static_shared <= kMostStaticShared &&
           static_shared + launch.shared_bytes <= device_.limits.block_shared_bytes;
  }

  LaunchStep Joined(const std::vector<std::size_t>& group) {
    LaunchStep joined = Launch(group[0]);
    joined.arguments.clear();
    joined.grid[0] = 0;
    std::string key;
    for (const std::size_t member : group) {
      const LaunchStep& launch = Launch(member);
      key += fmt::format("{} {},", launch.kernel, launch.grid[0]);
      joined.grid[0] += launch.grid[0];
      joined.arguments.insert(joined.arguments.end(), launch.arguments.begin(), launch.arguments.end());
    }
    const auto [known, is_new] = joined_.emplace(key, "");
    if (is_new) known->second = AddKernel(group);
    joined.kernel = known->second;
    return joined;
  }

  // The body of a kernel as a function of which block of how many it is.
  std::string Function(std::size_t step) {
    const std::string name = "block_" + Launch(step).kernel;
    if (!functions_.insert(name).second) return name;
    KernelText function = KernelOf(step);
    std::string parameters;
    for (const auto& [type, parameter] : function.parameters)
      parameters +=
          fmt::format(", {} {}", ReplaceAll(type, "const __grid_constant__ TensorMap", "const TensorMap&"), parameter);
    function.body = ReplaceAll(ReplaceAll(std::move(function.body), "blockIdx.x", kBlock), "gridDim.x", kBlocks);
    text_ += fmt::format("{}\n__device__ __forceinline__ void {}(const unsigned {}, const unsigned {}{}) {{\n{}}}\n\n",
                         function.comment, name, kBlock, kBlocks, parameters, function.body);
    return name;
  }

  std::string AddKernel(const std::vector<std::size_t>& group) {
    KernelText joined;
    joined.bounds = KernelOf(group[0]).bounds;
    // No name of a user's begins so.
    joined.name = "beside_" + Launch(group[0]).kernel;
    for (int n = 2; std::any_of(kernels_.begin(), kernels_.end(),
                                [&](const KernelText& kernel) { return kernel.name == joined.name; });
         ++n)
      joined.name = fmt::format("beside_{}_{}", Launch(group[0]).kernel, n);
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const std::int64_t blocks = Launch(group[i]).grid[0];
      std::string arguments;
      for (const auto& [type, name] : KernelOf(group[i]).parameters) {
        joined.parameters.emplace_back(type, fmt::format("{}_{}", name, i + 1));
        arguments += ", " + joined.parameters.back().second;
      }
      const std::string which = begin == 0 ? "blockIdx.x" : fmt::format("blockIdx.x - {}", begin);
      const bool last = i + 1 == group.size();
      joined.body += fmt::format("  {}{}{{\n    {}({}, {}{});\n  }}\n", i == 0 ? "" : "else ",
                                 last ? "" : fmt::format("if (blockIdx.x < {}) ", begin + blocks), Function(group[i]),
                                 which, blocks, arguments);
      begin += blocks;
    }
    joined.comment = fmt::format("// {} launches that do not need each other.", group.size());
    kernels_.push_back(std::move(joined));
    return kernels_.back().name;
  }

  std::vector<PlanStep>& steps_;
  std::vector<StepUse>& uses_;
  std::vector<KernelText>& kernels_;
  const DeviceModel& device_;
  std::map<std::string, std::string> joined_;  // who with how many blocks, and the kernel that does it
  std::set<std::string> functions_;
  std::string text_;  // of these
};

}  // namespace

std::string TextOf(const KernelText& kernel) {
  std::string parameters;
  for (const auto& [type, name] : kernel.parameters)
    parameters += fmt::format("{}{} {}", parameters.empty() ? "" : ", ", type, name);
  return fmt::format("{}\n{} void __launch_bounds__({}) {}({}) {{\n{}}}\n\n", kernel.comment, kKernelBegin,
                     kernel.bounds, kernel.name, parameters, kernel.body);
}

std::string JoinLaunches(std::vector<PlanStep>& steps, std::vector<StepUse>& uses, std::vector<KernelText>& kernels,
                         const DeviceModel& device) {
  HONE_CHECK(steps.size() == uses.size(), "a step of which nothing is known");
  return Joiner(steps, uses, kernels, device).Run();
}

}  // namespace hone::dsl
