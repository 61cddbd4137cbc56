// Ranges that are cut for several blocks: their partial results, what becomes of these, and the elements.
#include <fmt/format.h>

#include <algorithm>

#include "dsl/cuda/fold_writer.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kResultThreads = 256;  // that compute the elements of a split row
constexpr std::int64_t kSideBySide = 64;      // rows
constexpr std::int64_t kFinishThreads = 128;  // that combine the chunks of a row
constexpr std::int64_t kFewChunks = 16;       // that one of them does alone

}  // namespace

std::string FoldWriter::RowNumber(const std::string& element) const {
  std::vector<std::string> places = places_;
  for (std::size_t d = 0; d < places.size(); ++d) {
    if (row_strides_[d] == 0) places[d] = "0";
  }
  std::string text = Address(places, row_strides_, 0);
  return element.empty() ? text : text + " + " + element;
}

void FoldWriter::ReadLets() {
  for (const auto& [let, memory] : let_memory_) {
    const std::string name = out_.Fresh(memory.hint);
    const std::string type = out_.Type(memory.type);
    if (!rows_ && pack_ > 1) {
      out_.Line(fmt::format("{} {}[{}];", type, name, pack_));
      const std::string e = OpenElements();
      out_.Line(fmt::format("{}[{}] = {}[{}];", name, e, memory.buffer, RowNumber(e)));
      CloseElements();
    } else {
      out_.Line(fmt::format("const {} {} = {}[{}];", type, name, memory.buffer, RowNumber("")));
    }
    let_names_[let] = name;
  }
}

std::vector<std::string> FoldWriter::LetBuffers() const {
  std::vector<std::string> buffers;
  for (const auto& [let, memory] : let_memory_) buffers.push_back(memory.buffer);
  return buffers;
}

