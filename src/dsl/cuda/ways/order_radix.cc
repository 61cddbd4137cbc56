// For whole rows, however long: radix sort, by the bits in which a row's keys differ (dsl/cuda/order_radix.cuh). Of
// 32768 experts' numbers below 64 that is one digit, of random f32 four. One kernel: the blocks of a row wait for each
// other between its steps.
#include <fmt/format.h>

#include <algorithm>

#include "dsl/cuda/nest_element.h"
#include "dsl/cuda/order.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone {
extern const std::string_view kOrderText;       // dsl/cuda/order.cuh
extern const std::string_view kOrderRadixText;  // dsl/cuda/order_radix.cuh
}  // namespace hone

namespace hone::dsl::cuda_way_order_radix {
namespace {

constexpr std::int64_t kThreads = 256;  // as many as a digit has values
constexpr std::int64_t kMostElements = std::int64_t{1} << 30;

std::int64_t TilesOf(const Kernel& kernel, std::int64_t each) {
  return std::max<std::int64_t>((Ordering(kernel).along.extent + each * kThreads - 1) / (each * kThreads), 1);
}

// The most with which every multiprocessor has a tile first.
std::vector<Setting> EachValues(const Kernel& kernel) {
  const std::int64_t most = HasWideKey(kernel) ? 8 : 16, rows = Ordering(kernel).rows;
  std::int64_t best = 4;
  for (std::int64_t each = 4; each <= most; each *= 2) {
    if (rows * TilesOf(kernel, each) >= kernel.device->multiprocessors) best = each;
  }
  std::vector<Setting> values = {Whole(best)};
  for (std::int64_t each = 4; each <= most; each *= 2) {
    if (each != best) values.push_back(Whole(each));
  }
  return values;
}
std::optional<std::string> CheckEach(const Kernel& kernel, const Setting& value) {
  const auto* each = std::get_if<std::int64_t>(&value.value);
  const bool wide = HasWideKey(kernel);
  if (each && (*each == 4 || *each == 8 || (*each == 16 && !wide))) return std::nullopt;
  return wide ? "it is 4 or 8, where keys have 64 bits; try 8" : "it is 4, 8 or 16; try 8";
}

// Of a multiprocessor, as registers allow without spills. A million f32 take 102 us by two blocks and 117 by three,
// rows that stay in shared memory 119 and 112 (one H100, 2026-11-27).
int BlocksOf(std::int64_t each, bool stays) { return each == 16 ? (stays ? 3 : 2) : 4; }
// Blocks that wait for each other all have to run: a few multiprocessors may be busy. No more than four: a million f32
// are 256 tiles of 16 elements a thread, for which two blocks of each of 128 multiprocessors are enough.
std::int64_t MostTeam(const Kernel& kernel) {
  constexpr std::int64_t kCounts = 11 << 10;  // bytes of a block's shared memory beside a tile
  const std::int64_t each = IntSetting(kernel, "each");
  const std::int64_t bytes = kThreads * each * (HasWideKey(kernel) ? 12 : 8) + kCounts;
  const MultiprocessorLimits& limits = kernel.device->limits;
  const std::int64_t blocks =
      std::clamp<std::int64_t>(limits.shared_bytes / (bytes + limits.reserved_shared_bytes), 1, BlocksOf(each, false));
  return std::min<std::int64_t>(TilesOf(kernel, each), std::max(kernel.device->multiprocessors - 4, 1) * blocks);
}
std::vector<Setting> TeamValues(const Kernel& kernel) {
  constexpr std::int64_t kBlocks = 2;  // of a multiprocessor
  const std::int64_t rows = std::max<std::int64_t>(Ordering(kernel).rows, 1), most = MostTeam(kernel);
  const std::int64_t best =
      std::clamp<std::int64_t>(kernel.device->multiprocessors * kBlocks / rows, 1, std::max<std::int64_t>(most, 1));
  std::vector<Setting> values = {Whole(best)};
  for (const std::int64_t team : {best / 2, best * 2, best / 4}) {
    if (team >= 1 && team <= most) values.push_back(Whole(team));
  }
  return values;
}
std::optional<std::string> CheckTeam(const Kernel& kernel, const Setting& value) {
  const std::int64_t most = MostTeam(kernel);
  if (CheckRange(value, 1, most))
    return fmt::format("it is at most {}, as a row has so many tiles, or so many blocks run at once; try {}", most,
                       most);
  return std::nullopt;
}

constexpr Knob kKnobs[] = {
    {"each", "elements of a tile that a thread has", EachValues, CheckEach},
    {"team", "blocks that share a row", TeamValues, CheckTeam},
};

// The bits of a key that say something: of an element that is loaded as it is, those that its type has.
std::string SignificantBits(const Kernel& kernel) {
  if (HasWideKey(kernel)) return "~0ul";
  const Expr& value = kernel.inputs[0];
  if (value->kind != Expr::Kind::kLoad) return "~0u";
  switch (kernel.operand_types[static_cast<std::size_t>(value->buffer)]) {
    case DType::kBF16: return "0xffff0000u";
    case DType::kF16: return "0xffffe000u";
    case DType::kI16: return "0x80007fffu";
    case DType::kI8: return "0x8000007fu";
    default: return "~0u";
  }
}

class RadixWriter {
 public:
  RadixWriter(const Kernel& kernel, DeviceWriter& out)
      : kernel_(kernel),
        out_(out),
        order_(kernel),
        each_(IntSetting(kernel, "each")),
        wide_(HasWideKey(kernel)),
        key_(wide_ ? "unsigned long" : "unsigned") {
    const std::int64_t all = TilesOf(kernel, each_);
    tiles_ = (all + IntSetting(kernel, "team") - 1) / IntSetting(kernel, "team");
    team_ = (all + tiles_ - 1) / tiles_;
  }

