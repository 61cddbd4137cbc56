#include "dsl/cpu/folds.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "dsl/cpu/expr_writer.h"
#include "dsl/cpu/fold_emitter.h"
#include "dsl/element.h"
#include "dsl/shape/still_parts.h"
#include "dsl/shape/updated_places.h"

namespace hone::dsl {

FoldEmitter::FoldEmitter(const KernelProgram& program, const Kernel& kernel, Writer& writer)
    : kernel_(kernel), writer_(writer), loops_(program, kernel) {
  rows_ = loops_.dims.back().reduced;
  bool any = false;
  for (const auto& dim : loops_.dims) any |= dim.reduced;
  if (!any) {  // a fold over one element
    LoopDim one = loops_.dims[0];
    one.extent = 1;
    one.reduced = true;
    std::fill(one.strides.begin(), one.strides.end(), 0);
    one.target_stride = 0;
    one.var = "r";
    loops_.dims.insert(loops_.dims.begin(), one);
  }
  for (std::size_t d = 0; d < loops_.dims.size(); ++d) (loops_.dims[d].reduced ? reduced_ : kept_).push_back(d);
  accumulators_ = std::max<std::int64_t>(1, IntSetting(kernel, "accumulators"));
  columns_ = std::max<std::int64_t>(1, IntSetting(kernel, "columns"));
  split_ = std::max<std::int64_t>(1, IntSetting(kernel, "split"));
  kept_count_ = loops_.Count(false);
  reduced_count_ = 1;
  for (const auto d : reduced_) reduced_count_ *= loops_.dims[d].extent;
  index_ = loops_.Vars();
  // The dense position of a row among the rows.
  kept_strides_.assign(loops_.dims.size(), 0);
  std::int64_t step = 1;
  for (std::size_t n = kept_.size(); n-- > 0; step *= loops_.dims[kept_[n]].extent) kept_strides_[kept_[n]] = step;
  // The dimension that is cut: the longest one, the outer one of equals; its rows then lie apart.
  split_dim_ = reduced_[0];
  for (const auto d : reduced_) {
    if (loops_.dims[d].extent > loops_.dims[split_dim_].extent) split_dim_ = d;
  }
  const std::int64_t extent = loops_.dims[split_dim_].extent;
  const std::int64_t grain = split_dim_ + 1 == loops_.dims.size() ? 64 : 1;
  chunk_ = (extent + split_ - 1) / split_;
  chunk_ = (chunk_ + grain - 1) / grain * grain;
  if (chunk_ > 0) split_ = (extent + chunk_ - 1) / chunk_;
  if (split_ < 1) split_ = 1;
  const std::string fetch = kernel.family->keeps_axes && rows_ ? WordSetting(kernel, "prefetch") : "no";
  if (fetch == "ahead") fetch_ = Fetch::kAhead;
  if (fetch == "row" && !kept_.empty()) fetch_ = Fetch::kRow;
  if (!rows_) {
    const LoopDim& inner = loops_.dims.back();
    columns_ = std::min(columns_, inner.extent);
    even_columns_ = columns_ > 0 && inner.extent % columns_ == 0;
    column_ = writer_.Fresh("c");
  }
}

void FoldEmitter::Emit(const std::vector<FoldPass>& wanted, const Expr& wanted_result) {
  std::vector<FoldPass> passes = wanted;
  if (AreMoments(wanted)) passes = {{.items = {wanted[0].items[0], wanted[1].items[0]}, .keep = {}, .moments = true}};
  const bool by_blocks = passes[0].online && passes[0].keep, keeps = kernel_.family->keeps_axes;
  for (auto& pass : passes) {
    for (auto& item : pass.items) item.body = HoistStill(item.body);
    if (pass.keep) pass.keep = HoistStill(pass.keep);
  }
  Expr result = HoistStill(wanted_result);
  std::vector<Expr> others;
  for (const auto& one : kernel_.also) others.push_back(one.of_row ? one.value : HoistStill(one.value));
  still_ = hoisted_.size();
  if (keeps && !by_blocks) result = Hoist(result);
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (kernel_.also[i].of_row) continue;
    also_.push_back({kernel_.also[i].target, kernel_.also[i].target_type, Hoist(others[i])});
  }
  for (const auto& pass : passes) {
    for (const auto& item : pass.items) {
      if (item.fold == ReduceOp::kMax && IsValue(item.finish, kIt)) maxima_[LetValue(item.let)] = item.body;
    }
  }
  if (split_ > 1) return EmitSplit(passes, result);
  OpenKept(/*with_chunks=*/false);
  WriteHoisted(0, still_);
  for (const auto& pass : passes) {
    last_pass_ = &pass == &passes.back();
    const auto folded = Pass(pass, Ranges({}));
    Finish(pass, folded);
  }
  WriteHoisted(still_, hoisted_.size());
  StoreRows();
  Result(result, Ranges({}));
  CloseKept();
}

