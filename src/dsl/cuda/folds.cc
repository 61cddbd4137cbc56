#include "dsl/cuda/folds.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "dsl/cuda/fold_writer.h"
#include "dsl/knobs.h"
#include "dsl/shape/updated_places.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kOtherSharedBytes = 7 << 10;  // of a block: all but what is on its way

std::vector<DevicePass> DevicePasses(const std::vector<FoldPass>& passes, std::int64_t count) {
  std::vector<DevicePass> device;
  for (const auto& pass : passes) {
    DevicePass one;
    for (const auto& item : pass.items) {
      bool joined = false;
      if (!device.empty() && pass.items.size() == 1) {
        DevicePass& before = device.back();
        for (std::size_t i = 0; i < before.items.size() && !joined; ++i) {
          if (before.centre[i] >= 0 || !IsVariance(item, before.items[i], count)) continue;
          FoldPass::Item squares = item;
          squares.body = before.items[i].body;  // squared where it is added up
          before.items.push_back(std::move(squares));
          before.centre.push_back(static_cast<int>(i));
          joined = true;
        }
      }
      if (joined) continue;
      one.items.push_back(item);
      one.centre.push_back(-1);
    }
    if (!one.items.empty()) device.push_back(std::move(one));
  }
  return device;
}

}  // namespace

FoldWriter::FoldWriter(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out)
    : program_(program), kernel_(kernel), out_(out), loops_(program, kernel), rows_(loops_.dims.back().reduced) {
  for (std::size_t d = 0; d < loops_.dims.size(); ++d) (loops_.dims[d].reduced ? reduced_ : kept_).push_back(d);
  pack_ = PackOf(loops_, IntSetting(kernel, "pack"));
  lanes_ = IntSetting(kernel, "lanes");
  row_count_ = loops_.Count(false);
  const std::int64_t reduced = reduced_.empty() ? 1 : loops_.Count(true);
  steps_ = rows_ ? reduced / pack_ : reduced;
  column_packs_ = rows_ ? 0 : loops_.dims.back().extent / pack_;
  keep_ = WordSetting(kernel, "keep") == "yes";
  split_ = std::min(IntSetting(kernel, "split"), std::max<std::int64_t>(steps_, 1));
  if (split_ > 1) keep_ = false;
  if (rows_ && split_ == 1) cluster_ = IntSetting(kernel, "cluster");
  if (rows_ && split_ == 1) team_ = IntSetting(kernel, "team");
  if (rows_ && split_ == 1) ahead_ = IntSetting(kernel, "ahead");
  stride_ = lanes_ * cluster_ * team_;  // of the threads that share a row
  chunk_ = (steps_ + split_ - 1) / split_;
  if (chunk_ > 0) split_ = (steps_ + chunk_ - 1) / chunk_;
  places_.resize(loops_.dims.size());
  // The dense number of a row among the rows.
  row_strides_.assign(loops_.dims.size(), 0);
  std::int64_t step = 1;
  for (std::size_t n = kept_.size(); n-- > 0; step *= loops_.dims[kept_[n]].extent) row_strides_[kept_[n]] = step;
  FindTurned();
}

