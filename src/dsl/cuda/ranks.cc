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
    const std::string slot = out_.Fresh("slot");
    out_.Open(fmt::format("for (int {0} = threadIdx.x; {0} < {1}; {0} += {2})", slot, chunk_, chunk_ / 2));
    out_.Line(fmt::format("keys[{}] = ~0ul;", slot));
    out_.Line(fmt::format("places[{0}] = {0};", slot));
    out_.Line(fmt::format("const int {} = {} + {};", place, first, slot));
    out_.Line(fmt::format("if ({} >= {}) continue;", place, row_));
    names[rows_.along.id] = place;
    Key(names);
    out_.Line(fmt::format("keys[{}] = key;", slot));
    out_.Close();
    out_.Line("SortChunk(keys, places);");
    out_.Open(fmt::format("for (int {0} = threadIdx.x; {0} < min({1}, {2} - {3}); {0} += {4})", slot, chunk_, row_,
                          first, chunk_ / 2));
    const std::string begin = fmt::format("{} * {} + {}", row, row_, first);
    out_.Line(fmt::format("{}[{} + {}] = static_cast<long>(keys[{}]);", sorted_, begin, slot, slot));
    out_.Line(fmt::format("{}[{} + places[{}]] = {};", places_, begin, slot, slot));
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
                 .writes = TargetsOf(kernel_),
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