bool FoldEmitter::AreMoments(const std::vector<FoldPass>& passes) const {
  if (passes.size() != 2 || passes[0].items.size() != 1 || passes[1].items.size() != 1) return false;
  if (passes[0].keep || passes[1].keep || passes[0].online) return false;
  if (rows_ ? Dim(reduced_.back()).extent < kRowBlock / 8 || reduced_count_ <= kRowBlock
            : Dim(reduced_.back()).extent < 4 * kMomentRows)
    return false;
  return IsVariance(passes[1].items[0], passes[0].items[0], reduced_count_);
}

void FoldEmitter::OpenKept(bool with_chunks, bool shared) {
  std::size_t count = kept_.size() + (with_chunks ? 1 : 0);
  if (count > 0 && shared) writer_.ParallelFor(static_cast<int>(count));
  if (with_chunks) {
    chunk_var_ = chunk_var_.empty() ? writer_.Fresh("s") : chunk_var_;
    writer_.Open(For(chunk_var_, split_));
  }
  for (const auto d : kept_) {
    if (!rows_ && d + 1 == loops_.dims.size()) {
      start_ = Dim(d).var + "0";
      writer_.Open(
          fmt::format("for (long {} = 0; {} < {}; {} += {})", start_, start_, Dim(d).extent, start_, columns_));
      if (!even_columns_) {
        width_ = width_.empty() ? writer_.Fresh("width") : width_;
        writer_.Line(Left(width_, Dim(d).extent, start_, columns_));
      } else {
        width_ = fmt::format("{}", columns_);
      }
      index_[d] = fmt::format("{} + {}", start_, column_);
    } else {
      writer_.Open(For(Dim(d).var, Dim(d).extent));
    }
  }
  depth_ = count;
  if (with_chunks) WriteChunk();
}

void FoldEmitter::WriteChunk() {
  chunk_begin_ = chunk_begin_.empty() ? writer_.Fresh("begin") : chunk_begin_;
  chunk_end_ = chunk_end_.empty() ? writer_.Fresh("end") : chunk_end_;
  const std::int64_t extent = Dim(split_dim_).extent;
  writer_.Line(fmt::format("const long {} = {} * {};", chunk_begin_, chunk_var_, chunk_));
  if (extent % chunk_ == 0) {
    writer_.Line(fmt::format("const long {} = {} + {};", chunk_end_, chunk_begin_, chunk_));
  } else {
    const std::string end = fmt::format("{} + {}", chunk_begin_, chunk_);
    writer_.Line(fmt::format("const long {} = {};", chunk_end_, Lesser(end, fmt::format("{}", extent))));
  }
}

void FoldEmitter::CloseKept() {
  for (std::size_t n = 0; n < depth_; ++n) writer_.Close();
}

std::vector<FoldEmitter::Range> FoldEmitter::Ranges(std::optional<Range> chunk) const {
  std::vector<Range> ranges;
  for (std::size_t d = 0; d < loops_.dims.size(); ++d)
    ranges.push_back(chunk && d == split_dim_ ? *chunk : Whole(Dim(d)));
  return ranges;
}