void FoldWriter::Emit(const std::vector<FoldPass>& given, const Expr& given_result) {
  std::vector<DevicePass> passes = DevicePasses(given, reduced_.empty() ? 1 : loops_.Count(true));
  if (split_ > 1) return EmitSplit(passes, given_result);
  for (auto& pass : passes) {
    for (auto& item : pass.items) item.body = WithStill(item.body);
  }
  const Expr result = WithStill(given_result);
  for (const auto& one : kernel_.also) WithStill(one.value);
  ChooseKept(passes);
  if (per_lane_ == 0 || RowsABlock() > 1 || !rows_ || team_ > 1 || !CopiesPacks() ||
      AheadBytes() > kernel_.device->limits.block_shared_bytes - kOtherSharedBytes)
    ahead_ = 1;
  FindDivisors(result);
  for (const auto& one : kernel_.also) FindDivisors(one.value);
  if (team_ > 1) PrepareMeeting(passes);
  OpenUnit("fold");
  if (!turned_.empty()) LoadTurned();
  if (!kept_operands_.empty()) LoadKept();
  WriteStill();
  if (cluster_ > 1 && ahead_ == 1) out_.Line(out_.Helper("AwaitCluster") + "();");
  for (std::size_t p = 0; p < passes.size(); ++p) {
    if (team_ > 1 && p + 1 < passes.size() && IsSumOfPowers(passes[p], passes[p + 1])) {
      FoldPowers(passes[p], passes[p + 1]);
      ++p;
      continue;
    }
    if (p + 1 < passes.size() && GoAlong(passes[p], passes[p + 1])) {
      FoldAlong(passes[p], passes[p + 1]);
      ++p;
      continue;
    }
    const auto accumulators = Accumulate(passes[p]);
    FinishAll(passes[p], CombineAll(passes[p], accumulators), accumulators);
  }
  if (keeps_axes()) {
    EachStep([&] { StoreElements(result); });
    if (MakesRows()) {
      OpenFirstLane();
      StoreRows();
      out_.Close();
    }
  } else {
    OpenFirstLane();
    StoreRow(kernel_.target, result);
    out_.Close();
  }
  // Nobody writes the next row's values before all have read this one's.
  if (cluster_ > 1 && ahead_ > 1) out_.Line(out_.Helper("MeetCluster") + "();");
  if (ahead_ > 1) out_.Close();
  if (team_ > 1) out_.Call(MemsetStep{.buffer = meeting_});
  out_.Launch({.grid_x = (Units() + ahead_ - 1) / ahead_ * cluster_ * team_,
               .cluster_x = cluster_,
               .reads = Reads(),
               .writes = TargetsOf(kernel_),
               .scratch_writes = team_ > 1 ? std::vector{meeting_} : std::vector<std::string>(),
               .shared_bytes = ahead_ > 1 ? AheadBytes() : SharedBytes(),
               .together = team_});
}

