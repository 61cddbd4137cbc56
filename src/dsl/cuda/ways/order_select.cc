// For a few of many: a team, a warp or a block, holds a row in registers and finds the limit of what is wanted, bit by
// bit; what lies below is sorted by its registers. Of a longer row each part gives what may be among the first to
// memory, by the limit that another part has found where there is one, and a further kernel goes over that as if it
// were the row: as many as it takes.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/rounding.h"
#include "dsl/cuda/nest_element.h"
#include "dsl/cuda/order.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone {
extern const std::string_view kOrderText;  // dsl/cuda/order.cuh
}

namespace hone::dsl::cuda_way_order_select {
namespace {

constexpr std::int64_t kMostWanted = 2048;  // they are sorted by a block
constexpr std::int64_t kMostElements = std::int64_t{1} << 30;
constexpr std::int64_t kWholeRow = 16384;  // up to here a row is not worth cutting, even where there are few
constexpr std::int64_t kOfWarp = 1024;     // elements of which a warp has 32 a lane

std::int64_t PowerOfTwo(std::int64_t least) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(least)));
}

// What goes to memory of a part. Some more than are wanted: the limit need not be known to the last bit then.
std::int64_t RoomFor(std::int64_t wanted) { return RoundUp(wanted + wanted / 4 + 32, 32); }

std::vector<Setting> PartValues(const Kernel& kernel) {
  const Ordering order(kernel);
  if (order.along.extent <= kWholeRow) return {};
  // So long that a kernel has much less to look at than the one before it.
  const std::int64_t room = RoomFor(order.place.extent);
  std::vector<Setting> values = {Whole(8 * room <= 8192 ? 8192 : 16384)};
  for (const std::int64_t part : {16384, 8192, 4096}) {
    if (part >= 2 * room && !(Whole(part) == values[0])) values.push_back(Whole(part));
  }
  return values;
}
std::optional<std::string> CheckPart(const Kernel& kernel, const Setting& value) {
  const auto* part = std::get_if<std::int64_t>(&value.value);
  const std::int64_t least = std::max<std::int64_t>(2048, PowerOfTwo(2 * RoomFor(Ordering(kernel).place.extent)));
  if (!part || *part < least || *part > 16384 || *part != PowerOfTwo(*part))
    return fmt::format("it is a power of two from {} to 16384; try 8192", least);
  return std::nullopt;
}

std::vector<Setting> EachValues(const Kernel& kernel) {
  if (Ordering(kernel).along.extent <= kOfWarp) return {};
  return {Whole(16), Whole(8), Whole(32)};
}
std::optional<std::string> CheckEach(const Kernel&, const Setting& value) {
  const auto* each = std::get_if<std::int64_t>(&value.value);
  if (!each || *each < 4 || *each > 32 || *each != PowerOfTwo(*each)) return "it is 4, 8, 16 or 32; try 16";
  return std::nullopt;
}

constexpr Knob kKnobs[] = {
    {"each", "elements that a thread has in registers, at least where a block has a row or a part of one", EachValues,
     CheckEach},
    {"part", "elements of a long row that a block looks at", PartValues, CheckPart},
};

class SelectWriter {
 public:
  SelectWriter(const Kernel& kernel, DeviceWriter& out)
      : kernel_(kernel), out_(out), order_(kernel), wide_(HasWideKey(kernel)), wanted_(order_.place.extent) {}

  void Write() {
    if (order_.rows == 0) return;
    out_.Define(std::string(kOrderText));
    const bool of_blocks = order_.along.extent > kOfWarp;
    const std::int64_t each = of_blocks ? IntSetting(kernel_, "each") : 1;
    key_ = wide_ ? "unsigned long" : "unsigned";
    const std::int64_t most = wide_ ? kWholeRow : 2 * kWholeRow, room = RoomFor(wanted_);
    std::int64_t row = order_.along.extent;
    for (bool first = true; row > (first ? kWholeRow : most); first = false) {
      const std::int64_t part = IntSetting(kernel_, "part"), parts = (row + part - 1) / part;
      const std::int64_t warps = std::min<std::int64_t>(32, part / 32 / each);
      Level(row, {.warps = warps, .each = part / 32 / warps, .parts = parts}, room);
      row = parts * room;
    }
    Team team;
    if (row > kOfWarp) team.warps = std::clamp<std::int64_t>(PowerOfTwo((row + 32 * each - 1) / 32 / each), 2, 32);
    team.each = (row + 32 * team.warps - 1) / 32 / team.warps;
    Level(row, team, PowerOfTwo(std::max<std::int64_t>(wanted_, 2)));
  }

 private:
  struct Team {
    std::int64_t warps = 1, each = 1, parts = 0;  // parts: of a row, each with a team of its own; 0: it is not cut
  };

