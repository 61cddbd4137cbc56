// For hundreds of many thousands: a sample of a row says below which limit there are a little more than are wanted. All
// that is not above it goes to memory in whatever order, and is sorted there with its places. Of some rows a sample
// says too little: many are equal, or it was no fair one. Then too few or too many are found, and a block looks at the
// whole row, bit by bit. So what is found never hangs on the sample, only how fast.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "dsl/cuda/nest_element.h"
#include "dsl/cuda/order.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone {
extern const std::string_view kOrderText;  // dsl/cuda/order.cuh
}

namespace hone::dsl::cuda_way_order_sample {
namespace {

constexpr std::int64_t kLeastRow = 32768, kMostElements = std::int64_t{1} << 30;
constexpr std::int64_t kSharedBytes = 40 << 10;  // what is sorted
constexpr std::int64_t kSideBySide = 8;          // elements of a sample: of f32 what a read of memory brings

std::int64_t KeyBytes(const Kernel& kernel) { return HasWideKey(kernel) ? 8 : 4; }

// What comes of a sample of so many elements.
struct Sampling {
  std::int64_t rank = 0, most = 0;  // of the limit, in the sample
  std::int64_t room = 0;            // for what is found of a row: a power of two
};
Sampling SamplingOf(const Kernel& kernel, std::int64_t sample) {
  // Ranks of a sample spread as its counts do: too few are found of one row in some ten thousand.
  constexpr double kLow = 3.8, kHigh = 4.5;
  const Ordering order(kernel);
  const double scale = static_cast<double>(order.along.extent) / static_cast<double>(sample);
  const double expected = static_cast<double>(order.place.extent) / scale;
  Sampling sampling;
  sampling.rank = static_cast<std::int64_t>(std::ceil(expected + kLow * std::sqrt(expected))) + 2;
  sampling.most = sampling.rank + sampling.rank / 16;
  const auto most = static_cast<double>(sampling.most);
  sampling.room = static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::ceil(scale * (most + kHigh * std::sqrt(most))))));
  return sampling;
}

std::optional<std::string> WhyNotSample(const Kernel& kernel, std::int64_t sample) {
  const Ordering order(kernel);
  if (4 * sample > order.along.extent) return "a sample is a fourth of a row at most";
  if (SamplingOf(kernel, sample).room * (KeyBytes(kernel) + 4) > kSharedBytes)
    return "what it finds does not fit into shared memory";
  return std::nullopt;
}

// The fewest that are sorted come first, then the smallest sample: each takes its time.
std::vector<Setting> SampleValues(const Kernel& kernel) {
  std::vector<std::pair<std::int64_t, std::int64_t>> samples;  // of what room, how large
  for (const std::int64_t sample : {4096, 8192, 16384}) {
    if (!WhyNotSample(kernel, sample)) samples.emplace_back(SamplingOf(kernel, sample).room, sample);
  }
  std::sort(samples.begin(), samples.end());
  std::vector<Setting> values;
  for (const auto& [room, sample] : samples) values.push_back(Whole(sample));
  return values;
}
std::optional<std::string> CheckSample(const Kernel& kernel, const Setting& value) {
  const auto* sample = std::get_if<std::int64_t>(&value.value);
  if (!sample || (*sample != 4096 && *sample != 8192 && *sample != 16384)) return "it is 4096, 8192 or 16384; try 8192";
  auto why = WhyNotSample(kernel, *sample);
  if (why) *why += fmt::format("; try {}", std::get<std::int64_t>(SampleValues(kernel).front().value));
  return why;
}

std::vector<Setting> ChunkValues(const Kernel&) { return {Whole(4096), Whole(8192), Whole(2048)}; }
std::optional<std::string> CheckChunk(const Kernel&, const Setting& value) {
  const auto* chunk = std::get_if<std::int64_t>(&value.value);
  if (!chunk || (*chunk != 2048 && *chunk != 4096 && *chunk != 8192)) return "it is 2048, 4096 or 8192; try 4096";
  return std::nullopt;
}

constexpr Knob kKnobs[] = {
    {"sample", "elements of a row that say what limit there is", SampleValues, CheckSample},
    {"chunk", "elements of a row that a block holds against the limit", ChunkValues, CheckChunk},
};

class SampleWriter {
 public:
  SampleWriter(const Kernel& kernel, DeviceWriter& out)
      : kernel_(kernel),
        out_(out),
        order_(kernel),
        sample_(IntSetting(kernel, "sample")),
        sampling_(SamplingOf(kernel, sample_)),
        key_(HasWideKey(kernel) ? "unsigned long" : "unsigned") {}

  void Write() {
    if (order_.rows == 0) return;
    out_.Define(std::string(kOrderText));
    const DType key_type = HasWideKey(kernel_) ? DType::kI64 : DType::kI32;
    limits_ = out_.Scratch("limits", key_type, order_.rows);
    counts_ = out_.Scratch("counts", DType::kI32, order_.rows);
    Limits();
    kept_ = out_.Scratch("kept", key_type, order_.rows * sampling_.room);
    kept_places_ = out_.Scratch("kept_places", DType::kI32, order_.rows * sampling_.room);
    Candidates();
    First();
  }