FoldEmitter::Range FoldEmitter::Chunk() const {
  const std::int64_t extent = Dim(split_dim_).extent;
  return {
      .begin = chunk_begin_, .end = chunk_end_, .count = extent % chunk_ == 0 ? std::optional(chunk_) : std::nullopt};
}

std::string FoldEmitter::ColumnLoop() const {
  return fmt::format("for (long {} = 0; {} < {}; ++{})", column_, column_, width_, column_);
}

std::string FoldEmitter::LoadText(const ExprNode& load, const std::vector<std::string>& index,
                                  const std::string& it) const {
  if (load.kind == Expr::Kind::kLoad) return loops_.Element(writer_, load.buffer, index);
  switch (load.value.kind) {
    case NamedValue::Kind::kIt: return it;
    case NamedValue::Kind::kLet: return lets_.at(load.value.number);
    case NamedValue::Kind::kKept: return loops_.TargetElement(writer_, index);
    case NamedValue::Kind::kText: return hoisted_[static_cast<std::size_t>(load.value.number)].text;
    default: break;
  }
  HONE_CHECK(false, "a value that folds do not know");
  return {};
}

std::vector<std::string> FoldEmitter::Texts(const std::vector<Expr>& exprs, const std::vector<std::string>& index,
                                            const std::string& it) {
  ExprWriter expr(writer_, [&, index, it](const ExprNode& load) { return LoadText(load, index, it); });
  // Nothing is above a maximum that was folded from the same.
  expr.KnowNotAboveZero([&](const ExprNode& exp) {
    const Expr& argument = exp.operands[0];
    if (argument->kind != Expr::Kind::kBinary || argument->binary != BinaryOp::kSub) return false;
    const Expr& top = argument->operands[1];
    if (top->kind != Expr::Kind::kValue) return false;
    const auto maximum = maxima_.find(top->value);
    return maximum != maxima_.end() && SameExpr(maximum->second, argument->operands[0]);
  });
  return expr.Texts(exprs);
}

void FoldEmitter::Finish(const FoldPass& pass, const Folded& folded) {
  if (rows_) {
    for (std::size_t i = 0; i < pass.items.size(); ++i) {
      const auto& item = pass.items[i];
      const std::string value = Texts({item.finish}, index_, Narrow(item, folded[i]))[0];
      const std::string name = writer_.Fresh(item.name);
      writer_.Line(fmt::format("const {} {} = {};", writer_.TypeName(item.finish->type), name, value));
      lets_[item.let] = name;
    }
    return;
  }
  std::vector<std::string> names;
  for (const auto& item : pass.items) {
    names.push_back(writer_.Fresh(item.name));
    writer_.Line(fmt::format("alignas(64) {} {}[{}];", writer_.TypeName(item.finish->type), names.back(), columns_));
  }
  writer_.Line("#pragma omp simd");
  writer_.Open(ColumnLoop());
  for (std::size_t i = 0; i < pass.items.size(); ++i) {
    const auto& item = pass.items[i];
    const std::string value = Texts({item.finish}, index_, Narrow(item, folded[i]))[0];
    lets_[item.let] = fmt::format("{}[{}]", names[i], column_);
    writer_.Line(fmt::format("{} = {};", lets_[item.let], value));
  }
  writer_.Close();
}

Expr FoldEmitter::Hoist(const Expr& e) {
  if (e->operands.empty() || e->kind == Expr::Kind::kLoad) return e;
  if (StandsStill(e) && e->type == ScalarType::kReal) return Hoisted(e);
  if (e->kind == Expr::Kind::kBinary && e->binary == BinaryOp::kDiv && e->type == ScalarType::kReal &&
      StandsStill(e->operands[1]))
    return Hoist(e->operands[0]) * Hoisted(Expr(1.0) / e->operands[1]);
  std::vector<Expr> operands;
  for (const auto& operand : e->operands) operands.push_back(Hoist(operand));
  return WithOperands(e, std::move(operands));
}

Expr FoldEmitter::Hoisted(const Expr& e) {
  std::size_t i = 0;
  while (i < hoisted_.size() && !SameExpr(e, hoisted_[i].expr)) ++i;
  if (i == hoisted_.size()) hoisted_.push_back({e, {}});
  return Value({NamedValue::Kind::kText, static_cast<int>(i)}, ScalarType::kReal);
}