void FoldWriter::EmitSplit(const std::vector<DevicePass>& passes, const Expr& result) {
  for (std::size_t p = 0; p < passes.size(); ++p) {
    const DevicePass& pass = passes[p];
    const bool last = p + 1 == passes.size();
    // 1. Every chunk by itself.
    OpenUnit("chunks");
    ReadLets();
    const auto accumulators = Accumulate(pass);
    std::vector<std::string> partial;
    std::vector<std::string> totals;
    for (std::size_t i = 0; i < pass.items.size(); ++i) {
      totals.push_back(Combine(pass.items[i], accumulators[i]));
      partial.push_back(out_.Scratch(pass.items[i].name + "_parts", accumulators[i].dtype, split_ * row_count_));
    }
    out_.Open(fmt::format("if ({} == 0{})", lane_, ragged_ ? " && " + valid_ : ""));
    const bool many = !rows_ && pack_ > 1;
    const std::string e = many ? OpenElements() : "";
    for (std::size_t i = 0; i < pass.items.size(); ++i)
      out_.Line(fmt::format("{}[({}) * {} + {}] = {}{};", partial[i], RowNumber(e), split_, chunk_name_, totals[i],
                            many ? "[" + e + "]" : ""));
    if (many) CloseElements();
    out_.Close();
    const auto lets_before = LetBuffers();
    out_.Launch(
        {.grid_x = Units() * split_, .reads = Reads(), .scratch_reads = lets_before, .scratch_writes = partial});

    // 2. The chunks of a row together.
    WithoutPacks([&] {
      out_.BeginKernel("finish", kFinishThreads);
      let_names_.clear();
      loaded_.clear();
      // A thread a row, or a block.
      const bool alone = split_ <= kFewChunks;
      if (alone) {
        row_ = out_.OpenThreads("row", row_count_);
      } else {
        lane_ = out_.Fresh("lane");
        row_ = out_.Fresh("row");
        out_.Line(fmt::format("const int {} = threadIdx.x;", lane_));
        out_.Line(fmt::format("const {} {} = blockIdx.x;", index(), row_));
      }
      NamePlaces(kept_, row_, 1);
      ReadLets();
      std::vector<std::string> made;
      std::map<int, LetMemory> fresh;
      std::vector<std::string> values, all;
      std::vector<Accumulator> types;
      for (std::size_t i = 0; i < pass.items.size(); ++i) {
        const FoldPass::Item& item = pass.items[i];
        Accumulator& type = types.emplace_back(accumulators[i]);
        if (type.type == "float" && (item.fold == ReduceOp::kSum || item.fold == ReduceOp::kProd)) type.type = "double";
        const std::string part = out_.Fresh("part"), s = out_.Fresh("s"), how = out_.How(item.fold);
        out_.Line(fmt::format("{} {} = {};", type.type, part, out_.Neutral(item.fold, item.body->type)));
        if (alone) out_.Unroll();
        out_.Line(fmt::format(
            "for (int {0} = {1}; {0} < {2}; {0} += {3}) {4} = {5}::Of({4}, {6}({7}[{8} * {2} + {0}]));", s,
            alone ? "0" : lane_, split_, alone ? 1 : kFinishThreads, part, how, type.type, partial[i], row_));
        all.push_back(part);
        if (alone) continue;
        const std::string shared = out_.Fresh("part_shared");
        all.back() = out_.Fresh("total");
        out_.Line(fmt::format("__shared__ __align__(16) {} {}[{}];", type.type, shared, kFinishThreads / 32));
        out_.Line(fmt::format("const {} {} = {}<{}, {}>({}, {});", type.type, all.back(), out_.Helper("Fold"), how,
                              kFinishThreads, part, shared));
      }
      FinishAll(pass, all, types);
      for (const auto& item : pass.items) values.push_back(let_names_.at(item.let));
      const bool ends = last && !keeps_axes();
      if (!alone) out_.Open(fmt::format("if ({} == 0)", lane_));
      if (ends) {
        StoreRow(kernel_.target, result);
      } else {
        for (std::size_t i = 0; i < pass.items.size(); ++i) {
          const FoldPass::Item& item = pass.items[i];
          const ScalarType type = item.finish->type;
          const DType dtype = type == ScalarType::kReal  ? (out_.wide() ? DType::kF64 : DType::kF32)
                              : type == ScalarType::kInt ? DType::kI64
                                                         : DType::kBool;
          made.push_back(out_.Scratch(item.name.empty() ? "value" : item.name, dtype, row_count_));
          fresh[item.let] = {made.back(), item.name.empty() ? "value" : item.name, type};
          out_.Line(fmt::format("{}[{}] = {};", made.back(), row_, values[i]));
        }
        if (last) StoreRows();
      }
      if (!alone) out_.Close();
      auto reads = lets_before;
      reads.insert(reads.end(), partial.begin(), partial.end());
      DeviceWriter::LaunchShape shape{.grid_x = alone ? (row_count_ + kFinishThreads - 1) / kFinishThreads : row_count_,
                                      .reads = Reads(),
                                      .scratch_reads = reads,
                                      .scratch_writes = made};
      if (ends) shape.writes = {kernel_.target};
      for (const auto& one : kernel_.also) {
        if (last && one.of_row) shape.writes.push_back(one.target);
      }
      out_.Launch(shape);
      let_memory_.insert(fresh.begin(), fresh.end());
    });
  }
  if (!keeps_axes()) return;
  // 3. Every element with what was folded, a pack a thread.
  const std::int64_t packs = row_count_ * loops_.Count(true) / pack_;
  out_.BeginKernel("result", kResultThreads);
  let_names_.clear();
  loaded_.clear();
  ragged_ = false;
  // What all rows read alike is best read by blocks next to each other: it stays in the cache.
  const bool side_by_side = rows_ && row_count_ <= kSideBySide && steps_ % kResultThreads == 0;
  if (side_by_side) {
    const std::string at = out_.Fresh("at");
    row_ = out_.Fresh("row");
    out_.Line(fmt::format("const {} {} = blockIdx.x % {};", index(), row_, row_count_));
    out_.Line(fmt::format("const {0} {1} = static_cast<{0}>(blockIdx.x / {2}) * {3} + static_cast<int>(threadIdx.x);",
                          index(), at, row_count_, kResultThreads));
    NamePlaces(kept_, row_, 1);
    NamePlaces(reduced_, at, pack_);
  } else {
    const std::string at = out_.OpenThreads("at", packs);
    std::vector<std::size_t> all(loops_.dims.size());
    for (std::size_t d = 0; d < all.size(); ++d) all[d] = d;
    NamePlaces(all, at, pack_);
  }
  ReadLets();
  StoreElements(result);
  out_.Launch({.grid_x = (packs + kResultThreads - 1) / kResultThreads,
               .reads = Reads(),
               .writes = ElementTargetsOf(kernel_),
               .scratch_reads = LetBuffers()});
}

}  // namespace hone::dsl