 private:
  // Names the places of the row at `number`.
  std::map<int, std::string> Row(const std::string& number) {
    const std::string row = out_.Fresh("row");
    out_.Line(fmt::format("const {} {} = {};", out_.index_type(), row, number));
    row_ = row;
    std::map<int, std::string> names;
    NamePlaces(out_, kernel_, order_.others, row, names);
    return names;
  }
  std::string Key(std::map<int, std::string> names, const std::string& at) {
    names[order_.along.id] = at;
    return KeyText(out_, kernel_, names);
  }

  // A row's limit, by a block, and a count of nothing found.
  void Limits() {
    constexpr std::int64_t kWarps = 32;
    const std::int64_t each = sample_ / 32 / kWarps;
    out_.BeginKernel("sampled", 32 * kWarps);
    const auto names = Row("blockIdx.x");
    out_.Line(fmt::format("{} keys[{}];", key_, each));
    out_.Unroll();
    out_.Open(fmt::format("for (int e = 0; e < {}; ++e)", each));
    out_.Line(fmt::format("const int n = e * {} + static_cast<int>(threadIdx.x);", 32 * kWarps));
    out_.Line(fmt::format("const int there = n / {0} * {1} + n % {0};", kSideBySide,
                          order_.along.extent / (sample_ / kSideBySide)));
    out_.Line(fmt::format("keys[e] = {};", Key(names, "there")));
    out_.Close();
    out_.Line(fmt::format("const {} limit = LimitOf<{}, {}>(keys, {}, {});", key_, each, kWarps, sampling_.rank,
                          sampling_.most));
    out_.Open("if (threadIdx.x == 0)");
    out_.Line(fmt::format("{}[{}] = static_cast<{}>(limit);", limits_, row_, Signed()));
    out_.Line(fmt::format("{}[{}] = 0;", counts_, row_));
    out_.Close();
    out_.Launch(
        {.grid_x = order_.rows, .reads = BuffersOf(kernel_, kernel_.inputs[0]), .scratch_writes = {limits_, counts_}});
  }

  // What is not above it, of a chunk of a row.
  void Candidates() {
    constexpr std::int64_t kThreads = 256;
    const std::int64_t chunk = IntSetting(kernel_, "chunk"), extent = order_.along.extent, each = chunk / kThreads,
                       chunks = (extent + chunk - 1) / chunk;
    out_.BeginKernel("passed", kThreads);
    const auto names = Row(fmt::format("blockIdx.x / {}", chunks));
    out_.Line("const int lane = threadIdx.x % 32;");
    out_.Line(fmt::format(
        "const int begin = static_cast<int>(blockIdx.x % {}) * {} + static_cast<int>(threadIdx.x / 32) * {};", chunks,
        chunk, 32 * each));
    out_.Line(fmt::format("const auto limit = static_cast<{}>({}[{}]);", key_, limits_, row_));
    out_.Line(fmt::format("{} keys[{}];", key_, each));
    out_.Line("unsigned kept = 0;");
    out_.Line("int count = 0;");
    out_.Unroll();
    out_.Open(fmt::format("for (int e = 0; e < {}; ++e)", each));
    out_.Line("const int at = begin + e * 32 + lane;");
    const bool ragged = extent % chunk != 0;
    out_.Line(fmt::format("const int there = {};", ragged ? fmt::format("min(at, {})", extent - 1) : "at"));
    out_.Line(fmt::format("keys[e] = {};", Key(names, "there")));
    out_.Close();
    out_.Unroll();
    out_.Open(fmt::format("for (int e = 0; e < {}; ++e)", each));
    out_.Line(fmt::format("const bool found = keys[e] <= limit{};",
                          ragged ? fmt::format(" && begin + e * 32 + lane < {}", extent) : ""));
    out_.Line("kept |= static_cast<unsigned>(found) << e;");
    out_.Line("count += __popc(__ballot_sync(~0u, found));");
    out_.Close();
    out_.Line("if (count == 0) return;");
    out_.Line("int base = 0;");
    out_.Line(fmt::format("if (lane == 0) base = atomicAdd({} + {}, count);", counts_, row_));
    out_.Line("base = __shfl_sync(~0u, base, 0);");
    out_.Unroll();
    out_.Open(fmt::format("for (int e = 0; e < {}; ++e)", each));
    out_.Line("const bool found = (kept >> e & 1) != 0;");
    out_.Line("const unsigned all = __ballot_sync(~0u, found);");
    out_.Line("const int n = base + __popc(all & ((1u << lane) - 1));");
    out_.Line("base += __popc(all);");
    out_.Line(fmt::format("if (!found || n >= {}) continue;", sampling_.room));
    out_.Line(fmt::format("{}[{} * {} + n] = static_cast<{}>(keys[e]);", kept_, row_, sampling_.room, Signed()));
    out_.Line(fmt::format("{}[{} * {} + n] = begin + e * 32 + lane;", kept_places_, row_, sampling_.room));
    out_.Close();
    out_.Launch({.grid_x = order_.rows * chunks,
                 .reads = BuffersOf(kernel_, kernel_.inputs[0]),
                 .scratch_reads = {limits_},
                 .scratch_writes = {counts_, kept_, kept_places_}});
  }

