// For hundreds of many thousands: a sample of a row says below which limit there are a little more than are wanted. All
// that is not above it goes to memory in whatever order, and is sorted there with its places; limits between say what
// of it comes before what, so that a row's blocks sort a piece each. Of some rows a sample says too little: many are
// equal, or it was no fair one. Then too few or too many are found, and a block looks at the whole row, bit by bit. So
// what is found never hangs on the sample, only how fast.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

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

constexpr std::int64_t kWarpsOfSample = 16, kSampleBytes = 64 << 10;  // its keys, for which threads have registers

// How many of a piece there are hardly ever more of, where so many of a fair sample, a `scale`-th of all, are of it: a
// quantile of the gamma distribution by Wilson's and Hilferty's approximation, one piece in a hundred thousand.
std::int64_t MostOf(double sampled, double scale) {
  constexpr double kDeviations = 4.3;
  const double root = 1 - 1 / (9 * sampled) + kDeviations / (3 * std::sqrt(sampled));
  return static_cast<std::int64_t>(std::ceil(scale * sampled * root * root * root));
}
std::int64_t PowerFor(std::int64_t count) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count)));
}

// What comes of a sample of so many elements.
struct Sampling {
  std::int64_t rank = 0,
               slack = 0;   // of a piece's limit above the one before, in the sample, and how much it may differ
  std::int64_t room = 0;    // for what is found of a piece: a power of two
  std::int64_t sorted = 0;  // by a block: a power of two, that is a piece, or all that is wanted
};
Sampling SamplingOf(const Kernel& kernel, std::int64_t sample, std::int64_t pieces) {
  // Ranks of a sample spread as its counts do: too few are found of one row in some ten thousand.
  constexpr double kLow = 3.8;
  const Ordering order(kernel);
  const double scale = static_cast<double>(order.along.extent) / static_cast<double>(sample);
  const double expected = static_cast<double>(order.place.extent) / scale;
  const auto rank = static_cast<std::int64_t>(std::ceil(expected + kLow * std::sqrt(expected))) + 2;
  Sampling sampling;
  sampling.rank = (rank + pieces - 1) / pieces;
  sampling.slack = sampling.rank / 16;
  sampling.room = PowerFor(MostOf(static_cast<double>(sampling.rank + sampling.slack), scale));
  sampling.sorted = std::max(sampling.room, PowerFor(order.place.extent));
  return sampling;
}

// Of a sample's threads' first elements: which of them the limits are hardly above, and how many elements of the sample
// are hardly above that one's.
struct Coarse {
  std::int64_t rank = 0, slack = 0, slots = 0;
};
Coarse CoarseOf(const Sampling& sampling, std::int64_t sample, std::int64_t pieces) {
  constexpr double kSpread = 3.5;
  constexpr std::int64_t kThreads = 32 * kWarpsOfSample;
  const std::int64_t each = sample / kThreads;
  const double expected = static_cast<double>(pieces * sampling.rank + sampling.slack) / static_cast<double>(each);
  Coarse coarse;
  coarse.rank = static_cast<std::int64_t>(std::ceil(expected + kSpread * std::sqrt(expected))) + 2;
  coarse.slack = coarse.rank / 8;
  const std::int64_t held = MostOf(static_cast<double>(coarse.rank + coarse.slack), static_cast<double>(each));
  coarse.slots = std::min(std::max(kThreads, PowerFor(held)), sample);
  return coarse;
}

std::optional<std::string> WhyNotSample(const Kernel& kernel, std::int64_t sample, std::int64_t pieces) {
  const Ordering order(kernel);
  if (4 * sample > order.along.extent) return "a sample is a fourth of a row at most";
  if (sample * KeyBytes(kernel) > kSampleBytes) return "threads have no registers for so many elements of 64 bits";
  if (SamplingOf(kernel, sample, pieces).sorted * (KeyBytes(kernel) + 4) > kSharedBytes)
    return "what it finds does not fit into shared memory";
  return std::nullopt;
}

// In how many pieces what a sample finds is sorted: those that make them smaller. As many as give each multiprocessor
// of a large device a block or two come first, then fewer.
std::vector<std::int64_t> PiecesOf(const Kernel& kernel, std::int64_t sample) {
  constexpr std::int64_t kMostBlocks = 256;
  std::int64_t sorted = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> all, too_many;
  for (const std::int64_t pieces : {1, 2, 4, 8}) {
    const Sampling sampling = SamplingOf(kernel, sample, pieces);
    if (sampling.sorted >= sorted || WhyNotSample(kernel, sample, pieces)) continue;
    sorted = sampling.sorted;
    if (all.empty() || pieces * Ordering(kernel).rows <= kMostBlocks)
      all.insert(all.begin(), pieces);
    else
      too_many.push_back(pieces);
  }
  all.insert(all.end(), too_many.begin(), too_many.end());
  return all;
}

