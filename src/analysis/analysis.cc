#include "analysis/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "analysis/collapse.h"
#include "analysis/cost.h"
#include "analysis/range.h"
#include "analysis/spread.h"
#include "analysis/symbolic.h"
#include "graph/trimmed.h"

namespace hone {
namespace {

// So many standard deviations of the least certain element are still within the tolerance.
constexpr double kSpreadDeviations = 4;
// Of the whole graph's work, for it to be flagged.
constexpr double kSavedAtLeast = 0.5;

std::string Number(double value) { return fmt::format("{:.3g}", value); }

class Analyzer {
 public:
  explicit Analyzer(const Graph& graph)
      : graph_(graph),
        symbolic_(graph),
        ranges_(graph, symbolic_),
        depends_(graph.buffers().size()),
        spread_(graph, symbolic_, depends_),
        whys_(graph.buffers().size()) {
    for (std::size_t b = 0; b < graph.buffers().size(); ++b) {
      const Buffer& buffer = graph.buffers()[b];
      if (buffer.stage < 0 && buffer.tensor >= 0) depends_[b] = {buffer.tensor};
    }
    for (std::size_t s = 0; s < graph.stages().size(); ++s) Define(s);
  }

  // The tensors of the problem that some output hangs on.
  std::set<int> Influences() const {
    std::set<int> influences;
    for (std::size_t o = 0; o < graph_.problem().Outputs().size(); ++o) {
      const auto& depends = depends_[static_cast<std::size_t>(graph_.Output(o))];
      influences.insert(depends.begin(), depends.end());
    }
    return influences;
  }

  std::vector<Flag> Flags() {
    bool some_output_varies = false;
    const auto outputs = graph_.problem().Outputs();
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      if (ElementCount(outputs[o]->shape) > 0) some_output_varies |= FlagOutput(*outputs[o], graph_.Output(o));
    }
    Flag ignored{.kind = FlagKind::kIgnoresInput, .inputs = Ignored(), .reason = "no output hangs on it"};
    if (some_output_varies && !ignored.inputs.empty()) flags_.push_back(std::move(ignored));
    // Work that is not needed at all is not worth a word more.
    if (some_output_varies) FlagWork();
    return std::move(flags_);
  }

 private:
  // Why a buffer is constant.
  enum class Why : std::uint8_t { kNot, kFolds, kCancels, kRange };

  void Define(std::size_t s) {
    const Stage& stage = graph_.stages()[s];
    const auto buffer = static_cast<std::size_t>(stage.buffer);
    Why& why = whys_[buffer];
    if (symbolic_.Define(s)) {
      why = Why::kCancels;
    } else if (symbolic_.Constant(stage.buffer)) {
      why = Why::kFolds;
    }
    const Range& range = ranges_.Define(s);
    if (why == Why::kNot && range.point() && std::isfinite(range.low)) {
      symbolic_.SetConstant(stage.buffer, range.low);
      why = Why::kRange;
    }
    if (why == Why::kNot) Depend(s);
    spread_.Define(s);
  }

  // The stages of a sequence read each other: they hang on the same.
  void Depend(std::size_t s) {
    const Stage& stage = graph_.stages()[s];
    std::set<int> all;
    const auto read = [&](const Expr& value) {
      Visit(value, [&](const ExprNode& node) {
        if (node.kind != Expr::Kind::kLoad) return;
        const auto& more = depends_[static_cast<std::size_t>(node.buffer)];
        all.insert(more.begin(), more.end());
      });
    };
    read(symbolic_.Value(s));
    if (stage.sequence >= 0) {
      for (const auto& other : graph_.stages()) {
        if (other.sequence == stage.sequence) read(other.value);
      }
    }
    depends_[static_cast<std::size_t>(stage.buffer)] = std::move(all);
  }