void FoldWriter::OpenUnit(const std::string& hint) {
  const bool chunked = split_ > 1;
  const std::int64_t rows_a_block = chunked ? 1 : RowsABlock();
  out_.BeginKernel(hint, rows_ ? lanes_ * rows_a_block : 32 * lanes_, static_cast<int>(blocks_a_processor_));
  let_names_.clear();
  reciprocals_.clear();
  loaded_.clear();
  std::string block = "blockIdx.x";
  if (cluster_ > 1) {
    // A block may be written to when it is there.
    if (ahead_ > 1) {
      out_.Line(out_.Helper("MeetCluster") + "();");
    } else {
      out_.Line(out_.Helper("ArriveCluster") + "();");
    }
  }
  lane_ = out_.Fresh("lane");
  if (chunked) {
    chunk_name_ = out_.Fresh("chunk");
    out_.Line(fmt::format("const {} {} = blockIdx.x % {};", index(), chunk_name_, split_));
    block = fmt::format("(blockIdx.x / {})", split_);
  }
  ragged_ = false;
  if (rows_) {
    row_ = out_.Fresh("row");
    ragged_ = row_count_ % rows_a_block != 0;
    if (rows_a_block > 1) {
      out_.Line(fmt::format("const int {} = threadIdx.x % {};", lane_, lanes_));
      if (ragged_) {
        // Those without a row go through the last one, since all threads meet at barriers; they store nothing.
        const std::string wanted = out_.Fresh("wanted");
        out_.Line(
            fmt::format("const {} {} = {} * {} + threadIdx.x / {};", index(), wanted, block, rows_a_block, lanes_));
        out_.Line(
            fmt::format("const {} {} = {} < {} ? {} : {};", index(), row_, wanted, row_count_, wanted, row_count_ - 1));
        valid_ = fmt::format("{} < {}", wanted, row_count_);
      } else {
        out_.Line(fmt::format("const {} {} = {} * {} + threadIdx.x / {};", index(), row_, block, rows_a_block, lanes_));
      }
    } else if (ahead_ > 1) {
      out_.Line(cluster_ > 1
                    ? fmt::format("const int {} = blockIdx.x % {} * {} + threadIdx.x;", lane_, cluster_, lanes_)
                    : fmt::format("const int {} = threadIdx.x;", lane_));
      const std::string first = out_.Fresh("first");
      end_row_ = out_.Fresh("end_row");
      out_.Line(fmt::format("const {} {} = blockIdx.x{} * {};", index(), first,
                            cluster_ > 1 ? fmt::format(" / {}", cluster_) : "", ahead_));
      out_.Line(fmt::format("const {0} {1} = {2} + {3} < {4} ? {2} + {3} : {4};", index(), end_row_, first, ahead_,
                            row_count_));
      DeclareAhead();
      fetch_ = out_.Fresh("fetch");
      const std::string next = out_.Fresh("next");
      out_.Line(fmt::format("// The elements of a row, on their way to this thread's own place in shared memory."));
      out_.Open(fmt::format("const auto {} = [&]({} {})", fetch_, index(), next));
      NamePlaces(kept_, next, 1);
      FetchAhead();
      out_.CloseWith(";");
      out_.Line(fmt::format("{}({});", fetch_, first));
      out_.Open(fmt::format("for ({0} {1} = {2}; {1} < {3}; ++{1})", index(), row_, first, end_row_));
    } else if (team_ > 1) {
      OpenTeam();
    } else if (cluster_ > 1) {
      out_.Line(fmt::format("const int {} = blockIdx.x % {} * {} + threadIdx.x;", lane_, cluster_, lanes_));
      out_.Line(fmt::format("const {} {} = blockIdx.x / {};", index(), row_, cluster_));
    } else {
      out_.Line(fmt::format("const int {} = threadIdx.x;", lane_));
      out_.Line(fmt::format("const {} {} = {};", index(), row_, block));
    }
    NamePlaces(kept_, row_, 1);
  } else {
    const std::string column = out_.Fresh("column");
    out_.Line(fmt::format("const int {} = threadIdx.x / 32;", lane_));
    ragged_ = column_packs_ % 32 != 0;
    const std::string wanted = ragged_ ? out_.Fresh("wanted") : column;
    out_.Line(fmt::format("const {} {} = {} % {} * 32 + threadIdx.x % 32;", index(), wanted, block, ColumnBlocks()));
    if (ragged_) {
      out_.Line(fmt::format("const {} {} = {} < {} ? {} : {};", index(), column, wanted, column_packs_, wanted,
                            column_packs_ - 1));
      valid_ = fmt::format("{} < {}", wanted, column_packs_);
    }
    std::vector<std::size_t> outer = kept_;
    outer.pop_back();
    if (!outer.empty()) {
      const std::string above = out_.Fresh("outer");
      out_.Line(fmt::format("const {} {} = {} / {};", index(), above, block, ColumnBlocks()));
      NamePlaces(outer, above, 1);
    }
    NamePlaces({kept_.back()}, column, pack_);
  }
}