  // The first of them in order.
  void First() {
    const std::int64_t room = sampling_.room, wanted = order_.place.extent;
    const std::int64_t warps = std::clamp<std::int64_t>(room / 128, 8, 32), threads = 32 * warps;
    out_.BeginKernel("first", threads);
    const auto names = Row("blockIdx.x");
    out_.Line(fmt::format("__shared__ {} found[{}];", key_, room));
    out_.Line(fmt::format("__shared__ int found_at[{}];", room));
    out_.Line("const int thread = threadIdx.x;");
    out_.Line(fmt::format("int count = {}[{}];", counts_, row_));
    out_.Open(fmt::format("if (count >= {} && count <= {})", wanted, room));
    out_.Open(fmt::format("for (int n = thread; n < count; n += {})", threads));
    out_.Line(fmt::format("found[n] = static_cast<{}>({}[{} * {} + n]);", key_, kept_, row_, room));
    out_.Line(fmt::format("found_at[n] = {}[{} * {} + n];", kept_places_, row_, room));
    out_.Close();
    out_.Close();
    out_.Open("else");
    out_.Line(fmt::format("count = {};", wanted));
    out_.Open("const auto key = [&](int there)");
    out_.Line(fmt::format("return {};", Key(names, "there")));
    out_.CloseWith(";");
    out_.Open(fmt::format("FindBySteps<{}, {}>({}, {}, key, [&](int n, {} own, int at)", warps, key_,
                          order_.along.extent, wanted, key_));
    out_.Line("found[n] = own;");
    out_.Line("found_at[n] = at;");
    out_.CloseWith(");");
    out_.Close();
    out_.Open(fmt::format("for (int n = count + thread; n < {}; n += {})", room, threads));
    out_.Line(fmt::format("found[n] = ~static_cast<{}>(0);", key_));
    out_.Line("found_at[n] = kNoPlace;");
    out_.Close();
    out_.Line(fmt::format("SortFirst<{}, {}>(found, found_at);", room, warps));
    WriteSorted(out_, kernel_, names, "thread", threads);
    DeviceWriter::LaunchShape shape{.grid_x = order_.rows,
                                    .reads = BuffersOf(kernel_, kernel_.inputs[0]),
                                    .writes = TargetsOf(kernel_),
                                    .scratch_reads = {counts_, kept_, kept_places_}};
    for (const int buffer : ReadsOfOrdered(kernel_, true)) shape.reads.push_back(buffer);
    out_.Launch(shape);
  }

  std::string_view Signed() const { return key_ == "unsigned" ? "int" : "long"; }

  const Kernel& kernel_;
  DeviceWriter& out_;
  const Ordering order_;
  const std::int64_t sample_;
  const Sampling sampling_;
  const std::string key_;
  std::string row_, limits_, counts_, kept_, kept_places_;
};

std::optional<std::string> WhyNot(const Kernel& kernel) {
  const Ordering order(kernel);
  if (order.along.extent < kLeastRow)
    return fmt::format("a row of {} elements is looked at as soon as a sample of it", order.along.extent);
  if (order.along.extent >= kMostElements) return "rows are too long";
  if (SampleValues(kernel).empty())
    return fmt::format("what a sample finds, more than the {} that are wanted, does not fit into shared memory",
                       order.place.extent);
  return std::nullopt;
}

// Beside `select` on an H200: 38.9 us for 51.6 (64 rows of 100 000, 1000 of each), 109 for 164 (64 of a million, 100),
// 90 for 111 (512 of 50257, 256). Of whole numbers and truth values many are mostly equal.
std::optional<double> CostOfSample(const Kernel& kernel) {
  const bool gains = kernel.inputs[0]->type == ScalarType::kReal && Ordering(kernel).place.extent >= 64;
  return gains ? 0.8 : 1.5;
}

}  // namespace

HONE_ROW(Way){
    .family = "order",
    .name = "sample",
    .doc = "for hundreds of many thousands: a sample says what may be among the first, and that is sorted",
    .why_not = WhyNot,
    .cost = CostOfSample,
    .knobs = kKnobs,
    .emit_cuda = [](const KernelProgram&, const Kernel& kernel,
                    DeviceWriter& out) { SampleWriter(kernel, out).Write(); },
};

}  // namespace hone::dsl::cuda_way_order_sample
