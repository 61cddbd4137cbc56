#include "dsl/cuda/sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "dsl/cuda/expr.h"
#include "dsl/cuda/nest_element.h"
#include "dsl/element.h"
#include "dsl/knobs.h"

namespace hone::dsl {
namespace {

using Kind = Expr::Kind;

constexpr std::int64_t kWarp = 32;
// Of a block that takes its part through time. More where warps read weights: that many loads are under way then.
constexpr std::int64_t kThreads = 512, kSharingThreads = 1024;
// Where all blocks share a step.
constexpr std::int64_t kSpreadThreads = 512;

std::size_t Along(const Kernel& kernel) { return static_cast<std::size_t>(kernel.attributes.at("along")[0]); }

// Whether a load of the member reads along dimension `d` of its own space at its own place.
bool AtOwnPlace(const ExprNode& load, const Kernel& member, std::size_t d) {
  const Expr& index = load.operands[d];
  return index->kind == Kind::kIndex && index->index.id == member.space[d].id;
}

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
        if (node.kind != Kind::kLoad) return;
        if (!targets.contains(member.operands[static_cast<std::size_t>(node.buffer)].buffer)) return;
        own &= AtOwnPlace(node, member, p);
      });
      return own;
    });
    if (free) free_dims.push_back(p);
  }
  return free_dims;
}

class SequenceWriter {
 public:
  SequenceWriter(std::span<const Kernel> members, DeviceWriter& out)
      : members_(members), leader_(members[0]), out_(out), free_dims_(FreeDims(members)) {
    for (const std::size_t p : free_dims_) {
      lanes_.push_back(leader_.space[p]);
      lane_count_ *= leader_.space[p].extent;
    }
    apart_ = std::all_of(members.begin(), members.end(), [&](const Kernel& member) { return Rest(member) == 1; });
    shares_ = std::any_of(members.begin(), members.end(),
                          [](const Kernel& member) { return DeviceExpr::HasSumsToShare(member.epilogue); });
    spread_ = !apart_ && WordSetting(leader_, "spread") == "yes";
    threads_ = apart_    ? std::min<std::int64_t>(IntSetting(leader_, "block"), 128)
               : spread_ ? kSpreadThreads
               : shares_ ? kSharingThreads
                         : kThreads;
    blocks_ = apart_ ? (lane_count_ + threads_ - 1) / threads_ : lane_count_;
    if (spread_) blocks_ = SpreadBlocks();
  }

  void Write() {
    std::string meeting;
    if (spread_) {
      meeting = out_.Scratch("meeting", DType::kI32, 1);
      out_.Call(MemsetStep{.buffer = meeting});
    }
    out_.BeginKernel("sequence", threads_);
    std::string lane;
    if (apart_) {
      lane = out_.OpenThreads("lane", lane_count_);
    } else if (!spread_) {
      lane = out_.Fresh("lane");
      out_.Line(fmt::format("const {} {} = blockIdx.x;", out_.index_type(), lane));
    }
    if (!spread_) NamePlaces(out_, leader_, lanes_, lane, lane_names_);
    if (spread_) {
      met_ = out_.Fresh("met");
      out_.Line(fmt::format("int {} = 0;", met_));
    }
    const IndexVar& step = leader_.space[Along(leader_)];
    time_ = out_.Fresh("t");
    const bool reversed = leader_.attributes.at("reversed")[0] != 0;
    out_.Open(reversed ? fmt::format("for (int {} = {}; {} >= 0; --{})", time_, step.extent - 1, time_, time_)
                       : fmt::format("for (int {} = 0; {} < {}; ++{})", time_, time_, step.extent, time_));
    for (std::size_t m = 0; m < members_.size(); ++m) {
      if (!pending_.empty() && !apart_ && !GoesOn(members_[m])) Meet(meeting);
      WriteMember(members_[m]);
      pending_.push_back(&members_[m]);
    }
    if (!apart_) Meet(meeting);
    out_.Close();
    out_.Begin(leader_);
    std::vector<int> writes;
    for (const auto& member : members_) writes.push_back(member.target);
    out_.Launch({.grid_x = blocks_,
                 .reads = OperandBuffers(members_),
                 .writes = writes,
                 .scratch_writes = spread_ ? std::vector{meeting} : std::vector<std::string>(),
                 .together = spread_ ? blocks_ : 1});
  }

 private:
  // Elements of a step of the member that a lane has.
  std::int64_t Rest(const Kernel& member) const {
    std::int64_t rest = 1;
    for (std::size_t d = 0; d < member.space.size(); ++d) {
      if (d != Along(member) && std::find(free_dims_.begin(), free_dims_.end(), d) == free_dims_.end())
        rest *= member.space[d].extent;
    }
    return rest;
  }
  static bool ByWarps(const Kernel& member) { return DeviceExpr::HasSumsToShare(member.epilogue); }