void FoldWriter::ChooseKept(const std::vector<DevicePass>& passes) {
  per_lane_ = 0;
  kept_operands_.clear();
  if (!keep_ || steps_ == 0) return;
  const std::int64_t per_lane = (steps_ + stride_ - 1) / stride_;
  for (const auto& pass : passes) {
    for (const auto& item : pass.items) {
      Visit(item.body, [&](const ExprNode& node) {
        if (node.kind != Expr::Kind::kLoad) return;
        const auto o = static_cast<std::size_t>(node.buffer);
        const bool varies = std::any_of(reduced_.begin(), reduced_.end(),
                                        [&](std::size_t d) { return loops_.dims[d].strides[o] != 0; });
        const bool own =
            std::any_of(kept_.begin(), kept_.end(), [&](std::size_t d) { return loops_.dims[d].strides[o] != 0; }) ||
            row_count_ == 1;
        if (varies && own && !turned_.contains(node.buffer) && (pack_ == 1 || LoadsInPacks(loops_, kernel_, o, pack_)))
          kept_operands_[node.buffer];
      });
    }
  }
  if (team_ > 1 && !kept_operands_.empty()) {
    if (ShareOut(per_lane)) {
      per_lane_ = per_lane;
    } else {
      kept_operands_.clear();
    }
    return;
  }
  if (kept_operands_.empty() || per_lane * pack_ * static_cast<std::int64_t>(kept_operands_.size()) >
                                    MostKept(kernel_, rows_ ? lanes_ : 32 * lanes_)) {
    kept_operands_.clear();
    if (turned_.empty()) return;
  }
  per_lane_ = per_lane;
}

std::string FoldWriter::PackType(int operand) {
  const int buffer = kernel_.operands[static_cast<std::size_t>(operand)].buffer;
  return dsl::PackType(out_, DeviceType(program_.buffers[static_cast<std::size_t>(buffer)].dtype), pack_);
}

std::string FoldWriter::PackAt(int operand) {
  return PackText(PackType(operand), out_.BufferName(kernel_.operands[static_cast<std::size_t>(operand)].buffer),
                  loops_.OperandAddress(operand, places_));
}

void FoldWriter::DeclareAhead() {
  const std::string memory = out_.Fresh("memory");
  out_.Line(fmt::format("extern __shared__ __align__(16) unsigned char {}[];", memory));
  std::int64_t offset = 0;
  for (const auto& [operand, unused] : kept_operands_) {
    const std::string name =
        out_.Fresh(out_.BufferName(kernel_.operands[static_cast<std::size_t>(operand)].buffer) + "_ahead");
    out_.Line(fmt::format("{0}* const {1} = reinterpret_cast<{0}*>({2} + {3}) + threadIdx.x;", PackType(operand), name,
                          memory, offset));
    offset += per_lane_ * lanes_ * pack_ * ElementBytes(operand);
    ahead_names_[operand] = name;
  }
}

void FoldWriter::FetchAhead() {
  EachStep([&] {
    for (const auto& [operand, name] : ahead_names_) {
      std::string from = PackAt(operand);  // "*reinterpret_cast<const T*>(...)"
      out_.Line(fmt::format("{}({} + {} * {}, {});", out_.Helper("CopyAhead"), name, step_, lanes_, from.substr(1)));
    }
  });
  step_.clear();
}

void FoldWriter::LoadKept() {
  if (team_ > 1) return LoadShares();
  for (auto& [operand, name] : kept_operands_) {
    name = out_.Fresh(out_.BufferName(kernel_.operands[static_cast<std::size_t>(operand)].buffer) + "_row");
    out_.Line(fmt::format("{} {}[{}];", PackType(operand), name, per_lane_));
  }
  if (ahead_ > 1) out_.Line(out_.Helper("WaitForCopies") + "();");
  EachStep([&] {
    for (const auto& [operand, name] : kept_operands_) {
      out_.Line(ahead_ > 1 ? fmt::format("{}[{}] = {}[{} * {}];", name, step_, ahead_names_.at(operand), step_, lanes_)
                           : fmt::format("{}[{}] = {};", name, step_, PackAt(operand)));
    }
  });
  if (ahead_ > 1) out_.Line(fmt::format("if ({0} + 1 < {1}) {2}({0} + 1);", row_, end_row_, fetch_));
}