bool FoldEmitter::StandsStill(const Expr& e) {
  bool lets = false, still = true;
  Visit(e, [&](const ExprNode& node) {
    if (node.kind == Expr::Kind::kValue) {
      const bool let = node.value.kind == NamedValue::Kind::kLet;
      lets |= let;
      still &= let;
    }
    if (node.kind == Expr::Kind::kLoad || node.kind == Expr::Kind::kIndex || node.kind == Expr::Kind::kReduce)
      still = false;
  });
  return lets && still;
}

Expr FoldEmitter::HoistStill(const Expr& e) {
  if (!rows_ || !kernel_.family->keeps_axes) return e;
  return WithStillParts(kernel_, e, [&](const Expr& part) { return Hoisted(part); });
}

void FoldEmitter::WriteHoisted(std::size_t first, std::size_t end) {
  for (std::size_t i = first; i < end; ++i) {
    auto& [expr, text] = hoisted_[i];
    const std::string name = writer_.Fresh("once");
    if (rows_) {
      const std::string value = Texts({expr}, index_)[0];
      writer_.Line(fmt::format("const {} {} = {};", writer_.real(), name, value));
      text = name;
      continue;
    }
    writer_.Line(fmt::format("alignas(64) {} {}[{}];", writer_.real(), name, columns_));
    writer_.Line("#pragma omp simd");
    writer_.Open(ColumnLoop());
    const std::string value = Texts({expr}, index_)[0];
    text = fmt::format("{}[{}]", name, column_);
    writer_.Line(fmt::format("{} = {};", text, value));
    writer_.Close();
  }
}

void FoldEmitter::StoreRows(bool by_all) {
  for (const auto& one : kernel_.also) {
    if (!one.of_row) continue;
    if (by_all) {
      writer_.Line("#pragma omp master");
      writer_.Open("");
    }
    if (!rows_) {
      writer_.Line("#pragma omp simd");
      writer_.Open(ColumnLoop());
    }
    writer_.Line(
        fmt::format("{}[{}] = {};", writer_.BufferName(one.target), KeptAddress(), Texts({one.value}, index_)[0]));
    if (!rows_) writer_.Close();
    if (by_all) writer_.Close();
  }
}

std::string FoldEmitter::Narrow(const FoldPass::Item& item, const std::string& text) const {
  if (item.body->type != ScalarType::kReal || writer_.wide()) return Wrap(text);
  return Adds(item) && several_ ? fmt::format("static_cast<{}>({})", writer_.real(), text) : Wrap(text);
}

void FoldEmitter::Result(const Expr& result, const std::vector<Range>& ranges) {
  if (!kernel_.family->keeps_axes) {
    if (!rows_) {
      writer_.Line("#pragma omp simd");
      writer_.Open(ColumnLoop());
    }
    Store(result);
    if (!rows_) writer_.Close();
    return;
  }
  if (!tops_.empty()) return ResultByBlocks(result, ranges);
  const std::size_t opened = OpenReduced(ranges);
  const std::size_t inner = reduced_.back();
  const std::string& var = Dim(inner).var;
  const Range& range = ranges[inner];
  std::string begin = range.begin;
  if (fetch_ != Fetch::kNo && (!range.count || *range.count >= kFetchBlock)) {
    writer_.Open(fmt::format("for (long {} = {}; {} + {} <= {}; {} += {})", var, begin, var, kFetchBlock, range.end,
                             var, kFetchBlock));
    const std::vector<std::string> fetched = FetchedIndex(inner);
    if (fetch_ == Fetch::kAhead) loops_.FetchOperands(writer_, fetched, kFetchBlock);
    loops_.FetchTarget(writer_, fetched, kFetchBlock);
    const std::string at = writer_.Fresh("at");
    writer_.Line("#pragma omp simd");
    writer_.Open(For(at, kFetchBlock));
    index_[inner] = Plus(var, at);
    Store(result);
    index_[inner] = var;
    writer_.Close();
    writer_.Close();
    begin = range.count ? Plus(range.begin, *range.count / kFetchBlock * kFetchBlock)
                        : fmt::format("{} - ({} - {}) % {}", range.end, range.end, range.begin, kFetchBlock);
  }
  if (begin == range.end) {
    for (std::size_t n = 0; n < opened; ++n) writer_.Close();
    return;
  }
  if (rows_) {
    writer_.Line("#pragma omp simd");
    writer_.Open(fmt::format("for (long {} = {}; {} < {}; ++{})", var, begin, var, range.end, var));
  } else {
    // Upwards: the rows that were read last are in the cache yet.
    writer_.Open(fmt::format("for (long {} = {} - 1; {} >= {}; --{})", var, range.end, var, begin, var));
    writer_.Line("#pragma omp simd");
    writer_.Open(ColumnLoop());
  }
  Store(result);
  if (!rows_) writer_.Close();
  writer_.Close();
  for (std::size_t n = 0; n < opened; ++n) writer_.Close();
}