// The fewest that are sorted come first, then the smallest sample: each takes its time.
std::vector<Setting> SampleValues(const Kernel& kernel) {
  std::vector<std::array<std::int64_t, 3>> samples;  // how many are sorted, in how many pieces, of how large a sample
  for (const std::int64_t sample : {4096, 8192, 16384}) {
    const std::vector<std::int64_t> pieces = PiecesOf(kernel, sample);
    if (!pieces.empty()) samples.push_back({SamplingOf(kernel, sample, pieces.front()).sorted, pieces.front(), sample});
  }
  std::sort(samples.begin(), samples.end());
  std::vector<Setting> values;
  for (const auto& one : samples) values.push_back(Whole(one[2]));
  return values;
}
std::optional<std::string> CheckSample(const Kernel& kernel, const Setting& value) {
  const auto* sample = std::get_if<std::int64_t>(&value.value);
  if (!sample || (*sample != 4096 && *sample != 8192 && *sample != 16384)) return "it is 4096, 8192 or 16384; try 8192";
  if (!PiecesOf(kernel, *sample).empty()) return std::nullopt;
  return fmt::format("{}; try {}", *WhyNotSample(kernel, *sample, 1),
                     std::get<std::int64_t>(SampleValues(kernel).front().value));
}

std::vector<Setting> PiecesValues(const Kernel& kernel) {
  std::vector<Setting> values;
  for (const std::int64_t pieces : PiecesOf(kernel, IntSetting(kernel, "sample"))) values.push_back(Whole(pieces));
  return values;
}
std::optional<std::string> CheckPieces(const Kernel& kernel, const Setting& value) {
  const auto* pieces = std::get_if<std::int64_t>(&value.value);
  if (!pieces || (*pieces != 1 && *pieces != 2 && *pieces != 4 && *pieces != 8)) return "it is 1, 2, 4 or 8; try 1";
  const std::int64_t sample = IntSetting(kernel, "sample");
  if (const auto why = WhyNotSample(kernel, sample, *pieces))
    return fmt::format("{}; try {}", *why, PiecesOf(kernel, sample).front());
  return std::nullopt;
}

std::vector<Setting> ChunkValues(const Kernel&) { return {Whole(4096), Whole(8192), Whole(2048)}; }
std::optional<std::string> CheckChunk(const Kernel&, const Setting& value) {
  const auto* chunk = std::get_if<std::int64_t>(&value.value);
  if (!chunk || (*chunk != 2048 && *chunk != 4096 && *chunk != 8192)) return "it is 2048, 4096 or 8192; try 4096";
  return std::nullopt;
}

constexpr Knob kKnobs[] = {
    {"sample", "elements of a row that say what limit there is", SampleValues, CheckSample},
    {"pieces", "blocks that sort a piece each of what is found of a row", PiecesValues, CheckPieces},
    {"chunk", "elements of a row that a block holds against the limit", ChunkValues, CheckChunk},
};

class SampleWriter {
 public:
  SampleWriter(const Kernel& kernel, DeviceWriter& out)
      : kernel_(kernel),
        out_(out),
        order_(kernel),
        sample_(IntSetting(kernel, "sample")),
        pieces_(IntSetting(kernel, "pieces")),
        sampling_(SamplingOf(kernel, sample_, pieces_)),
        key_(HasWideKey(kernel) ? "unsigned long" : "unsigned") {}