  // One kernel over rows of so many elements: those of the operand, or what the one before has found.
  void Level(std::int64_t row, const Team& team, std::int64_t room) {
    const bool first = found_.empty(), last = team.parts == 0;
    const std::int64_t parts = std::max<std::int64_t>(1, team.parts), teams = order_.rows * parts;
    const std::int64_t in_block = team.warps == 1 ? 4 : 1, threads = in_block * team.warps * 32;
    const bool picks = last && first && team.warps == 1 && !wide_ && wanted_ <= 32 &&
                       wanted_ * (3 * team.each + 12) < 32 * (2 * team.each + 8);
    const std::string from = found_, from_places = found_places_;
    out_.BeginKernel(last ? "first" : "found", threads);
    out_.Line("const int lane = threadIdx.x % 32;");
    const std::string number = out_.Fresh("team"), row_name = out_.Fresh("row");
    const std::string index = out_.index_type();
    if (in_block == 1) {
      if (parts == 1) out_.Line(fmt::format("const {} {} = blockIdx.x;", index, number));
    } else {
      out_.Line(fmt::format("const {0} {1} = static_cast<{0}>(blockIdx.x) * {2} + static_cast<int>(threadIdx.x / 32);",
                            index, number, in_block));
      if (teams % in_block != 0) out_.Line(fmt::format("if ({} >= {}) return;", number, teams));
    }
    if (parts > 1) {
      // Parts of all rows in turn: those that come later find what the first have reached.
      out_.Line(fmt::format("const {} {} = blockIdx.x % {};", index, row_name, order_.rows));
      out_.Line(fmt::format("const {0} {1} = {2} * {3} + static_cast<{0}>(blockIdx.x / {4});", index, number, row_name,
                            parts, order_.rows));
    } else {
      out_.Line(fmt::format("const {} {} = {};", index, row_name, number));
    }
    out_.Line(fmt::format(
        "const int begin = {}{};",
        parts > 1 ? fmt::format("static_cast<int>({} % {}) * {}", number, parts, team.warps * team.each * 32) : "0",
        team.warps > 1 ? fmt::format(" + static_cast<int>(threadIdx.x / 32) * {}", team.each * 32) : ""));
    std::map<int, std::string> names;
    NamePlaces(out_, kernel_, order_.others, row_name, names);
    Keys(first, row, team.each, row_name, names);
    if (picks) {
      out_.Line(fmt::format("const int picked = PickFirst(keys, {});", wanted_));
      out_.Open(fmt::format("if (lane < {})", wanted_));
      names[order_.place.id] = "lane";
      WriteOrdered(out_, kernel_, names, "static_cast<long>(picked)");
      out_.Close();
    } else {
      const std::string elsewhere = first ? "at" : fmt::format("{}[{} * {} + at]", from_places, row_name, row);
      out_.Open("const auto place = [&](int e)");
      out_.Line("const int at = begin + e * 32 + lane;");
      out_.Line(fmt::format("return at < {} ? {} : kNoPlace;", row, elsewhere));
      out_.CloseWith(";");
      last ? Last(team, in_block, row, room, names) : NotLast(team, number, row_name, teams, room);
    }
    DeviceWriter::LaunchShape shape{.grid_x = (teams + in_block - 1) / in_block};
    if (first) shape.reads = BuffersOf(kernel_, kernel_.inputs[0]);
    if (last) {
      const std::vector<int> more = ReadsOfOrdered(kernel_, first);
      shape.reads.insert(shape.reads.end(), more.begin(), more.end());
      shape.writes = TargetsOf(kernel_);
    } else {
      shape.scratch_writes = {found_, found_places_};
      if (!reached_.empty()) shape.scratch_writes.push_back(reached_);
    }
    if (!first) shape.scratch_reads = {from, from_places};
    out_.Launch(shape);
  }

  // The team's elements as `keys`. Where the operand has all of them nobody asks of each whether it is there.
  void Keys(bool first, std::int64_t row, std::int64_t each, const std::string& row_name,
            const std::map<int, std::string>& names) {
    out_.Line(fmt::format("{} keys[{}];", key_, each));
    if (first) {
      out_.Open(fmt::format("if (begin + {} <= {})", each * 32, row));
      EachKey(first, row, each, row_name, names, "at");
      out_.Close();
      out_.Open("else");
    }
    EachKey(first, row, each, row_name, names, fmt::format("min(at, {})", row - 1));
    out_.Unroll();
    out_.Line(fmt::format("for (int e = 0; e < {}; ++e) keys[e] = begin + e * 32 + lane < {} ? keys[e] : ~{}(0);", each,
                          row, wide_ ? "static_cast<unsigned long>" : "static_cast<unsigned>"));
    if (first) out_.Close();
  }
  void EachKey(bool first, std::int64_t row, std::int64_t each, const std::string& row_name,
               std::map<int, std::string> names, const std::string& there) {
    out_.Unroll();
    out_.Open(fmt::format("for (int e = 0; e < {}; ++e)", each));
    out_.Line("const int at = begin + e * 32 + lane;");
    out_.Line(fmt::format("const int there = {};", there));
    if (first) {
      names[order_.along.id] = "there";
      out_.Line(fmt::format("keys[e] = {};", KeyText(out_, kernel_, names)));
    } else {
      out_.Line(fmt::format("keys[e] = static_cast<{}>({}[{} * {} + there]);", key_, found_, row_name, row));
    }
    out_.Close();
  }