  std::vector<std::string> Ignored() const {
    std::set<int> influences = Influences();
    std::vector<int> ignored;
    Problem free = graph_.problem();  // its constant inputs may be anything
    bool some_freed = false;
    for (std::size_t t = 0; t < free.tensors.size(); ++t) {
      Tensor& tensor = free.tensors[t];
      if (tensor.role != Role::kInput || influences.count(static_cast<int>(t))) continue;
      ignored.push_back(static_cast<int>(t));
      if (!std::holds_alternative<Constant>(tensor.generator)) continue;
      tensor.generator = FromFile{};
      some_freed = true;
    }
    // A mask of ones or a place in a cache is a number in this file and not in every call: folded away as that number,
    // it would seem that nothing hangs on it.
    if (some_freed) {
      if (const auto graph = Graph::Create(std::move(free))) {
        const auto trimmed = Trimmed(*graph);
        influences.merge(Analyzer(trimmed ? *trimmed : *graph).Influences());
      }
    }
    std::vector<std::string> names;
    for (const int t : ignored) {
      if (!influences.count(t)) names.push_back(graph_.problem().tensors[static_cast<std::size_t>(t)].name);
    }
    return names;
  }

  bool IsInput(int tensor) const {
    return graph_.problem().tensors[static_cast<std::size_t>(tensor)].role == Role::kInput;
  }

  // Flags at most one thing; true if the output varies with an input as far as is known.
  bool FlagOutput(const Tensor& output, int buffer) {
    const auto index = static_cast<std::size_t>(buffer);
    Flag flag{.output = output.name};
    if (const auto constant = symbolic_.Constant(buffer)) {
      flag.kind = *constant == 0 ? FlagKind::kZero : FlagKind::kConstant;
      flag.value = *constant;
      flag.reason = Reason(buffer);
      flags_.push_back(std::move(flag));
      return false;
    }
    const Range& range = ranges_.Of(buffer);
    const bool endless = range.low == range.high && std::isinf(range.low);
    if (IsFloat(output.dtype) && (range.nan || endless)) {
      flag.kind = FlagKind::kNotFinite;
      flag.reason = fmt::format("{} is {} for all inputs", NodeName(Culprit(buffer)), range.nan ? "NaN" : "infinite");
      flags_.push_back(std::move(flag));
      return false;
    }
    const auto& depends = depends_[index];
    if (std::none_of(depends.begin(), depends.end(), [&](int t) { return IsInput(t); })) {
      flag.kind = FlagKind::kIgnoresAll;
      for (const auto* tensor : graph_.problem().Inputs()) {
        if (tensor->role == Role::kInput) flag.inputs.push_back(tensor->name);
      }
      flag.reason = depends.empty() ? "nothing that is drawn reaches it" : "parameters alone reach it";
      // Without inputs (a graph of parameters only) there is nothing to ignore.
      if (!flag.inputs.empty()) flags_.push_back(std::move(flag));
      return false;
    }
    if (!IsFloat(output.dtype)) return true;
    const double tolerance = CommonTolerance(output.dtype);
    const double size = std::max(std::abs(range.low), std::abs(range.high));
    const double middle = (range.low + range.high) / 2, half = (range.high - range.low) / 2;
    const double deviation = std::sqrt(spread_.Of(buffer).most);
    if (size <= tolerance) {
      flag.kind = FlagKind::kNearlyZero;
      flag.within = size;
      flag.reason = fmt::format("its elements lie between {} and {}", Number(range.low), Number(range.high));
    } else if (std::isfinite(half) && half <= tolerance * (1 + std::abs(middle))) {
      flag.kind = FlagKind::kNearlyConstant;
      flag.within = half;
      flag.reason = fmt::format("its elements lie between {:.6g} and {:.6g}", range.low, range.high);
    } else if (kSpreadDeviations * deviation <= tolerance) {
      flag.kind = FlagKind::kNearlyConstant;
      flag.within = kSpreadDeviations * deviation;
      flag.reason = fmt::format(
          "when the inputs are drawn again and the parameters stay, its elements move by a standard deviation of about "
          "{}",
          Number(deviation));
    } else {
      return true;
    }
    flags_.push_back(std::move(flag));
    return true;
  }

