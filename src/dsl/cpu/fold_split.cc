// Folded ranges cut into chunks for several threads, whose partial results are put together in their order.
#include <fmt/format.h>

#include "dsl/cpu/fold_emitter.h"

namespace hone::dsl {

std::vector<std::string> FoldEmitter::Partials(const FoldPass& pass) {
  std::vector<std::string> partials;
  for (const auto& item : pass.items)
    partials.push_back(writer_.Scratch(item.name + "_parts", TotalType(item), split_ * kept_count_));
  return partials;
}

std::string FoldEmitter::PartialAt(const std::string& partials) const {
  return fmt::format("{}[{}]", partials, Plus(fmt::format("{} * {}", chunk_var_, kept_count_), KeptAddress()));
}

void FoldEmitter::StorePartials(const std::vector<std::string>& partials, const Folded& folded) {
  if (!rows_) {
    writer_.Line("#pragma omp simd");
    writer_.Open(ColumnLoop());
  }
  for (std::size_t i = 0; i < partials.size(); ++i)
    writer_.Line(fmt::format("{} = {};", PartialAt(partials[i]), folded[i]));
  if (!rows_) writer_.Close();
}

void FoldEmitter::EmitSplit(const std::vector<FoldPass>& passes, const Expr& result) {
  if (kernel_.family->keeps_axes) return EmitSplitKept(passes, result);
  for (const auto& pass : passes) {
    const std::vector<std::string> partials = Partials(pass);
    writer_.Comment("Each chunk on its own.");
    OpenKept(/*with_chunks=*/true);
    StorePartials(partials, Pass(pass, Ranges(Chunk())));
    CloseKept();
    writer_.Comment("The chunks together, in order.");
    OpenKept(/*with_chunks=*/false);
    Combine(pass, partials, &result);
    CloseKept();
  }
}

void FoldEmitter::EmitSplitKept(const std::vector<FoldPass>& passes, const Expr& result) {
  std::vector<std::vector<std::string>> partials;
  for (const auto& pass : passes) partials.push_back(Partials(pass));
  if (writer_.parallel()) {
    writer_.Line(fmt::format("#pragma omp parallel num_threads({})", writer_.ThreadsText()));
    writer_.Open("");
  }
  OpenKept(/*with_chunks=*/false, /*shared=*/false);
  const std::size_t kept = depth_;
  WriteHoisted(0, still_);
  for (std::size_t i = 0; i < passes.size(); ++i) {
    writer_.Comment("Each chunk on its own.");
    last_pass_ = i + 1 == passes.size();
    OpenChunks(/*waits=*/true);
    StorePartials(partials[i], Pass(passes[i], Ranges(Chunk())));
    writer_.Close();
    writer_.Comment("The chunks together, in order.");
    Combine(passes[i], partials[i], nullptr);
  }
  WriteHoisted(still_, hoisted_.size());
  StoreRows(/*by_all=*/writer_.parallel());
  OpenChunks(/*waits=*/false);
  Result(result, Ranges(Chunk()));
  writer_.Close();
  depth_ = kept;
  CloseKept();
  if (writer_.parallel()) writer_.Close();
}

void FoldEmitter::OpenChunks(bool waits) {
  if (writer_.parallel()) writer_.Line(fmt::format("#pragma omp for schedule(static){}", waits ? "" : " nowait"));
  chunk_var_ = chunk_var_.empty() ? writer_.Fresh("s") : chunk_var_;
  writer_.Open(For(chunk_var_, split_));
  WriteChunk();
}

std::string FoldEmitter::ChunkCount() const {
  const std::int64_t extent = Dim(split_dim_).extent, others = reduced_count_ / extent;
  if (extent % chunk_ == 0) return fmt::format("{}", chunk_ * others);
  const std::string left = fmt::format("{} - {} * {}", extent, chunk_var_, chunk_);
  return fmt::format("({}) * {}", Lesser(left, fmt::format("{}", chunk_)), others);
}

void FoldEmitter::Combine(const FoldPass& pass, const std::vector<std::string>& partials, const Expr* result) {
  several_ = true;
  std::vector<std::string> arrays;
  if (!result && !rows_) {
    for (const auto& item : pass.items) {
      arrays.push_back(writer_.Fresh(item.name));
      writer_.Line(fmt::format("alignas(64) {} {}[{}];", writer_.TypeName(item.finish->type), arrays.back(), columns_));
    }
  }
  if (!rows_) writer_.Open(ColumnLoop());
  Folded folded;
  for (const auto& item : pass.items) {
    folded.push_back(writer_.Fresh(item.name + "_all"));
    writer_.Line(fmt::format("{} {} = {};", TotalType(item), folded.back(), Start(item)));
  }
  if (pass.online) {
    // Sums of different maxima meet at the largest; a chunk of nothing but minus infinity has none to bring.
    const FoldPass::Item& top = pass.items[0];
    writer_.Line(fmt::format("{} {}", For(chunk_var_, split_), Update(top, folded[0], PartialAt(partials[0]))));
    writer_.Open(For(chunk_var_, split_));
    writer_.Line(fmt::format("if ({} == {}) continue;", PartialAt(partials[0]), Start(top)));
    writer_.Line(fmt::format("{} += {} * {}({} - {});", folded[1], PartialAt(partials[1]), writer_.Libm("exp"),
                             PartialAt(partials[0]), folded[0]));
    writer_.Close();
  } else if (pass.moments) {
    writer_.Line(
        fmt::format("{} {}", For(chunk_var_, split_), Update(pass.items[0], folded[0], PartialAt(partials[0]))));
    const std::string count = writer_.Fresh("count"), delta = writer_.Fresh("delta");
    writer_.Open(For(chunk_var_, split_));
    writer_.Line(fmt::format("const double {} = {};", count, ChunkCount()));
    writer_.Line(fmt::format("const double {} = {} / {} - {} / {};", delta, PartialAt(partials[0]), count, folded[0],
                             reduced_count_));
    writer_.Line(fmt::format("{} += {} + {} * {} * {};", folded[1], PartialAt(partials[1]), count, delta, delta));
    writer_.Close();
  } else {
    writer_.Open(For(chunk_var_, split_));
    for (std::size_t i = 0; i < pass.items.size(); ++i)
      writer_.Line(Update(pass.items[i], folded[i], PartialAt(partials[i])));
    writer_.Close();
  }
  for (std::size_t i = 0; i < pass.items.size(); ++i) {
    const auto& item = pass.items[i];
    const std::string value = Texts({item.finish}, index_, Narrow(item, folded[i]))[0];
    if (arrays.empty()) {
      const std::string name = writer_.Fresh(item.name);
      writer_.Line(fmt::format("const {} {} = {};", writer_.TypeName(item.finish->type), name, value));
      lets_[item.let] = name;
    } else {
      lets_[item.let] = fmt::format("{}[{}]", arrays[i], column_);
      writer_.Line(fmt::format("{} = {};", lets_[item.let], value));
    }
  }
  if (result) Store(*result);
  if (!rows_) writer_.Close();
}

}  // namespace hone::dsl