  // No more than have something to do in the largest member, and fewer than the device has multiprocessors: all wait
  // for each other, and some of them may be busy.
  std::int64_t SpreadBlocks() const {
    std::int64_t most = 1;
    for (const auto& member : members_) {
      const std::int64_t at_once = ByWarps(member) ? threads_ / kWarp : threads_;
      most = std::max(most, (lane_count_ * Rest(member) + at_once - 1) / at_once);
    }
    return std::min<std::int64_t>(most, leader_.device->multiprocessors * 17 / 20);
  }

  // Whether the threads may go on to this member without waiting for each other: each has the same elements as before,
  // and reads what was written since they met at its own element alone.
  bool GoesOn(const Kernel& member) const {
    return std::all_of(pending_.begin(), pending_.end(), [&](const Kernel* before) {
      if (ByWarps(member) || ByWarps(*before) || member.space.size() != before->space.size()) return false;
      for (std::size_t d = 0; d < member.space.size(); ++d) {
        if (member.space[d].extent != before->space[d].extent) return false;
      }
      bool own = true;
      Visit(member.epilogue, [&](const ExprNode& node) {
        if (node.kind != Kind::kLoad) return;
        if (member.operands[static_cast<std::size_t>(node.buffer)].buffer != before->target) return;
        for (std::size_t d = 0; d < member.space.size(); ++d) own &= AtOwnPlace(node, member, d);
      });
      return own;
    });
  }

  void Meet(const std::string& meeting) {
    if (spread_) {
      out_.Line(fmt::format("{} += {};", met_, blocks_));
      out_.Line(fmt::format("{}({}, {});", out_.Helper("MeetAll"), meeting, met_));
    } else {
      out_.Line("__syncthreads();");
    }
    pending_.clear();
  }

  void WriteMember(const Kernel& member) {
    out_.Begin(member);
    std::set<int> fixed{member.space[Along(member)].id};
    for (const std::size_t p : free_dims_) fixed.insert(member.space[p].id);
    const FlatElement element = MakeFlat(member, fixed);
    std::map<int, std::string> names{{member.space[Along(member)].id, time_}};
    std::string warp_lane;
    if (apart_) {
      out_.Open("");
      for (const auto& index : element.indices) names[index.id] = "0";
    } else {
      const std::int64_t rest = Rest(member);
      const std::int64_t at_once = ByWarps(member) ? threads_ / kWarp : threads_;
      const std::string at = out_.Fresh("at");
      std::string first = "static_cast<int>(threadIdx.x)";
      if (ByWarps(member)) {
        // A row of weights each: a warp reads what lies side by side.
        first += fmt::format(" / {}", kWarp);
        warp_lane = out_.Fresh("lane");
        out_.Line(fmt::format("const int {} = threadIdx.x % {};", warp_lane, kWarp));
        out_.Line("#pragma unroll 2");
      }
      if (spread_) first += fmt::format(" + static_cast<int>(blockIdx.x) * {}", at_once);
      out_.Open(fmt::format("for (int {0} = {1}; {0} < {2}; {0} += {3})", at, first,
                            spread_ ? rest * lane_count_ : rest, spread_ ? at_once * blocks_ : at_once));
      if (spread_) {
        lane_names_.clear();
        NamePlaces(out_, leader_, lanes_, fmt::format("({} / {})", at, rest), lane_names_);
      }
      NamePlaces(out_, member, element.indices, spread_ ? fmt::format("({} % {})", at, rest) : at, names);
    }
    for (const std::size_t p : free_dims_) names[member.space[p].id] = lane_names_.at(leader_.space[p].id);
    WriteElement(out_, member, element, names, {.lane = warp_lane});
    out_.Close();
  }

  const std::span<const Kernel> members_;
  const Kernel& leader_;
  DeviceWriter& out_;
  const std::vector<std::size_t> free_dims_;
  std::vector<IndexVar> lanes_;  // of the free dimensions
  std::int64_t lane_count_ = 1;
  bool apart_ = false, shares_ = false, spread_ = false;
  std::int64_t threads_ = 1, blocks_ = 1;
  std::map<int, std::string> lane_names_;
  std::string time_, met_;
  std::vector<const Kernel*> pending_;  // written since the threads last met
};

}  // namespace

void EmitSequence(std::span<const Kernel> members, DeviceWriter& out) {
  for (const auto& member : members) {
    for (const auto& index : member.space) {
      if (index.extent == 0) return;
    }
  }
  SequenceWriter(members, out).Write();
}

}  // namespace hone::dsl
