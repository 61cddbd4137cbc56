#include "dsl/cuda/nest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "dsl/cuda/expr.h"
#include "dsl/cuda/knobs.h"
#include "dsl/element.h"
#include "dsl/knobs.h"

namespace hone::dsl {
namespace {

using Kind = Expr::Kind;

// Whether windows of neighbouring results along `index` share elements: some address steps by it as by an index that is
// folded over.
bool SharesWindows(const Expr& value, int index) {
  bool shares = false;
  std::set<int> folded;
  Visit(value, [&](const ExprNode& node) {
    for (const auto& over : node.over) folded.insert(over.id);
  });
  Visit(value, [&](const ExprNode& node) {
    if (node.kind != Kind::kLoad || node.operands.size() != 1) return;
    const LinearForm form = LinearOf(node.operands[0]);
    const auto own = form.indices.find(index);
    if (own == form.indices.end()) return;
    for (const auto& [other, step] : form.indices)
      shares |= other != index && folded.contains(other) && step == own->second;
  });
  return shares;
}

// Results of a thread, along the index before the innermost one, so that a warp's loads stay next to each other.
std::vector<Setting> ResultsValues(const Kernel& kernel, const Limits&) {
  if (kernel.attributes.contains("sequence")) return {Whole(1)};
  const FlatElement element = MakeFlat(kernel, {});
  if (element.indices.size() < 2) return {Whole(1)};
  const IndexVar& index = element.indices[element.indices.size() - 2];
  if (!SharesWindows(element.value, index.id)) return {Whole(1)};
  std::vector<Setting> values;
  for (const std::int64_t results : {6, 4, 5, 8, 2, 3}) {
    if (index.extent % results == 0 && values.size() < 3) values.push_back(Whole(results));
  }
  values.push_back(Whole(1));
  return values;
}
std::optional<std::string> CheckResults(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckRange(value, 1, 64)) return why;
  const std::int64_t results = std::get<std::int64_t>(value.value);
  if (results == 1) return std::nullopt;
  if (kernel.attributes.contains("sequence")) return "a step of a sequence has one; try 1";
  const FlatElement element = MakeFlat(kernel, {});
  if (element.indices.size() < 2 || element.indices[element.indices.size() - 2].extent % results != 0)
    return "it divides the extent of the index before the innermost; try 1";
  return std::nullopt;
}

constexpr Knob kKnobs[] = {
    kBlockThreadsKnob,
    {"results", "neighbours along the index before the innermost that a thread computes: their windows overlap",
     ResultsValues, CheckResults},
};

// Of a sequence whose members look at each other's elements: threads of the block that takes it through time. More
// where warps read weights, since that many loads are under way then.
constexpr std::int64_t kSequenceThreads = 512, kSharingThreads = 1024;

// "x[i * 1024 + j]" as a value in a register.
std::string ElementText(DeviceWriter& out, DeviceExpr& expr, const Kernel& kernel, const ExprNode& load) {
  const int number = load.buffer % kMayMiss;
  const int buffer = kernel.operands[static_cast<std::size_t>(number)].buffer;
  const LinearForm form = LinearOf(load.operands[0]);
  std::string text;
  const auto add = [&](const std::string& term, std::int64_t times) {
    text += text.empty() ? (times < 0 ? "-" : "") : times < 0 ? " - " : " + ";
    text += std::abs(times) == 1 ? term : fmt::format("{} * {}", term, std::abs(times));
  };
  // The largest steps first, as one writes addresses.
  std::vector<std::pair<int, std::int64_t>> terms(form.indices.begin(), form.indices.end());
  std::stable_sort(terms.begin(), terms.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.second) > std::abs(b.second); });
  for (const auto& [index, times] : terms) add(expr.NameOf(index), times);
  for (const auto& [rest, times] : form.rest) add("(" + expr.Address(rest) + ")", times);
  if (form.constant != 0 || text.empty())
    text += text.empty() ? fmt::format("{}", form.constant)
                         : fmt::format(" {} {}", form.constant < 0 ? "-" : "+", std::abs(form.constant));
  return LoadedText(out, buffer, fmt::format("{}[{}]", out.BufferName(buffer), text));
}