  void FlagWork() {
    const auto live = LiveStages(graph_);
    double written = 0, saved = 0;
    for (std::size_t s = 0; s < live.size(); ++s) written += live[s] ? StageCost(graph_, s).flops() : 0;
    std::string reason;
    for (const Collapse& collapse : FindCollapses(graph_, symbolic_)) {
      const double less = collapse.flops_written - collapse.flops_needed;
      saved += less;
      if (less < 0.05 * written) continue;  // true, but not what it is about
      reason += (reason.empty() ? "" : "; ") + collapse.reason;
    }
    if (saved < kSavedAtLeast * written || reason.empty()) return;
    flags_.push_back({.kind = FlagKind::kCollapsible,
                      .output = {},
                      .inputs = {},
                      .flops_written = written,
                      .flops_needed = written - saved,
                      .reason = std::move(reason)});
  }

  // --- In words ---

  std::string NodeName(int buffer) const {
    const int made_by = graph_.buffers()[static_cast<std::size_t>(buffer)].stage;
    if (made_by < 0) return graph_.buffers()[static_cast<std::size_t>(buffer)].name;
    const int node = graph_.stages()[static_cast<std::size_t>(made_by)].node;
    if (node < 0) return "the copy of an output";
    return fmt::format("node {} ({})", node, graph_.problem().nodes[static_cast<std::size_t>(node)].op);
  }

  // The first buffer on the way here that is not finite.
  int Culprit(int buffer) const {
    const int made_by = graph_.buffers()[static_cast<std::size_t>(buffer)].stage;
    if (made_by < 0) return buffer;
    int found = buffer;
    Visit(graph_.stages()[static_cast<std::size_t>(made_by)].value, [&](const ExprNode& node) {
      if (node.kind != Expr::Kind::kLoad || node.buffer == buffer) return;
      const Range& range = ranges_.Of(node.buffer);
      if (range.nan || (range.low == range.high && std::isinf(range.low))) found = node.buffer;
    });
    return found == buffer ? buffer : Culprit(found);
  }

  std::string Reason(int buffer) const {
    const int made_by = graph_.buffers()[static_cast<std::size_t>(buffer)].stage;
    if (made_by < 0) return fmt::format("{} is drawn so", NodeName(buffer));
    const Why why = whys_[static_cast<std::size_t>(buffer)];
    const Stage& stage = graph_.stages()[static_cast<std::size_t>(made_by)];
    // The buffer that it comes from, if it is not made constant here: one that is constant and not so because it was
    // drawn so.
    int from = -1;
    int varying = -1;
    Visit(stage.value, [&](const ExprNode& node) {
      if (node.kind != Expr::Kind::kLoad || node.buffer == buffer) return;
      if (whys_[static_cast<std::size_t>(node.buffer)] != Why::kNot) from = node.buffer;
      if (!symbolic_.Constant(node.buffer)) varying = node.buffer;
    });
    if (why == Why::kRange && varying >= 0) {
      const Range& range = ranges_.Of(varying);
      return fmt::format("{} leaves nothing else of values between {} and {}", NodeName(buffer), Number(range.low),
                         Number(range.high));
    }
    if (why == Why::kFolds && from >= 0) {
      const std::string root = Reason(from);
      return graph_.stages()[static_cast<std::size_t>(graph_.buffers()[static_cast<std::size_t>(from)].stage)].node ==
                     stage.node
                 ? root
                 : fmt::format("{}, and what follows keeps it so", root.substr(0, root.find(", and what follows")));
    }
    return fmt::format("the terms of {} cancel{}", NodeName(buffer),
                       *symbolic_.Constant(buffer) == 0 ? "" : " but for a number");
  }