void FoldWriter::LoadPacks(const std::vector<Expr>& exprs) {
  if (pack_ == 1) return;
  for (const int operand : OperandsOf(exprs)) {
    if (per_lane_ > 0 && kept_operands_.contains(operand)) {
      if (!in_shared_) continue;
      loaded_[operand] =
          out_.Fresh(out_.BufferName(kernel_.operands[static_cast<std::size_t>(operand)].buffer) + "_pack");
      out_.Line(fmt::format("const {} {} = {}[{} * {}];", PackType(operand), loaded_.at(operand),
                            shared_names_.at(operand), step_, lanes_));
      continue;
    }
    const bool turned = turned_.contains(operand);
    if (!turned && !LoadsInPacks(loops_, kernel_, static_cast<std::size_t>(operand), pack_)) continue;
    const std::string name =
        out_.Fresh(out_.BufferName(kernel_.operands[static_cast<std::size_t>(operand)].buffer) + "_pack");
    out_.Line(
        fmt::format("const {} {} = {};", PackType(operand), name, turned ? TurnedPack(operand) : PackAt(operand)));
    loaded_[operand] = name;
  }
}

std::string FoldWriter::LoadText(const ExprNode& load, const std::string& element) {
  if (load.kind == Expr::Kind::kValue) {
    if (load.value == kIt) return it_;
    const std::string& name = let_names_.at(load.value.number);
    return !rows_ && pack_ > 1 ? fmt::format("{}[{}]", name, element) : name;
  }
  const int buffer = kernel_.operands[static_cast<std::size_t>(load.buffer)].buffer;
  if (in_shared_ && !loaded_.contains(load.buffer)) {
    if (const auto it = shared_names_.find(load.buffer); it != shared_names_.end()) {
      return LoadedText(out_, buffer,
                        fmt::format("{}[{} * {}].at[{}]", it->second, step_, lanes_, element.empty() ? "0" : element));
    }
  }
  if (per_lane_ > 0 && !in_shared_ && !step_.empty()) {
    if (const auto it = kept_operands_.find(load.buffer); it != kept_operands_.end())
      return LoadedText(out_, buffer, fmt::format("{}[{}].at[{}]", it->second, step_, element.empty() ? "0" : element));
  }
  if (const auto it = loaded_.find(load.buffer); it != loaded_.end())
    return LoadedText(out_, buffer, fmt::format("{}.at[{}]", it->second, element));
  if (const auto it = turned_.find(load.buffer); it != turned_.end())
    return LoadedText(out_, buffer, fmt::format("{}[{}]", it->second, places_.back()));
  std::vector<std::string> places = places_;
  if (!element.empty() && element != "0") places.back() = fmt::format("{} + {}", places.back(), element);
  return LoadedText(out_, buffer,
                    fmt::format("{}[{}]", out_.BufferName(buffer), loops_.OperandAddress(load.buffer, places)));
}

std::string FoldWriter::OpenElements() {
  if (pack_ == 1) return "";
  const std::string e = out_.Fresh("e");
  out_.Unroll();
  out_.Open(fmt::format("for (int {} = 0; {} < {}; ++{})", e, e, pack_, e));
  return e;
}

void FoldWriter::FindDivisors(const Expr& result) {
  if (!keeps_axes() || out_.wide()) return;
  Visit(result, [&](const ExprNode& node) {
    if (node.kind != Expr::Kind::kBinary || node.binary != BinaryOp::kDiv) return;
    if (const Expr& by = node.operands[1]; IsLet(by) && by->type == ScalarType::kReal)
      divisors_.insert(by->value.number);
  });
}

std::string FoldWriter::Reciprocal(const Expr& divisor) const {
  if (!IsLet(divisor)) return "";
  const auto it = reciprocals_.find(divisor->value.number);
  return it == reciprocals_.end() ? "" : it->second;
}

std::string FoldWriter::TargetAddress() const {
  const std::vector<std::int64_t> strides = loops_.TargetStrides();
  std::vector<std::string> places = places_;
  for (std::size_t d = 0; d < places.size(); ++d) {
    if (strides[d] == 0) places[d] = "0";
  }
  return Address(places, strides, 0);
}