void FoldEmitter::ResultByBlocks(const Expr& result, const std::vector<Range>& ranges) {
  DeclareTops(/*anew=*/false);
  const std::string& var = Dim(reduced_.back()).var;
  const Range& range = ranges[reduced_.back()];
  const std::string begin = var + "_block", end = writer_.Fresh(var + "_end"), factor = writer_.Fresh("factor");
  // Backwards: the blocks that were kept last are in the cache yet, those kept first may have left it.
  const std::int64_t extent = Dim(reduced_.back()).extent;
  const bool divides = range.count && *range.count % kOnlineBlock == 0;
  const std::string last = range.begin == "0" && range.count
                               ? fmt::format("{}", (extent - 1) / kOnlineBlock * kOnlineBlock)
                           : divides ? fmt::format("{} - {}", range.end, kOnlineBlock)
                                     : fmt::format("{} + ({} - {} - 1) / {} * {}", range.begin, range.end, range.begin,
                                                   kOnlineBlock, kOnlineBlock);
  writer_.Open(
      fmt::format("for (long {} = {}; {} >= {}; {} -= {})", begin, last, begin, range.begin, begin, kOnlineBlock));
  writer_.Line(fmt::format("const long {} = {};", end, Lesser(Plus(begin, kOnlineBlock), range.end)));
  writer_.Line(fmt::format("const {} {} = {}({}[{}] - {}) * {};", writer_.real(), factor, writer_.Libm("exp"), tops_,
                           BlockNumber(begin, range.begin), lets_.at(0), lets_.at(1)));
  const std::string scale = std::exchange(lets_[1], factor);
  writer_.Line("#pragma omp simd");
  writer_.Open(fmt::format("for (long {} = {}; {} < {}; ++{})", var, begin, var, end, var));
  Store(result);
  writer_.Close();
  writer_.Close();
  lets_[1] = scale;
}

void FoldEmitter::Store(const Expr& result) {
  std::vector<Expr> values = {result};
  for (const auto& one : also_) values.push_back(one.value);
  auto texts = Texts(values, index_);
  if (ReadsWhatItReplaces(kernel_)) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const DType type = i == 0 ? kernel_.target_type : also_[i - 1].target_type;
      const std::string made = writer_.Fresh("made");
      writer_.Line(fmt::format("const {} {} = {};", ElementType(type), made, texts[i]));
      texts[i] = made;
    }
  }
  writer_.Line(fmt::format("{} = {};", loops_.TargetElement(writer_, index_), texts[0]));
  for (std::size_t i = 0; i < also_.size(); ++i)
    writer_.Line(fmt::format("{} = {};", loops_.MadeElement(writer_, also_[i].target, index_), texts[i + 1]));
}

void EmitFolds(const KernelProgram& program, const Kernel& kernel, Writer& writer, const std::vector<FoldPass>& passes,
               const Expr& result) {
  FoldEmitter(program, kernel, writer).Emit(passes, result);
}

}  // namespace hone::dsl