  // What may be among the first goes to memory.
  void NotLast(const Team& team, const std::string& number, const std::string& row_name, std::int64_t teams,
               std::int64_t room) {
    found_ = out_.Scratch("kept", wide_ ? DType::kI64 : DType::kI32, teams * room);
    found_places_ = out_.Scratch("kept_places", DType::kI32, teams * room);
    out_.Line(fmt::format("auto* const found = {} + {} * {};", found_, number, room));
    out_.Line(fmt::format("int* const found_at = {} + {} * {};", found_places_, number, room));
    // Parts that all begin at once would learn nothing from one another: 32 rows of 32000 take 14 us so, 18 not so.
    reached_.clear();
    if (teams > 2 * kernel_.device->multiprocessors) {
      reached_ = out_.Scratch("reached", wide_ ? DType::kI64 : DType::kI32, order_.rows);
      out_.Call(MemsetStep{.buffer = reached_, .byte = 255});
    }
    Find(team, room, wide_ ? "static_cast<long>(keys[e])" : "static_cast<int>(keys[e])",
         reached_.empty() ? "" : fmt::format(", reinterpret_cast<{}*>({}) + {}", key_, reached_, row_name));
    out_.Open(fmt::format("for (int i = count + threadIdx.x; i < {}; i += {})", room, team.warps * 32));
    out_.Line("found[i] = -1;");
    out_.Line("found_at[i] = kNoPlace;");
    out_.Close();
  }

  void Last(const Team& team, std::int64_t in_block, std::int64_t row, std::int64_t room,
            std::map<int, std::string> names) {
    out_.Line(fmt::format("__shared__ {} all_found[{}];", key_, in_block * room));
    out_.Line(fmt::format("__shared__ int all_found_at[{}];", in_block * room));
    const std::string own = in_block == 1 ? "" : fmt::format(" + threadIdx.x / 32 * {}", room);
    out_.Line(fmt::format("{}* const found = all_found{};", key_, own));
    out_.Line(fmt::format("int* const found_at = all_found_at{};", own));
    wanted_ == row ? TakeAll(team, room) : Find(team, room, "keys[e]");
    const std::string mine = team.warps == 1 ? "lane" : "static_cast<int>(threadIdx.x)";
    out_.Open(fmt::format("for (int i = count + {}; i < {}; i += {})", mine, room, team.warps * 32));
    out_.Line(fmt::format("found[i] = ~static_cast<{}>(0);", key_));
    out_.Line("found_at[i] = kNoPlace;");
    out_.Close();
    out_.Line(fmt::format("SortFirst<{}, {}>(found, found_at);", room, team.warps));
    WriteSorted(out_, kernel_, names, mine, team.warps * 32);
  }

  // "const int count = FindFirst...", which puts what is found to `found` and `found_at`.
  void Find(const Team& team, std::int64_t room, const std::string& key, const std::string& reached = "") {
    out_.Open(fmt::format("const int count = FindFirst<{}, {}>(keys, {}, {}, place, [&](int n, int e)", team.each,
                          team.warps, wanted_, room));
    out_.Line(fmt::format("found[n] = {};", key));
    out_.Line("found_at[n] = place(e);");
    out_.CloseWith(reached + ");");
  }

  // The same where all are wanted.
  void TakeAll(const Team& team, std::int64_t room) {
    const std::int64_t all = team.warps * team.each * 32;
    out_.Line(fmt::format("const int count = {};", std::min(all, room)));
    out_.Unroll();
    out_.Open(fmt::format("for (int e = 0; e < {}; ++e)", team.each));
    out_.Line("const int n = begin + e * 32 + lane;");
    if (all > room) out_.Line(fmt::format("if (n >= {}) continue;", room));
    out_.Line("found[n] = keys[e];");
    out_.Line("found_at[n] = place(e);");
    out_.Close();
  }

  const Kernel& kernel_;
  DeviceWriter& out_;
  const Ordering order_;
  const bool wide_;
  const std::int64_t wanted_;
  std::string key_;
  std::string found_, found_places_;  // of the kernel before
  std::string reached_;               // by row: what its parts have found out (FindFirst)
};

std::optional<std::string> WhyNot(const Kernel& kernel) {
  const Ordering order(kernel);
  if (order.place.extent > kMostWanted)
    return fmt::format("{} of a row are wanted, and {} at most are sorted in shared memory", order.place.extent,
                       kMostWanted);
  if (order.along.extent >= kMostElements) return "rows are too long";
  return std::nullopt;
}

}  // namespace

HONE_ROW(Way){
    .family = "order",
    .name = "select",
    .doc = "for few of many: a warp or a block finds them by their bits and sorts them; long rows in parts",
    .why_not = WhyNot,
    .knobs = kKnobs,
    .emit_cuda = [](const KernelProgram&, const Kernel& kernel,
                    DeviceWriter& out) { SelectWriter(kernel, out).Write(); },
};

}  // namespace hone::dsl::cuda_way_order_select