void FoldWriter::StoreElements(const Expr& result) {
  const std::vector<int> targets = ElementTargetsOf(kernel_);
  std::vector<Expr> values = ElementsOf(kernel_);
  values[0] = result;
  for (Expr& value : values) value = WithStill(value);
  LoadPacks(values);
  if (pack_ == 1 && ReadsWhatItReplaces(kernel_)) {  // packs have been loaded
    std::vector<std::string> made;
    for (std::size_t t = 0; t < targets.size(); ++t) {
      const DType dtype = program_.buffers[static_cast<std::size_t>(targets[t])].dtype;
      made.push_back(out_.Fresh("made"));
      const std::string value = ElementValue(targets[t], values[t], "");
      out_.Line(fmt::format("const {} {} = {};", DeviceType(dtype), made.back(), value));
    }
    for (std::size_t t = 0; t < targets.size(); ++t) {
      out_.Line(fmt::format("{}{}[{}] = {};", ragged_ ? "if (" + valid_ + ") " : "", out_.BufferName(targets[t]),
                            TargetAddress(), made[t]));
    }
    return;
  }
  for (std::size_t t = 0; t < targets.size(); ++t) StoreElement(targets[t], values[t]);
}

std::string FoldWriter::ElementValue(int target, const Expr& result, const std::string& element) {
  const DType dtype = program_.buffers[static_cast<std::size_t>(target)].dtype;
  DeviceExpr expr(out_, [&](const ExprNode& load) { return LoadText(load, element); });
  expr.Reciprocals([&](const Expr& divisor) { return Reciprocal(divisor); });
  expr.BeCoarseWhereRounded({result}, {dtype});
  return DeviceExpr::Stored(expr.Text(result), result->type, dtype);
}

void FoldWriter::StoreElement(int target, const Expr& result) {
  const DType dtype = program_.buffers[static_cast<std::size_t>(target)].dtype;
  const std::string type = DeviceType(dtype), only = ragged_ ? "if (" + valid_ + ") " : "";
  std::string made, e;
  if (pack_ > 1) {
    made = out_.Fresh("made");
    out_.Line(fmt::format("{} {};", dsl::PackType(out_, type, pack_), made));
    e = OpenElements();
  }
  const std::string value = ElementValue(target, result, e);
  if (pack_ == 1) {
    out_.Line(fmt::format("{}{}[{}] = {};", only, out_.BufferName(target), TargetAddress(), value));
    return;
  }
  out_.Line(fmt::format("{}.at[{}] = {};", made, e, value));
  CloseElements();
  out_.Line(fmt::format("{}*reinterpret_cast<Pack<{}, {}>*>({} + {}) = {};", only, type, pack_, out_.BufferName(target),
                        TargetAddress(), made));
}

bool FoldWriter::MakesRows() const {
  return std::any_of(kernel_.also.begin(), kernel_.also.end(), [](const KernelAlso& one) { return one.of_row; });
}

void FoldWriter::StoreRows() {
  for (const auto& one : kernel_.also) {
    if (one.of_row) StoreRow(one.target, WithStill(one.value));
  }
}

void FoldWriter::OpenFirstLane() { out_.Open(fmt::format("if ({} == 0{})", lane_, ragged_ ? " && " + valid_ : "")); }

void FoldWriter::StoreRow(int target, const Expr& result) {
  const bool many = !rows_ && pack_ > 1;
  const std::string e = many ? OpenElements() : "";
  DeviceExpr expr(out_, [&](const ExprNode& load) { return LoadText(load, e); });
  const std::string value =
      DeviceExpr::Stored(expr.Text(result), result->type, program_.buffers[static_cast<std::size_t>(target)].dtype);
  out_.Line(fmt::format("{}[{}] = {};", out_.BufferName(target), RowNumber(e), value));
  if (many) CloseElements();
}

void EmitFoldsCuda(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out,
                   const std::vector<FoldPass>& passes, const Expr& result) {
  FoldWriter(program, kernel, out).Emit(passes, result);
}

}  // namespace hone::dsl
