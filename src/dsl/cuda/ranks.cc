#include "dsl/cuda/ranks.h"

#include <fmt/format.h>

#include "dsl/cuda/nest_element.h"

namespace hone {
extern const std::string_view kRanksText;  // dsl/cuda/ranks.cuh
}

namespace hone::dsl {
namespace {

constexpr std::int64_t kMostChunk = 2048, kLeastChunk = 64;

class RanksWriter {
 public:
  RanksWriter(DeviceWriter& out, const Kernel& kernel, const RankedRows& rows)
      : out_(out), kernel_(kernel), rows_(rows), row_(rows.along.extent) {
    for (const auto& index : rows.elements) {
      if (index.id != rows.along.id) others_.push_back(index);
    }
    while (chunk_ < row_ && chunk_ < kMostChunk) chunk_ *= 2;
  }

  void Write(std::int64_t threads) {
    const std::int64_t count = PointsOf(rows_.elements);
    if (count == 0) return;
    out_.Define(std::string(kRanksText));
    sorted_ = out_.Scratch("sorted", DType::kI64, count);
    places_ = out_.Scratch("places", DType::kI32, count);
    Sort();
    Find(count, threads);
  }

 private:
  // "const unsigned long key = ...": of the element at the named indices.
  void Key(const std::map<int, std::string>& names) {
    const std::string value = rows_.value(names);
    out_.Line(fmt::format("const unsigned long key = {}OrderedKey({});", rows_.descending ? "~" : "", value));
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
    names[rows_.along.id] = place;
    Key(names);
    out_.Line("keys[i] = key;");
    out_.Close();
    out_.Line("SortChunk(keys, places);");
    out_.Open(fmt::format("for (int i = threadIdx.x; i < min({}, {} - {}); i += {})", chunk_, row_, first, chunk_ / 2));
    out_.Line(fmt::format("{}[{} * {} + {} + i] = static_cast<long>(keys[i]);", sorted_, row, row_, first));
    out_.Line(fmt::format("{}[{} * {} + {} + places[i]] = i;", places_, row, row_, first));
    out_.Close();
    out_.Launch(
        {.grid_x = PointsOf(others_) * chunks, .reads = rows_.value_reads, .scratch_writes = {sorted_, places_}});
  }

  void Find(std::int64_t count, std::int64_t threads) {
    out_.BeginKernel("ranked", threads);
    const std::string at = out_.OpenThreads("at", count);
    std::map<int, std::string> names;
    NamePlaces(out_, kernel_, rows_.elements, at, names);
    Key(names);
    std::string row;
    for (const auto& other : others_)
      row = row.empty() ? names.at(other.id) : fmt::format("({} * {} + {})", row, other.extent, names.at(other.id));
    const std::string begin = row.empty() ? "0" : fmt::format("{} * {}", row, row_);
    const std::string made = out_.Fresh("made"), &along = names.at(rows_.along.id);
    out_.Line(fmt::format("const long {} = PlaceInOrder<{}>({} + {}, {}[{} + {}], {}, {}, key);", made, chunk_, sorted_,
                          begin, places_, begin, along, row_, along));
    rows_.end(names, made);
    std::vector<int> reads = rows_.value_reads;
    reads.insert(reads.end(), rows_.end_reads.begin(), rows_.end_reads.end());
    out_.Launch({.grid_x = (count + threads - 1) / threads,
                 .reads = std::move(reads),
                 .writes = {kernel_.target},
                 .scratch_reads = {sorted_, places_}});
  }

  DeviceWriter& out_;
  const Kernel& kernel_;
  const RankedRows& rows_;
  const std::int64_t row_;
  std::int64_t chunk_ = kLeastChunk;
  std::vector<IndexVar> others_;
  std::string sorted_, places_;
};

}  // namespace

void WriteRanks(DeviceWriter& out, const Kernel& kernel, const RankedRows& rows, std::int64_t threads) {
  RanksWriter(out, kernel, rows).Write(threads);
}

}  // namespace hone::dsl
