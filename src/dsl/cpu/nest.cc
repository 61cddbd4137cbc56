#include "dsl/cpu/nest.h"

#include <fmt/format.h>

#include <algorithm>

#include "dsl/cpu/loop_text.h"
#include "dsl/cpu/nest_element.h"
#include "dsl/family.h"

namespace hone::dsl {
namespace {

using Kind = Expr::Kind;

// Operations below which a step of a sequence is not worth a barrier, which costs some microseconds.
constexpr double kSmallStep = 30e3;

class SequenceWriter {
 public:
  SequenceWriter(const KernelProgram& program, std::size_t first, std::size_t end, Writer& writer)
      : program_(program), first_(first), end_(end), writer_(writer), leader_(program.kernels[first]) {}

  void Write() {
    const auto along = Along(leader_);
    const IndexVar& step = leader_.space[along];
    double work = 0;
    for (std::size_t m = first_; m < end_; ++m) {
      const Kernel& member = program_.kernels[m];
      for (const auto& index : member.space) {
        if (index.extent == 0) return Nothing();
      }
      work += member.family->flops(member);
    }
    FindFree();
    std::int64_t outer = 1;
    for (const auto p : outer_) outer *= leader_.space[p].extent;
    const bool wide = writer_.parallel();
    const bool cut = wide && lane_ >= 0 && outer < kFewOuter && LaneExtent() >= 2 * kCut;
    const bool shared = wide && (outer > 1 || cut);
    const bool region =
        wide && !shared && work / static_cast<double>(std::max<std::int64_t>(step.extent, 1)) > kSmallStep;
    if (wide && !shared && !region) writer_.Line("(void)threads;");
    // The names of what is open are the leader's, for all members.
    ElementWriter names(program_, leader_, writer_);
    std::map<std::size_t, std::string> name;
    int opened = 0;
    const std::size_t loops = outer_.size() + (cut ? 1 : 0);
    if (shared) {
      writer_.Line(fmt::format("#pragma omp parallel for{} num_threads({}) schedule(static)",
                               loops > 1 ? fmt::format(" collapse({})", loops) : "", writer_.ThreadsText()));
    }
    if (region) {
      writer_.Line(fmt::format("#pragma omp parallel num_threads({})", writer_.ThreadsText()));
      writer_.Open("");
      ++opened;
    }
    for (const auto p : outer_) {
      name[p] = names.NameOf(leader_.space[p]);
      writer_.Open(For(name[p], leader_.space[p].extent));
      ++opened;
    }
    Span span;
    if (cut) {
      const std::string lane = names.NameOf(leader_.space[static_cast<std::size_t>(lane_)]);
      name[static_cast<std::size_t>(lane_)] = lane;
      span = {.begin = writer_.Fresh(lane + "0"), .end = writer_.Fresh(lane + "_end"), .size = kCut};
      const std::int64_t extent = LaneExtent();
      writer_.Open(
          fmt::format("for (long {} = 0; {} < {}; {} += {})", span.begin, span.begin, extent, span.begin, kCut));
      writer_.Line(fmt::format("const long {} = {} + {} < {} ? {} + {} : {};", span.end, span.begin, kCut, extent,
                               span.begin, kCut, extent));
      ++opened;
    }
    const std::string t = names.NameOf(step);
    const bool reversed = leader_.attributes.at("reversed")[0] != 0;
    writer_.Open(reversed ? fmt::format("for (long {} = {}; {} >= 0; --{})", t, step.extent - 1, t, t)
                          : For(t, step.extent));
    ++opened;
    for (std::size_t m = first_; m < end_; ++m) {
      const Kernel& member = program_.kernels[m];
      writer_.Begin(member);
      ElementWriter element(program_, member, writer_);
      element.Open(member.space[Along(member)], t);
      for (const auto p : outer_) element.Open(member.space[p], name[p]);
      if (cut) element.Cut(member.space[static_cast<std::size_t>(lane_)], name[static_cast<std::size_t>(lane_)], span);
      const bool block = end_ - first_ > 1;
      if (block) writer_.Open("");
      element.Write(region ? Share::kRegion : Share::kAlone);
      if (block) writer_.Close();
    }
    writer_.Begin(leader_);
    while (opened-- > 0) writer_.Close();
  }

 private:
  void Nothing() {
    if (writer_.parallel()) writer_.Line("(void)threads;");
  }
  static constexpr std::int64_t kCut = 128;  // elements of the innermost dimension that one thread takes through time

  static std::size_t Along(const Kernel& kernel) { return static_cast<std::size_t>(kernel.attributes.at("along")[0]); }
  std::int64_t LaneExtent() const { return leader_.space[static_cast<std::size_t>(lane_)].extent; }

  // The dimensions along which the members do not look at each other: threads share those out, without barriers.
  void FindFree() {
    const std::size_t along = Along(leader_);
    std::set<int> targets;
    bool same_rank = true;
    for (std::size_t m = first_; m < end_; ++m) {
      targets.insert(program_.kernels[m].target);
      same_rank &= program_.kernels[m].space.size() == leader_.space.size();
    }
    for (std::size_t p = 0; p < leader_.space.size(); ++p) {
      if (p == along) continue;
      bool free = true;
      for (std::size_t m = first_; m < end_ && free; ++m) {
        const Kernel& member = program_.kernels[m];
        free = Along(member) == along && p < member.space.size() && member.space[p].extent == leader_.space[p].extent;
        if (!free) break;
        Visit(member.epilogue, [&](const ExprNode& node) {
          if (node.kind != Kind::kLoad) return;
          if (!targets.contains(member.operands[static_cast<std::size_t>(node.buffer)].buffer)) return;
          const Expr& index = node.operands[p];
          free &= index->kind == Kind::kIndex && index->index.id == member.space[p].id;
        });
      }
      if (!free) continue;
      if (same_rank && p + 1 == leader_.space.size() && leader_.space[p].extent > 1)
        lane_ = static_cast<int>(p);
      else
        outer_.push_back(p);
    }
  }

  const KernelProgram& program_;
  std::size_t first_, end_;
  Writer& writer_;
  const Kernel& leader_;
  std::vector<std::size_t> outer_;
  int lane_ = -1;  // the innermost dimension, if it is one of those
};

}  // namespace

void EmitNest(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  if (kernel.attributes.contains("sequence")) {
    const auto which = static_cast<std::size_t>(&kernel - program.kernels.data());
    return SequenceWriter(program, which, SequenceEnd(program, which), writer).Write();
  }
  for (const auto& index : kernel.space) {
    if (index.extent != 0) continue;
    if (writer.parallel()) writer.Line("(void)threads;");
    return;
  }
  ElementWriter(program, kernel, writer).Write(Share::kWake);
}

}  // namespace hone::dsl
