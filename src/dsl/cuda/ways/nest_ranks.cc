// Two kernels: rows are sorted in chunks, in shared memory; each element then looks for its place in every chunk of its
// row, by halves.
#include "dsl/cuda/nest_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "dsl/cuda/knobs.h"
#include "dsl/cuda/nest_element.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone {
extern const std::string_view kRanksText;  // dsl/cuda/ranks.cuh
}

namespace hone::dsl {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 30;  // elements: they are counted in ints
constexpr std::int64_t kMostChunk = 2048, kLeastChunk = 64;

class RanksWriter {
 public:
  RanksWriter(const Kernel& kernel, DeviceWriter& out)
      : kernel_(kernel), out_(out), nest_(*RankedFoldIn(kernel)), row_(nest_.fold.along.extent) {
    for (const auto& index : nest_.element.indices) {
      if (index.id != nest_.fold.along.id) others_.push_back(index);
    }
    while (chunk_ < row_ && chunk_ < kMostChunk) chunk_ *= 2;
  }

  void Write() {
    const std::int64_t count = PointsOf(nest_.element.indices);
    if (count == 0) return;
    out_.Define(std::string(kRanksText));
    sorted_ = out_.Scratch("sorted", DType::kI64, count);
    places_ = out_.Scratch("places", DType::kI32, count);
    Sort();
    Find(count);
  }

 private:
  // "const unsigned long key = ...": of the element at the named indices.
  void Key(const std::map<int, std::string>& names) {
    const Expr& element = nest_.fold.element;
    const std::string value = ValueText(out_, kernel_, element, names);
    out_.Line(fmt::format("const unsigned long key = {}OrderedKey({}({}));", nest_.fold.descending ? "~" : "",
                          out_.Type(element->type), value));
  }

  void Sort() {
    const std::int64_t chunks = (row_ + chunk_ - 1) / chunk_;
    out_.BeginKernel("sort", chunk_ / 2);
    out_.Line(fmt::format("__shared__ unsigned long keys[{0}];", chunk_));
    out_.Line(fmt::format("__shared__ int places[{0}];", chunk_));
    const std::string row = out_.Fresh("row"), first = out_.Fresh("first"), place = out_.Fresh("place");
    out_.Line(fmt::format("const {} {} = static_cast<{}>(blockIdx.x) / {};", out_.index_type(), row, out_.index_type(),
                          chunks));
    out_.Line(fmt::format("const int {} = static_cast<int>(blockIdx.x % {}) * {};", first, chunks, chunk_));
    std::map<int, std::string> names;
    NamePlaces(out_, kernel_, others_, row, names);
    out_.Open(fmt::format("for (int i = threadIdx.x; i < {}; i += {})", chunk_, chunk_ / 2));
    out_.Line("keys[i] = ~0ul;");
    out_.Line("places[i] = i;");
    out_.Line(fmt::format("const int {} = {} + i;", place, first));
    out_.Line(fmt::format("if ({} >= {}) continue;", place, row_));
    names[nest_.fold.along.id] = place;
    Key(names);
    out_.Line("keys[i] = key;");
    out_.Close();
    out_.Line("SortChunk(keys, places);");
    out_.Open(fmt::format("for (int i = threadIdx.x; i < min({}, {} - {}); i += {})", chunk_, row_, first, chunk_ / 2));
    out_.Line(fmt::format("{}[{} * {} + {} + i] = static_cast<long>(keys[i]);", sorted_, row, row_, first));
    out_.Line(fmt::format("{}[{} * {} + {} + places[i]] = i;", places_, row, row_, first));
    out_.Close();
    out_.Launch({.grid_x = PointsOf(others_) * chunks,
                 .reads = BuffersOf(kernel_, nest_.fold.element),
                 .scratch_writes = {sorted_, places_}});
  }

  void Find(std::int64_t count) {
    const std::int64_t threads = IntSetting(kernel_, "block");
    out_.BeginKernel("places", threads);
    const std::string at = out_.OpenThreads("at", count);
    std::map<int, std::string> names;
    NamePlaces(out_, kernel_, nest_.element.indices, at, names);
    Key(names);
    std::string row;
    for (const auto& other : others_)
      row = row.empty() ? names.at(other.id) : fmt::format("({} * {} + {})", row, other.extent, names.at(other.id));
    const std::string begin = row.empty() ? "0" : fmt::format("{} * {}", row, row_);
    const std::string made = out_.Fresh("made");
    out_.Line(fmt::format("const long {} = PlaceInOrder<{}>({} + {}, {}[{} + {}], {}, {}, key);", made, chunk_, sorted_,
                          begin, places_, begin, names.at(nest_.fold.along.id), row_, names.at(nest_.fold.along.id)));
    WriteElement(out_, kernel_, nest_.element, names, {.made = made});
    out_.Launch({.grid_x = (count + threads - 1) / threads,
                 .reads = OperandBuffers({&kernel_, 1}),
                 .writes = {kernel_.target},
                 .scratch_reads = {sorted_, places_}});
  }

  const Kernel& kernel_;
  DeviceWriter& out_;
  const RankedNest nest_;
  const std::int64_t row_;
  std::int64_t chunk_ = kLeastChunk;
  std::vector<IndexVar> others_;
  std::string sorted_, places_;
};

std::optional<std::string> WhyNot(const Kernel& kernel) {
  const auto nest = RankedFoldIn(kernel);
  if (!nest) return "it has no fold, or more than one, that counts what comes before an element of its row";
  if (PointsOf(nest->element.indices) >= kMost) return "there are too many elements to be sorted";
  return std::nullopt;
}

constexpr Knob kKnobs[] = {kBlockThreadsKnob};

}  // namespace

std::optional<RankedNest> RankedFoldIn(const Kernel& kernel) {
  const auto nest = OneFold(kernel);
  if (!nest) return std::nullopt;
  auto ranked = RankedFoldOf(*nest->fold);
  // Of a row of one element the index is gone.
  if (!ranked || std::none_of(nest->element.indices.begin(), nest->element.indices.end(),
                              [&](const IndexVar& index) { return index.id == ranked->along.id; }))
    return std::nullopt;
  return RankedNest{nest->element, std::move(*ranked)};
}

bool RanksPay(const Kernel& kernel) {
  constexpr double kLooks = 1 << 24;  // what is done in the time that two kernels take to begin
  constexpr std::int64_t kShortRow = 256;
  const auto nest = RankedFoldIn(kernel);
  if (!nest) return false;
  const std::int64_t row = nest->fold.along.extent;
  return row > kShortRow && static_cast<double>(PointsOf(nest->element.indices)) * static_cast<double>(row) > kLooks;
}

HONE_CUDA_WAY(nest_ranks){
    .family = "nest",
    .name = "ranks",
    .doc = "for places in order (sorting): rows are sorted in chunks, in which each element looks for its place",
    .why_not = WhyNot,
    .cost = [](const Kernel& kernel) { return RanksPay(kernel) ? std::optional<double>(1) : std::nullopt; },
    .knobs = kKnobs,
    .emit_cuda = [](const KernelProgram&, const Kernel& kernel,
                    DeviceWriter& out) { RanksWriter(kernel, out).Write(); },
};

}  // namespace hone::dsl