  void Write() {
    const std::int64_t row = order_.along.extent;
    if (order_.rows == 0 || row == 0) return;
    out_.Define(std::string(kOrderText));
    out_.Helper("MeetAll");
    out_.Define(std::string(kOrderRadixText));
    const DType key_type = wide_ ? DType::kI64 : DType::kI32;
    const std::string kept = out_.Scratch("kept", key_type, order_.rows * row * 2);
    const std::string kept_at = out_.Scratch("kept_at", DType::kI32, order_.rows * row * 2);
    std::string meeting, counts, bits;
    if (team_ > 1) {
      meeting = out_.Scratch("meeting", DType::kI64, 1 + order_.rows);
      counts = out_.Scratch("counts", DType::kI32, order_.rows * team_ * kThreads);
      bits = out_.Scratch("bits", key_type, order_.rows * team_ * 2);
      out_.Call(MemsetStep{.buffer = meeting});
    }
    out_.BeginKernel("radix", kThreads, BlocksOf(each_, team_ * tiles_ == 1));
    const std::string at = out_.Fresh("at"), member = out_.Fresh("member");
    if (team_ > 1) {
      const std::string number = out_.Fresh("number");
      out_.Line(fmt::format("const int {} = {}({});", number, out_.Helper("NextNumber"), meeting));
      out_.Line(fmt::format("const int {} = {} % {};", member, number, team_));
      out_.Line(fmt::format("const {} {} = {} / {};", out_.index_type(), at, number, team_));
    } else {
      out_.Line(fmt::format("const {} {} = blockIdx.x;", out_.index_type(), at));
    }
    std::map<int, std::string> names;
    NamePlaces(out_, kernel_, order_.others, at, names);
    const auto of_row = [&](const std::string& memory, std::int64_t each) {
      return fmt::format("{} + static_cast<long>({}) * {}", memory, at, each);
    };
    const auto as_keys = [&](const std::string& memory) {
      return fmt::format("reinterpret_cast<{}*>({})", key_, memory);
    };
    const std::string none = "nullptr";
    out_.Open("const auto key_at = [&](int there)");
    names[order_.along.id] = "there";
    out_.Line(fmt::format("return {};", KeyText(out_, kernel_, names)));
    out_.CloseWith(";");
    names.erase(order_.along.id);
    out_.Open(fmt::format("const auto end = [&](int place, {} key, int from)", key_));
    if (order_.place.extent < row) out_.Line(fmt::format("if (place >= {}) return;", order_.place.extent));
    names[order_.place.id] = "place";
    const std::string element = ElementOfKey(out_, kernel_, names, "key", "from");
    WriteOrdered(out_, kernel_, names, "static_cast<long>(from)", element);
    out_.CloseWith(";");
    out_.Line(fmt::format("SortByDigits<{}, {}, {}>({}, {}, {}, {}, {}, {}, {}, {}, key_at, end);", team_, tiles_,
                          each_, team_ > 1 ? member : "0", row,
                          team_ > 1 ? fmt::format("reinterpret_cast<int*>({} + 1 + {})", meeting, at) : none,
                          team_ > 1 ? of_row(counts, team_ * kThreads) : none,
                          team_ > 1 ? of_row(as_keys(bits), team_ * 2) : fmt::format("static_cast<{}*>(nullptr)", key_),
                          of_row(as_keys(kept), 2 * row), of_row(kept_at, 2 * row), SignificantBits(kernel_)));
    DeviceWriter::LaunchShape shape{.grid_x = order_.rows * team_,
                                    .reads = BuffersOf(kernel_, kernel_.inputs[0]),
                                    .writes = TargetsOf(kernel_),
                                    .scratch_writes = {kept, kept_at},
                                    .together = team_};
    for (const int buffer : ReadsOfOrdered(kernel_, true)) shape.reads.push_back(buffer);
    if (team_ > 1) shape.scratch_writes.insert(shape.scratch_writes.end(), {meeting, counts, bits});
    out_.Launch(shape);
  }

 private:
  const Kernel& kernel_;
  DeviceWriter& out_;
  const Ordering order_;
  const std::int64_t each_;
  const bool wide_;
  const std::string key_;
  std::int64_t tiles_ = 1, team_ = 1;
};

std::optional<std::string> WhyNot(const Kernel& kernel) {
  const Ordering order(kernel);
  if (order.rows * order.along.extent >= kMostElements) return "there are too many elements to be sorted";
  return std::nullopt;
}

}  // namespace

HONE_ROW(Way){
    .family = "order",
    .name = "radix",
    .doc = "for whole rows: radix sort by the bits in which keys differ, by a team of blocks a row",
    .why_not = WhyNot,
    .cost = [](const Kernel&) { return std::optional<double>(3); },
    .knobs = kKnobs,
    .emit_cuda = [](const KernelProgram&, const Kernel& kernel,
                    DeviceWriter& out) { RadixWriter(kernel, out).Write(); },
};

}  // namespace hone::dsl::cuda_way_order_radix