  void Write() {
    if (order_.rows == 0) return;
    out_.Define(std::string(kOrderText));
    const DType key_type = HasWideKey(kernel_) ? DType::kI64 : DType::kI32;
    limits_ = out_.Scratch("limits", key_type, order_.rows * pieces_);
    counts_ = out_.Scratch("counts", DType::kI32, order_.rows * pieces_);
    Limits();
    kept_ = out_.Scratch("kept", key_type, order_.rows * pieces_ * sampling_.room);
    kept_places_ = out_.Scratch("kept_places", DType::kI32, order_.rows * pieces_ * sampling_.room);
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

  // The limits of a row's pieces, by a block, and counts of nothing found. Groups of threads have neighbours in memory,
  // and the first elements of all threads lie as far apart as those of the sample.
  void Limits() {
    constexpr std::int64_t kThreads = 32 * kWarpsOfSample;
    const std::int64_t each = sample_ / kThreads;
    const Coarse coarse = CoarseOf(sampling_, sample_, pieces_);
    out_.BeginKernel("sampled", kThreads);
    const auto names = Row("blockIdx.x");
    out_.Open("const auto key = [&](int e)");
    out_.Line(fmt::format("const int group = static_cast<int>(threadIdx.x) / {} * {} + e;", kSideBySide, each));
    out_.Line(fmt::format("const int there = group * {} + static_cast<int>(threadIdx.x) % {};",
                          order_.along.extent / (sample_ / kSideBySide), kSideBySide));
    out_.Line(fmt::format("return {};", Key(names, "there")));
    out_.CloseWith(";");
    out_.Open(fmt::format("LimitsOfSample<{}, {}, {}, {}, {}>(key, {}, {}, {}, {}, [&](int piece, {} limit)", each,
                          kWarpsOfSample, coarse.slots, pieces_, key_, coarse.rank, coarse.slack, sampling_.rank,
                          sampling_.slack, key_));
    out_.Line(fmt::format("{}[{} * {} + piece] = static_cast<{}>(limit);", limits_, row_, pieces_, Signed()));
    out_.Line(fmt::format("{}[{} * {} + piece] = 0;", counts_, row_, pieces_));
    out_.CloseWith(");");
    out_.Launch(
        {.grid_x = order_.rows, .reads = BuffersOf(kernel_, kernel_.inputs[0]), .scratch_writes = {limits_, counts_}});
  }

  // What is not above the last of them, of a chunk of a row, to the pieces. A block puts it together first. Where that
  // is more than it has room for, so is all that is found of the row, and its first piece says so.
  void Candidates() {
    constexpr std::int64_t kThreads = 256;
    const std::int64_t chunk = IntSetting(kernel_, "chunk"), extent = order_.along.extent, each = chunk / kThreads,
                       chunks = (extent + chunk - 1) / chunk,
                       held = std::min({chunk, pieces_ * sampling_.room, kSharedBytes / (KeyBytes(kernel_) + 4)});
    out_.BeginKernel("passed", kThreads);
    const auto names = Row(fmt::format("blockIdx.x / {}", chunks));
    out_.Line(fmt::format("__shared__ {} found[{}];", key_, held));
    out_.Line(fmt::format("__shared__ int found_at[{}], found_count, of_piece[{}];", held, pieces_));
    out_.Line(fmt::format("const int begin = static_cast<int>(blockIdx.x % {}) * {} + static_cast<int>(threadIdx.x);",
                          chunks, chunk));
    out_.Line("if (threadIdx.x == 0) found_count = 0;");
    out_.Line(fmt::format("if (threadIdx.x < {}) of_piece[threadIdx.x] = 0;", pieces_));
    out_.Line(fmt::format("{} keys[{}], limits[{}];", key_, each, pieces_));
    out_.Unroll();
    out_.Open(fmt::format("for (int e = 0; e < {}; ++e)", each));
    out_.Line(fmt::format("const int at = begin + e * {};", kThreads));
    const bool ragged = extent % chunk != 0;
    out_.Line(fmt::format("const int there = {};", ragged ? fmt::format("min(at, {})", extent - 1) : "at"));
    out_.Line(fmt::format("keys[e] = {};", Key(names, "there")));
    out_.Close();
    out_.Unroll();
    out_.Line(fmt::format("for (int p = 0; p < {}; ++p) limits[p] = static_cast<{}>({}[{} * {} + p]);", pieces_, key_,
                          limits_, row_, pieces_));
    out_.Line("__syncthreads();");
    out_.Unroll();
    out_.Open(fmt::format("for (int e = 0; e < {}; ++e)", each));
    out_.Line(fmt::format("const int at = begin + e * {};", kThreads));
    out_.Line(fmt::format("if (keys[e] > limits[{}]{}) continue;", pieces_ - 1,
                          ragged ? fmt::format(" || at >= {}", extent) : ""));
    out_.Line("const int n = atomicAdd(&found_count, 1);");
    out_.Line(fmt::format("if (n >= {}) continue;", held));
    out_.Line("found[n] = keys[e];");
    out_.Line("found_at[n] = at;");
    out_.Close();
    out_.Line("__syncthreads();");
    out_.Line("const int count = found_count;");
    out_.Line("if (count == 0) return;");
    out_.Open(fmt::format("if (count > {})", held));
    out_.Line(
        fmt::format("if (threadIdx.x == 0) atomicMax({} + {} * {}, {});", counts_, row_, pieces_, sampling_.room + 1));
    out_.Line("return;");
    out_.Close();
    WritePieces(kThreads);
    out_.Launch({.grid_x = order_.rows * chunks,
                 .reads = BuffersOf(kernel_, kernel_.inputs[0]),
                 .scratch_reads = {limits_},
                 .scratch_writes = {counts_, kept_, kept_places_}});
  }

  // What a block has put together, where there is room for it in the pieces.
  void WritePieces(std::int64_t threads) {
    const auto of_each = [&](std::string_view line) {
      out_.Open(fmt::format("for (int n = threadIdx.x; n < count; n += {})", threads));
      out_.Line("int piece = 0;");
      if (pieces_ > 1) {
        out_.Unroll();
        out_.Line(fmt::format("for (int p = 0; p < {}; ++p) piece += found[n] > limits[p] ? 1 : 0;", pieces_ - 1));
      }
      out_.Line(std::string(line));
    };
    of_each("atomicAdd(of_piece + piece, 1);");
    out_.Close();
    out_.Line("__syncthreads();");
    out_.Open(fmt::format("if (threadIdx.x < {})", pieces_));
    out_.Line("const int mine = of_piece[threadIdx.x];");
    out_.Line(fmt::format("of_piece[threadIdx.x] = mine == 0 ? 0 : atomicAdd({} + {} * {} + threadIdx.x, mine);",
                          counts_, row_, pieces_));
    out_.Close();
    out_.Line("__syncthreads();");
    of_each("const int in_piece = atomicAdd(of_piece + piece, 1);");
    out_.Line(fmt::format("if (in_piece >= {}) continue;", sampling_.room));
    out_.Line(fmt::format("const {} to = ({} * {} + piece) * {} + in_piece;", out_.index_type(), row_, pieces_,
                          sampling_.room));
    out_.Line(fmt::format("{}[to] = static_cast<{}>(found[n]);", kept_, Signed()));
    out_.Line(fmt::format("{}[to] = found_at[n];", kept_places_));
    out_.Close();
  }

  // The first of a piece in order, or, by the block of its first piece, those of a row that a sample said too little
  // of.
  void First() {
    const std::int64_t room = sampling_.room, sorted = sampling_.sorted, wanted = order_.place.extent;
    const std::int64_t warps = std::clamp<std::int64_t>(sorted / 128, 4, 32), threads = 32 * warps;
    out_.BeginKernel("first", threads);
    const auto names = Row(fmt::format("blockIdx.x / {}", pieces_));
    out_.Line(fmt::format("__shared__ {} found[{}];", key_, sorted));
    out_.Line(fmt::format("__shared__ int found_at[{}];", sorted));
    out_.Line("const int thread = threadIdx.x;");
    out_.Line(fmt::format("const int piece = blockIdx.x % {};", pieces_));
    out_.Line("int before = 0, count = 0, all = 0;");
    out_.Line("bool fits = true;");
    out_.Unroll();
    out_.Open(fmt::format("for (int p = 0; p < {}; ++p)", pieces_));
    out_.Line(fmt::format("const int of_piece = {}[{} * {} + p];", counts_, row_, pieces_));
    out_.Line(fmt::format("fits = fits && of_piece <= {};", room));
    out_.Line("if (p < piece) before += of_piece;");
    out_.Line("if (p == piece) count = of_piece;");
    out_.Line("all += of_piece;");
    out_.Close();
    out_.Open(fmt::format("if (fits && all >= {})", wanted));
    out_.Line(fmt::format("if (before >= {}) return;", wanted));
    out_.Line(fmt::format("const {} from = ({} * {} + piece) * {};", out_.index_type(), row_, pieces_, room));
    out_.Open(fmt::format("for (int n = thread; n < count; n += {})", threads));
    out_.Line(fmt::format("found[n] = static_cast<{}>({}[from + n]);", key_, kept_));
    out_.Line(fmt::format("found_at[n] = {}[from + n];", kept_places_));
    out_.Close();
    out_.Close();
    out_.Open("else");
    out_.Line("if (piece != 0) return;");
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
    out_.Open(fmt::format("for (int n = count + thread; n < {}; n += {})", sorted, threads));
    out_.Line(fmt::format("found[n] = ~static_cast<{}>(0);", key_));
    out_.Line("found_at[n] = kNoPlace;");
    out_.Close();
    out_.Line(fmt::format("SortFirst<{}, {}>(found, found_at);", sorted, warps));
    out_.Line(fmt::format("const int written = min(count, {} - before);", wanted));
    WriteSorted(out_, kernel_, names, "thread", threads, SortedPiece{"before", "written"});
    DeviceWriter::LaunchShape shape{.grid_x = order_.rows * pieces_,
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
  const std::int64_t sample_, pieces_;
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