// Lines that declare where `at` stands in a space of these indices.
void NamePlaces(DeviceWriter& out, const Kernel& kernel, const std::vector<IndexVar>& indices, const std::string& at,
                std::map<int, std::string>& names) {
  std::string left = at;
  for (std::size_t n = indices.size(); n-- > 0;) {
    const IndexVar& index = indices[n];
    const auto named = kernel.index_names.find(index.id);
    const std::string name = out.Fresh(named == kernel.index_names.end() ? "i" : named->second);
    out.Line(fmt::format("const {} {} = {};", out.index_type(), name,
                         n == 0 ? left : fmt::format("{} % {}", left, index.extent)));
    names[index.id] = name;
    if (n > 0) left = fmt::format("({} / {})", left, index.extent);
  }
}

// One element of a kernel's target, its indices named; by a whole warp if `lane`, the thread's number in it, is given.
void WriteElement(DeviceWriter& out, const Kernel& kernel, const FlatElement& element,
                  const std::map<int, std::string>& names, const std::string& lane = "") {
  const KernelBuffer& target = out.program().buffers[static_cast<std::size_t>(kernel.target)];
  DeviceExpr* self = nullptr;
  DeviceExpr expr(out, [&](const ExprNode& load) { return ElementText(out, *self, kernel, load); });
  self = &expr;
  for (const auto& [id, name] : names) expr.Call({id, 1}, name);
  expr.ShareSums(lane);
  const std::string value = DeviceExpr::Stored(expr.Text(element.value), element.value->type, target.dtype);
  // The target is dense over the space; merged indices stand for the dimensions that they swallowed.
  std::string at;
  std::int64_t step = 1;
  for (std::size_t d = kernel.space.size(); d-- > 0;) {
    const auto it = names.find(kernel.space[d].id);
    if (it != names.end())
      at = (step == 1 ? it->second : fmt::format("{} * {}", it->second, step)) + (at.empty() ? "" : " + " + at);
    step *= kernel.space[d].extent;
  }
  out.Line(fmt::format("{}{}[{}] = {};", lane.empty() ? "" : fmt::format("if ({} == 0) ", lane),
                       out.BufferName(kernel.target), at.empty() ? "0" : at, value));
}

void EmitElements(const Kernel& kernel, DeviceWriter& out) {
  std::int64_t count = 1;
  for (const auto& index : kernel.space) count *= index.extent;
  if (count == 0) return;
  const FlatElement element = MakeFlat(kernel, {});
  const std::int64_t threads = IntSetting(kernel, "block"), results = IntSetting(kernel, "results");
  std::vector<IndexVar> indices = element.indices;
  IndexVar* shared = results > 1 ? &indices[indices.size() - 2] : nullptr;
  if (shared) {
    shared->extent /= results;
    count /= results;
  }
  out.BeginKernel("nest", threads);
  const std::string at = out.OpenThreads("at", count);
  std::map<int, std::string> names;
  NamePlaces(out, kernel, indices, at, names);
  if (shared) {
    const std::string result = out.Fresh("result"), place = out.Fresh("place");
    out.Unroll();
    out.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", result, results));
    out.Line(
        fmt::format("const {} {} = {} * {} + {};", out.index_type(), place, names.at(shared->id), results, result));
    names[shared->id] = place;
  }
  WriteElement(out, kernel, element, names);
  if (shared) out.Close();
  out.Launch(
      {.grid_x = (count + threads - 1) / threads, .reads = OperandBuffers({&kernel, 1}), .writes = {kernel.target}});
}

std::size_t Along(const Kernel& kernel) { return static_cast<std::size_t>(kernel.attributes.at("along")[0]); }

// The dimensions along which the members of a sequence do not look at each other.
std::vector<std::size_t> FreeDims(std::span<const Kernel> members) {
  const Kernel& leader = members[0];
  std::set<int> targets;
  for (const auto& member : members) targets.insert(member.target);
  std::vector<std::size_t> free_dims;
  for (std::size_t p = 0; p < leader.space.size(); ++p) {
    if (p == Along(leader)) continue;
    const bool free = std::all_of(members.begin(), members.end(), [&](const Kernel& member) {
      bool own =
          Along(member) == Along(leader) && p < member.space.size() && member.space[p].extent == leader.space[p].extent;
      if (!own) return false;
      Visit(member.epilogue, [&](const ExprNode& node) {
        if (node.kind != Kind::kLoad || node.buffer < 0) return;
        if (!targets.contains(member.operands[static_cast<std::size_t>(node.buffer)].buffer)) return;
        const Expr& index = node.operands[p];
        own &= index->kind == Kind::kIndex && index->index.id == member.space[p].id;
      });
      return own;
    });
    if (free) free_dims.push_back(p);
  }
  return free_dims;
}