  const Graph& graph_;
  Symbolic symbolic_;
  Ranges ranges_;
  std::vector<std::set<int>> depends_;  // by buffer: the tensors of the problem that it hangs on
  Spread spread_;
  std::vector<Why> whys_;
  std::vector<Flag> flags_;
};

std::string Flops(double value) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  int prefix = 0;
  for (; value >= 999.5 && prefix < 5; ++prefix) value /= 1000;
  return fmt::format("{:.3g} {}FLOP", value, kPrefixes[prefix]);
}

// Where most of the work makes elements that no output reads. `trimmed`: the graph without them.
std::optional<Flag> Unread(const Graph& graph, const Graph& trimmed) {
  const auto live = LiveStages(graph), still = LiveStages(trimmed);
  double written = 0, needed = 0, most = 0;
  std::size_t worst = 0;
  for (std::size_t s = 0; s < live.size(); ++s) {
    const double before = live[s] ? StageCost(graph, s).flops() : 0;
    const double after = still[s] ? StageCost(trimmed, s).flops() : 0;
    written += before;
    needed += after;
    if (before - after <= most) continue;
    most = before - after;
    worst = s;
  }
  const int node = graph.stages()[worst].node;
  if (node < 0 || written - needed < kSavedAtLeast * written) return std::nullopt;
  return Flag{.kind = FlagKind::kCollapsible,
              .flops_written = written,
              .flops_needed = needed,
              .reason = fmt::format("no output reads most of what node {} ({}) makes", node,
                                    graph.problem().nodes[static_cast<std::size_t>(node)].op)};
}

}  // namespace

std::string_view Name(FlagKind kind) {
  constexpr std::string_view kNames[] = {"zero",          "constant",    "not-finite",      "ignores-all",
                                         "ignores-input", "nearly-zero", "nearly-constant", "collapsible"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string Names(const std::vector<Flag>& flags) {
  std::string names;
  for (const auto& flag : flags) {
    const std::string_view name = Name(flag.kind);
    if (names.find(name) != std::string::npos) continue;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

std::string Sentence(const Flag& flag) {
  std::string inputs;
  for (const auto& input : flag.inputs) inputs += (inputs.empty() ? "" : ", ") + input;
  const auto claim = [&]() -> std::string {
    switch (flag.kind) {
      case FlagKind::kZero: return fmt::format("output {} is zero", flag.output);
      case FlagKind::kConstant: return fmt::format("output {} is the constant {}", flag.output, Number(flag.value));
      case FlagKind::kNotFinite: return fmt::format("output {} is never finite", flag.output);
      case FlagKind::kIgnoresAll: return fmt::format("output {} does not hang on any input ({})", flag.output, inputs);
      case FlagKind::kIgnoresInput: return fmt::format("nothing hangs on {}", inputs);
      case FlagKind::kNearlyZero:
        return fmt::format("output {} is zero to within {}", flag.output, Number(flag.within));
      case FlagKind::kNearlyConstant:
        return fmt::format("output {} is constant to within {}", flag.output, Number(flag.within));
      case FlagKind::kCollapsible:
        return fmt::format("{} would do in place of {}", Flops(flag.flops_needed), Flops(flag.flops_written));
    }
    return "";
  };
  return fmt::format("{}: {}", claim(), flag.reason);
}

double CommonTolerance(DType dtype) { return dtype == DType::kF64 ? 1e-7 : IsSmallFloat(dtype) ? 1e-2 : 1e-4; }

std::vector<Flag> Analyze(const Graph& graph) {
  const auto trimmed = Trimmed(graph);  // what reaches elements that nobody reads reaches no output
  std::vector<Flag> flags = Analyzer(trimmed ? *trimmed : graph).Flags();
  auto unread = trimmed ? Unread(graph, *trimmed) : std::nullopt;
  // Of an output that hangs on nothing more is unread than not.
  const auto hangs_on_none = [](const Flag& flag) { return !flag.output.empty(); };
  if (unread && std::ranges::none_of(flags, hangs_on_none)) flags.push_back(*std::move(unread));
  return flags;
}

}  // namespace hone