void EmitSequence(std::span<const Kernel> members, DeviceWriter& out) {
  const Kernel& leader = members[0];
  for (const auto& member : members) {
    for (const auto& index : member.space) {
      if (index.extent == 0) return;
    }
  }
  const std::vector<std::size_t> free_dims = FreeDims(members);
  std::vector<IndexVar> lanes;
  std::int64_t lane_count = 1;
  for (const std::size_t p : free_dims) {
    lanes.push_back(leader.space[p]);
    lane_count *= leader.space[p].extent;
  }
  const bool apart = std::all_of(members.begin(), members.end(), [&](const Kernel& member) {
    std::int64_t rest = 1;
    for (std::size_t d = 0; d < member.space.size(); ++d) {
      if (d != Along(member) && std::find(free_dims.begin(), free_dims.end(), d) == free_dims.end())
        rest *= member.space[d].extent;
    }
    return rest == 1;
  });
  const bool shares = std::any_of(members.begin(), members.end(),
                                  [](const Kernel& member) { return DeviceExpr::HasSumsToShare(member.epilogue); });
  const std::int64_t threads = apart    ? std::min<std::int64_t>(IntSetting(leader, "block"), 128)
                               : shares ? kSharingThreads
                                        : kSequenceThreads;
  out.BeginKernel("sequence", threads);
  std::string lane;
  if (apart) {
    lane = out.OpenThreads("lane", lane_count);
  } else {
    lane = out.Fresh("lane");
    out.Line(fmt::format("const {} {} = blockIdx.x;", out.index_type(), lane));
  }
  std::map<int, std::string> lane_names;
  NamePlaces(out, leader, lanes, lane, lane_names);
  const IndexVar& step = leader.space[Along(leader)];
  const std::string t = out.Fresh("t");
  const bool reversed = leader.attributes.at("reversed")[0] != 0;
  out.Open(reversed ? fmt::format("for (int {} = {}; {} >= 0; --{})", t, step.extent - 1, t, t)
                    : fmt::format("for (int {} = 0; {} < {}; ++{})", t, t, step.extent, t));
  for (const auto& member : members) {
    out.Begin(member);
    std::map<int, std::string> names;
    std::set<int> fixed;
    names[member.space[Along(member)].id] = t;
    fixed.insert(member.space[Along(member)].id);
    for (const std::size_t p : free_dims) {
      names[member.space[p].id] = lane_names.at(leader.space[p].id);
      fixed.insert(member.space[p].id);
    }
    const FlatElement element = MakeFlat(member, fixed);
    std::int64_t count = 1;
    for (const auto& index : element.indices) count *= index.extent;
    std::string warp_lane;
    if (apart) {
      out.Open("");
      for (const auto& index : element.indices) names[index.id] = "0";
    } else {
      const std::string at = out.Fresh("at");
      if (DeviceExpr::HasSumsToShare(element.value)) {
        // A row of weights each: a warp reads what lies side by side.
        warp_lane = out.Fresh("lane");
        out.Line(fmt::format("const int {} = threadIdx.x % 32;", warp_lane));
        out.Line("#pragma unroll 2");
        out.Open(fmt::format("for (int {0} = threadIdx.x / 32; {0} < {1}; {0} += {2})", at, count, threads / 32));
      } else {
        out.Open(fmt::format("for (int {0} = threadIdx.x; {0} < {1}; {0} += {2})", at, count, threads));
      }
      NamePlaces(out, member, element.indices, at, names);
    }
    WriteElement(out, member, element, names, warp_lane);
    out.Close();
    if (!apart) out.Line("__syncthreads();");
  }
  out.Close();
  out.Begin(leader);
  std::vector<int> writes;
  for (const auto& member : members) writes.push_back(member.target);
  out.Launch({.grid_x = apart ? (lane_count + threads - 1) / threads : lane_count,
              .reads = OperandBuffers(members),
              .writes = writes});
}

}  // namespace

std::span<const Knob> NestKnobsCuda() { return kKnobs; }

void SetNestDefaults(Kernel& nest) {
  for (const Knob& knob : kKnobs) nest.settings[std::string(knob.name)] = knob.values(nest, {})[0];
}

void EmitNestCuda(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  if (!kernel.attributes.contains("sequence")) return EmitElements(kernel, out);
  const auto first = static_cast<std::size_t>(&kernel - program.kernels.data());
  EmitSequence({&kernel, SequenceEnd(program, first) - first}, out);
}

}  // namespace hone::dsl
