#include "dsl/cuda/folds.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "dsl/cuda/expr.h"
#include "dsl/cuda/fold_knobs.h"
#include "dsl/cuda/map.h"
#include "dsl/knobs.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kManyElements = 256;       // that one thread sums: beyond, it sums in double
constexpr std::int64_t kResultThreads = 256;      // that compute the elements of a split row
constexpr std::int64_t kSharedBytes = 220 << 10;  // that a block may have for what is on its way
constexpr std::int64_t kSideBySide = 64;          // rows
constexpr std::int64_t kFinishThreads = 128;      // that combine the chunks of a row

// A fold as it is done here.
struct DevicePass {
  std::vector<FoldPass::Item> items;
  // Of an item: the earlier one of this pass whose sum's square over the count has to be taken from its own; -1: none.
  // A variance is had so in the pass of its mean. Both are summed in double, whose spare bits are more than what
  // taking two large sums from each other costs.
  std::vector<int> centre;
};

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

class FoldWriter {
 public:
  FoldWriter(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out)
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
    if (rows_ && split_ == 1) ahead_ = IntSetting(kernel, "ahead");
    stride_ = lanes_ * cluster_;  // of the threads that share a row
    chunk_ = (steps_ + split_ - 1) / split_;
    if (chunk_ > 0) split_ = (steps_ + chunk_ - 1) / chunk_;
    places_.resize(loops_.dims.size());
    // The dense number of a row among the rows.
    row_strides_.assign(loops_.dims.size(), 0);
    std::int64_t step = 1;
    for (std::size_t n = kept_.size(); n-- > 0; step *= loops_.dims[kept_[n]].extent) row_strides_[kept_[n]] = step;
  }

  void Emit(const std::vector<FoldPass>& given, const Expr& result) {
    if (row_count_ == 0) return;
    const std::vector<DevicePass> passes = DevicePasses(given, reduced_.empty() ? 1 : loops_.Count(true));
    if (split_ > 1) return EmitSplit(passes, result);
    ChooseKept(passes);
    if (per_lane_ == 0 || RowsABlock() > 1 || !rows_ || AheadBytes() > kSharedBytes) ahead_ = 1;
    OpenUnit("fold");
    if (per_lane_ > 0) LoadKept();
    for (const auto& pass : passes) {
      const auto accumulators = Accumulate(pass);
      std::vector<std::string> totals;
      for (std::size_t i = 0; i < pass.items.size(); ++i) totals.push_back(Combine(pass.items[i], accumulators[i]));
      FinishAll(pass, totals, accumulators);
    }
    if (keeps_axes()) {
      EachStep([&] { StoreElements(result); });
    } else {
      out_.Open(fmt::format("if ({} == 0{})", lane_, ragged_ ? " && " + valid_ : ""));
      StoreRow(result);
      out_.Close();
    }
    // A block stays, and its shared memory as it is, until nobody reads it any more.
    if (cluster_ > 1) out_.Line(out_.Helper("MeetCluster") + "();");
    if (ahead_ > 1) out_.Close();
    out_.Launch({.grid_x = (Units() + ahead_ - 1) / ahead_ * cluster_,
                 .cluster_x = cluster_,
                 .reads = Reads(),
                 .writes = {kernel_.target},
                 .shared_bytes = ahead_ > 1 ? AheadBytes() : 0});
  }

 private:
  bool keeps_axes() const { return kernel_.family->keeps_axes; }
  const std::string& index() const { return out_.index_type(); }

  std::vector<int> Reads() const { return OperandBuffers({&kernel_, 1}); }

  // --- The unit of a block: rows_a_block_ rows, or 32 packs of columns.

  std::int64_t RowsABlock() const { return std::max<std::int64_t>(1, kRowThreads / lanes_); }
  std::int64_t ColumnBlocks() const { return (column_packs_ + 31) / 32; }
  std::int64_t Units() const {
    if (rows_) return split_ > 1 ? row_count_ : (row_count_ + RowsABlock() - 1) / RowsABlock();
    return row_count_ / (column_packs_ * pack_) * ColumnBlocks();
  }

  // Begins a kernel; its block knows its row or columns, and its chunk if the range is split.
  void OpenUnit(const std::string& hint) {
    const bool chunked = split_ > 1;
    const std::int64_t rows_a_block = chunked ? 1 : RowsABlock();
    out_.BeginKernel(hint, rows_ ? lanes_ * rows_a_block : 32 * lanes_);
    let_names_.clear();
    loaded_.clear();
    std::string block = "blockIdx.x";
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
          out_.Line(fmt::format("const {} {} = {} < {} ? {} : {};", index(), row_, wanted, row_count_, wanted,
                                row_count_ - 1));
          valid_ = fmt::format("{} < {}", wanted, row_count_);
        } else {
          out_.Line(
              fmt::format("const {} {} = {} * {} + threadIdx.x / {};", index(), row_, block, rows_a_block, lanes_));
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

  void NamePlaces(const std::vector<std::size_t>& dims, const std::string& at, std::int64_t pack) {
    const auto names = OpenPlaces(out_, loops_, dims, at, pack);
    for (std::size_t n = 0; n < dims.size(); ++n) places_[dims[n]] = names[n];
  }

  // --- Going through what is folded.

  // Which operands stay in registers: those that passes read a row of, if they fit.
  void ChooseKept(const std::vector<DevicePass>& passes) {
    per_lane_ = 0;
    kept_operands_.clear();
    if (!keep_ || steps_ == 0) return;
    const std::int64_t per_lane = (steps_ + stride_ - 1) / stride_;
    for (const auto& pass : passes) {
      for (const auto& item : pass.items) {
        Visit(item.body, [&](const ExprNode& node) {
          if (node.kind != Expr::Kind::kLoad || node.buffer < 0) return;
          const auto o = static_cast<std::size_t>(node.buffer);
          const bool varies = std::any_of(reduced_.begin(), reduced_.end(),
                                          [&](std::size_t d) { return loops_.dims[d].strides[o] != 0; });
          const bool own =
              std::any_of(kept_.begin(), kept_.end(), [&](std::size_t d) { return loops_.dims[d].strides[o] != 0; }) ||
              row_count_ == 1;
          if (varies && own && (pack_ == 1 || LoadsInPacks(loops_, kernel_, o, pack_))) kept_operands_[node.buffer];
        });
      }
    }
    if (kept_operands_.empty() ||
        per_lane * pack_ * static_cast<std::int64_t>(kept_operands_.size()) > MostKept(rows_ ? lanes_ : 32 * lanes_)) {
      kept_operands_.clear();
      return;
    }
    per_lane_ = per_lane;
  }

  std::string PackType(int operand) {
    const int buffer = kernel_.operands[static_cast<std::size_t>(operand)].buffer;
    return fmt::format("{}<{}, {}>", out_.Helper("Pack"),
                       DeviceType(program_.buffers[static_cast<std::size_t>(buffer)].dtype), pack_);
  }
  std::string OperandAddress(int operand, const std::vector<std::string>& places) const {
    const auto o = static_cast<std::size_t>(operand);
    std::vector<std::int64_t> strides;
    for (const auto& dim : loops_.dims) strides.push_back(dim.strides[o]);
    return Address(places, strides, kernel_.operands[o].offset);
  }
  std::string PackAt(int operand) {
    return fmt::format("*reinterpret_cast<const {}*>({} + {})", PackType(operand),
                       out_.BufferName(kernel_.operands[static_cast<std::size_t>(operand)].buffer),
                       OperandAddress(operand, places_));
  }

  std::int64_t AheadBytes() const {
    std::int64_t bytes = 0;
    for (const auto& [operand, name] : kept_operands_) bytes += per_lane_ * lanes_ * pack_ * ElementBytes(operand);
    return bytes;
  }
  std::int64_t ElementBytes(int operand) const {
    const int buffer = kernel_.operands[static_cast<std::size_t>(operand)].buffer;
    return static_cast<std::int64_t>(Bytes(program_.buffers[static_cast<std::size_t>(buffer)].dtype));
  }
  // Each thread has places of its own for what it keeps, so that no barrier is needed.
  void DeclareAhead() {
    const std::string memory = out_.Fresh("memory");
    out_.Line(fmt::format("extern __shared__ __align__(16) unsigned char {}[];", memory));
    std::int64_t offset = 0;
    for (const auto& [operand, unused] : kept_operands_) {
      const std::string name =
          out_.Fresh(out_.BufferName(kernel_.operands[static_cast<std::size_t>(operand)].buffer) + "_ahead");
      out_.Line(fmt::format("{0}* const {1} = reinterpret_cast<{0}*>({2} + {3}) + threadIdx.x;", PackType(operand),
                            name, memory, offset));
      offset += per_lane_ * lanes_ * pack_ * ElementBytes(operand);
      ahead_names_[operand] = name;
    }
  }
  void FetchAhead() {
    EachStep([&] {
      for (const auto& [operand, name] : ahead_names_) {
        std::string from = PackAt(operand);  // "*reinterpret_cast<const T*>(...)"
        out_.Line(fmt::format("{}({} + {} * {}, {});", out_.Helper("CopyAhead"), name, step_, lanes_, from.substr(1)));
      }
    });
    step_.clear();
  }

  void LoadKept() {
    for (auto& [operand, name] : kept_operands_) {
      name = out_.Fresh(out_.BufferName(kernel_.operands[static_cast<std::size_t>(operand)].buffer) + "_row");
      out_.Line(fmt::format("{} {}[{}];", PackType(operand), name, per_lane_));
    }
    if (ahead_ > 1) out_.Line(out_.Helper("WaitForCopies") + "();");
    EachStep([&] {
      for (const auto& [operand, name] : kept_operands_) {
        out_.Line(ahead_ > 1
                      ? fmt::format("{}[{}] = {}[{} * {}];", name, step_, ahead_names_.at(operand), step_, lanes_)
                      : fmt::format("{}[{}] = {};", name, step_, PackAt(operand)));
      }
    });
    if (ahead_ > 1) out_.Line(fmt::format("if ({0} + 1 < {1}) {2}({0} + 1);", row_, end_row_, fetch_));
  }

  // `body` for each of this thread's packs of a row, or elements of its columns.
  template <class Body>
  void EachStep(const Body& body) {
    const std::string q = out_.Fresh("q");
    q_ = q;
    if (per_lane_ > 0) {
      step_ = out_.Fresh("p");
      out_.Unroll();
      out_.Open(fmt::format("for (int {} = 0; {} < {}; ++{})", step_, step_, per_lane_, step_));
      out_.Line(fmt::format("const int {} = {} + {} * {};", q, lane_, step_, stride_));
      if (steps_ % stride_ != 0) out_.Line(fmt::format("if ({} >= {}) break;", q, steps_));
    } else if (split_ > 1) {
      const std::string end = out_.Fresh("end");
      out_.Line(fmt::format("const {0} {1} = {2} * {3} + {3} < {4} ? {2} * {3} + {3} : {4};", index(), end, chunk_name_,
                            chunk_, steps_));
      out_.Line("#pragma unroll 4");
      out_.Open(fmt::format("for ({} {} = {} * {} + {}; {} < {}; {} += {})", index(), q, chunk_name_, chunk_, lane_, q,
                            end, q, lanes_));
    } else {
      out_.Line("#pragma unroll 4");
      out_.Open(fmt::format("for ({} {} = {}; {} < {}; {} += {})", index(), q, lane_, q, steps_, q, stride_));
    }
    if (!reduced_.empty()) NamePlaces(reduced_, q, pack_);
    loaded_.clear();
    body();
    loaded_.clear();
    out_.Close();
  }

  // Loads in front of the loop over a pack's elements.
  void LoadPacks(const std::vector<Expr>& exprs) {
    if (pack_ == 1) return;
    std::set<int> used;
    for (const auto& expr : exprs) {
      Visit(expr, [&](const ExprNode& node) {
        if (node.kind == Expr::Kind::kLoad && node.buffer >= 0) used.insert(node.buffer);
      });
    }
    for (const int operand : used) {
      if (per_lane_ > 0 && kept_operands_.contains(operand)) continue;
      if (!LoadsInPacks(loops_, kernel_, static_cast<std::size_t>(operand), pack_)) continue;
      const std::string name =
          out_.Fresh(out_.BufferName(kernel_.operands[static_cast<std::size_t>(operand)].buffer) + "_pack");
      out_.Line(fmt::format("const {} {} = {};", PackType(operand), name, PackAt(operand)));
      loaded_[operand] = name;
    }
  }

  // The text of a load where element `lane_of_pack` of the pack is meant.
  std::string LoadText(const ExprNode& load, const std::string& element) {
    if (load.buffer == kItOperand) return it_;
    if (load.buffer < 0) {
      const std::string& name = let_names_.at(kLetOperand - load.buffer);
      return !rows_ && pack_ > 1 ? fmt::format("{}[{}]", name, element) : name;
    }
    const int buffer = kernel_.operands[static_cast<std::size_t>(load.buffer)].buffer;
    if (per_lane_ > 0 && !step_.empty()) {
      if (const auto it = kept_operands_.find(load.buffer); it != kept_operands_.end())
        return LoadedText(out_, buffer,
                          fmt::format("{}[{}].at[{}]", it->second, step_, element.empty() ? "0" : element));
    }
    if (const auto it = loaded_.find(load.buffer); it != loaded_.end())
      return LoadedText(out_, buffer, fmt::format("{}.at[{}]", it->second, element));
    std::vector<std::string> places = places_;
    if (!element.empty() && element != "0") places.back() = fmt::format("{} + {}", places.back(), element);
    return LoadedText(out_, buffer,
                      fmt::format("{}[{}]", out_.BufferName(buffer), OperandAddress(load.buffer, places)));
  }

  // The loop over a pack's elements; gives the name of its variable, "" if there is one element only.
  std::string OpenElements() {
    if (pack_ == 1) return "";
    const std::string e = out_.Fresh("e");
    out_.Unroll();
    out_.Open(fmt::format("for (int {} = 0; {} < {}; ++{})", e, e, pack_, e));
    return e;
  }
  void CloseElements() {
    if (pack_ > 1) out_.Close();
  }

  // --- Folding.

  struct Accumulator {
    std::string name, type;
    DType dtype = DType::kF32;
  };

  static bool IsPlace(ReduceOp op) { return op == ReduceOp::kArgMax || op == ReduceOp::kArgMin; }
  // Of a fold's value in a thread. Long sums grow in double: their error is then that of the products alone.
  Accumulator AccumulatorOf(const DevicePass& pass, std::size_t i) const {
    const FoldPass::Item& item = pass.items[i];
    const ScalarType type = item.body->type;
    const bool moments = pass.centre[i] >= 0 ||
                         std::find(pass.centre.begin(), pass.centre.end(), static_cast<int>(i)) != pass.centre.end();
    const std::int64_t share = (split_ > 1 ? chunk_ : steps_) / stride_ * (rows_ ? pack_ : 1);
    const bool sums = item.fold == ReduceOp::kSum || item.fold == ReduceOp::kProd;
    const bool wide =
        type == ScalarType::kReal && (out_.wide() || moments || (sums && (share > kManyElements || cluster_ > 1)));
    Accumulator one;
    one.type = type == ScalarType::kReal ? (wide ? "double" : "float") : out_.Type(type);
    one.dtype = type == ScalarType::kReal  ? (wide ? DType::kF64 : DType::kF32)
                : type == ScalarType::kInt ? DType::kI64
                                           : DType::kBool;
    if (IsPlace(item.fold)) {
      one.type = fmt::format("{}<{}>", out_.Helper("Place"), one.type);
      out_.Helper("AcrossPlace");
    }
    return one;
  }

  // This thread's share of every item.
  std::vector<Accumulator> Accumulate(const DevicePass& pass) {
    std::vector<Accumulator> accumulators;
    const bool many = !rows_ && pack_ > 1;
    std::vector<Expr> bodies;
    for (std::size_t i = 0; i < pass.items.size(); ++i) {
      const FoldPass::Item& item = pass.items[i];
      Accumulator one = AccumulatorOf(pass, i);
      one.name = out_.Fresh(item.name.empty() ? "part" : item.name + "_part");
      const std::string neutral = out_.Neutral(item.fold, item.body->type);
      if (many) {
        std::string list;
        for (std::int64_t e = 0; e < pack_; ++e) list += (e ? ", " : "") + neutral;
        out_.Line(fmt::format("{} {}[{}] = {{{}}};", one.type, one.name, pack_, list));
      } else {
        out_.Line(fmt::format("{} {} = {};", one.type, one.name, neutral));
      }
      accumulators.push_back(std::move(one));
      bodies.push_back(item.body);
    }
    EachStep([&] {
      LoadPacks(bodies);
      const std::string e = OpenElements();
      DeviceExpr expr(out_, [&](const ExprNode& load) { return LoadText(load, e); });
      for (std::size_t i = 0; i < pass.items.size(); ++i) {
        const std::string value = expr.Text(bodies[i]);
        const std::string name = many ? fmt::format("{}[{}]", accumulators[i].name, e) : accumulators[i].name;
        if (pass.centre[i] >= 0) {
          const std::string x = out_.Fresh("x_wide");
          out_.Line(fmt::format("const double {} = {};", x, value));
          out_.Line(fmt::format("{} += {} * {};", name, x, x));
          continue;
        }
        switch (pass.items[i].fold) {
          case ReduceOp::kSum: out_.Line(fmt::format("{} += {};", name, value)); break;
          case ReduceOp::kProd: out_.Line(fmt::format("{} *= {};", name, value)); break;
          case ReduceOp::kArgMax:
          case ReduceOp::kArgMin: {
            const std::string how = out_.How(pass.items[i].fold);
            const std::string at = rows_ && pack_ > 1 ? fmt::format("{} * {} + {}", q_, pack_, e) : q_;
            out_.Line(fmt::format("{}::Take({}, {}, {});", how, name, value, at));
            break;
          }
          default: {
            const std::string how = out_.How(pass.items[i].fold);
            out_.Line(fmt::format("{0} = {1}::Of({0}, {2}({3}));", name, how, accumulators[i].type, value));
          }
        }
      }
      CloseElements();
    });
    step_.clear();
    return accumulators;
  }

  // What all threads of the row or column got together, known to each of them, in the accumulator's type.
  std::string Combine(const FoldPass::Item& item, const Accumulator& accumulator) {
    const std::string how = out_.How(item.fold);
    const std::string& type = accumulator.type;
    const std::string total = out_.Fresh(item.name.empty() ? "total" : item.name + "_all");
    if (rows_) {
      out_.Helper("Fold");
      std::string shared = fmt::format("static_cast<{}*>(nullptr)", type);
      if (lanes_ > 32) {
        shared = out_.Fresh(item.name + "_shared");
        out_.Line(fmt::format("__shared__ {} {}[{}];", type, shared, lanes_ * (split_ > 1 ? 1 : RowsABlock()) / 32));
      }
      const std::string folded = fmt::format("Fold<{}, {}>({}, {})", how, lanes_, accumulator.name, shared);
      if (cluster_ == 1) {
        out_.Line(fmt::format("const {} {} = {};", type, total, folded));
        return total;
      }
      const std::string slot = out_.Fresh(item.name + "_slot");
      out_.Line(fmt::format("__shared__ {} {};", type, slot));
      out_.Line(fmt::format("const {} {} = {}<{}, {}>({}, &{});", type, total, out_.Helper("FoldCluster"), how,
                            cluster_, folded, slot));
      return total;
    }
    const std::string shared = out_.Fresh(item.name + "_shared"), y = out_.Fresh("y");
    const bool many = pack_ > 1;
    out_.Line(fmt::format("__shared__ {} {}[{}];", type, shared, 32 * lanes_));
    out_.Line(many ? fmt::format("{} {}[{}];", type, total, pack_) : fmt::format("{} {};", type, total));
    const std::string e = OpenElements();
    const std::string own = many ? fmt::format("{}[{}]", accumulator.name, e) : accumulator.name;
    out_.Line("__syncthreads();");
    out_.Line(fmt::format("{}[threadIdx.x] = {};", shared, own));
    out_.Line("__syncthreads();");
    const std::string folded = out_.Fresh("folded");
    out_.Line(fmt::format("{} {} = {}[threadIdx.x % 32];", type, folded, shared));
    out_.Unroll();
    out_.Line(fmt::format("for (int {0} = 1; {0} < {1}; ++{0}) {2} = {3}::Of({2}, {4}[{0} * 32 + threadIdx.x % 32]);",
                          y, lanes_, folded, how, shared));
    out_.Line(fmt::format("{}{} = {};", total, many ? "[" + e + "]" : "", folded));
    CloseElements();
    return total;
  }

  // Names the lets that a pass makes of its totals, each in the type of its accumulator.
  void FinishAll(const DevicePass& pass, const std::vector<std::string>& totals,
                 const std::vector<Accumulator>& accumulators) {
    const bool many = !rows_ && pack_ > 1;
    for (std::size_t i = 0; i < pass.items.size(); ++i) {
      const FoldPass::Item& item = pass.items[i];
      const std::string type = out_.Type(item.finish->type);
      const std::string name = out_.Fresh(item.name.empty() ? "value" : item.name);
      if (many) out_.Line(fmt::format("{} {}[{}];", type, name, pack_));
      const std::string e = many ? OpenElements() : "";
      const auto at = [&](const std::string& total) { return many ? fmt::format("{}[{}]", total, e) : total; };
      it_ = at(totals[i]);
      if (pass.centre[i] >= 0) {
        const std::string mean = at(totals[static_cast<std::size_t>(pass.centre[i])]), squares = out_.Fresh("squares");
        out_.Line(fmt::format("const double {} = {} - {} * {} / {};", squares, it_, mean, mean, loops_.Count(true)));
        it_ = fmt::format("static_cast<{}>({} < 0 ? 0 : {})", out_.Type(ScalarType::kReal), squares, squares);
      } else if (IsPlace(item.fold)) {
        it_ = fmt::format("({0}.at == kNowhere ? 0 : {0}.at)", it_);  // all alike: the first
      } else if (accumulators[i].type != out_.Type(item.body->type)) {
        it_ = fmt::format("static_cast<{}>({})", out_.Type(item.body->type), it_);
      }
      DeviceExpr expr(out_, [&](const ExprNode& load) { return LoadText(load, e); });
      const std::string value = expr.Text(item.finish);
      if (many) {
        out_.Line(fmt::format("{}[{}] = {};", name, e, value));
        CloseElements();
      } else {
        out_.Line(fmt::format("const {} {} = {};", type, name, value));
      }
      let_names_[item.let] = name;
    }
  }

  // --- What comes of it.

  std::string TargetAddress() const {
    std::vector<std::int64_t> strides;
    for (const auto& dim : loops_.dims) strides.push_back(dim.target_stride);
    std::vector<std::string> places = places_;
    for (std::size_t d = 0; d < places.size(); ++d) {
      if (strides[d] == 0) places[d] = "0";
    }
    return Address(places, strides, 0);
  }

  DType TargetType() const { return program_.buffers[static_cast<std::size_t>(kernel_.target)].dtype; }

  // The result's elements of a pack, over the whole space.
  void StoreElements(const Expr& result) {
    LoadPacks({result});
    const std::string type = DeviceType(TargetType());
    if (pack_ == 1) {
      DeviceExpr expr(out_, [&](const ExprNode& load) { return LoadText(load, ""); });
      const std::string value = DeviceExpr::Stored(expr.Text(result), result->type, TargetType());
      out_.Line(fmt::format("{}{}[{}] = {};", ragged_ ? "if (" + valid_ + ") " : "", out_.TargetName(), TargetAddress(),
                            value));
      return;
    }
    const std::string made = out_.Fresh("made");
    out_.Line(fmt::format("{}<{}, {}> {};", out_.Helper("Pack"), type, pack_, made));
    const std::string e = OpenElements();
    DeviceExpr expr(out_, [&](const ExprNode& load) { return LoadText(load, e); });
    const std::string value = DeviceExpr::Stored(expr.Text(result), result->type, TargetType());
    out_.Line(fmt::format("{}.at[{}] = {};", made, e, value));
    CloseElements();
    out_.Line(fmt::format("{}*reinterpret_cast<Pack<{}, {}>*>({} + {}) = {};", ragged_ ? "if (" + valid_ + ") " : "",
                          type, pack_, out_.TargetName(), TargetAddress(), made));
  }

  // The result of a row, or of a pack of columns.
  void StoreRow(const Expr& result) {
    const bool many = !rows_ && pack_ > 1;
    const std::string e = many ? OpenElements() : "";
    DeviceExpr expr(out_, [&](const ExprNode& load) { return LoadText(load, e); });
    const std::string value = DeviceExpr::Stored(expr.Text(result), result->type, TargetType());
    out_.Line(fmt::format("{}[{}{}] = {};", out_.TargetName(), TargetAddress(), many ? " + " + e : "", value));
    if (many) CloseElements();
  }

  // --- Split ranges.

  std::string RowNumber(const std::string& element) const {
    std::vector<std::string> places = places_;
    for (std::size_t d = 0; d < places.size(); ++d) {
      if (row_strides_[d] == 0) places[d] = "0";
    }
    std::string text = Address(places, row_strides_, 0);
    return element.empty() ? text : text + " + " + element;
  }

  // Lets that earlier passes have left in memory.
  void ReadLets() {
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
  std::vector<std::string> LetBuffers() const {
    std::vector<std::string> buffers;
    for (const auto& [let, memory] : let_memory_) buffers.push_back(memory.buffer);
    return buffers;
  }

  void EmitSplit(const std::vector<DevicePass>& passes, const Expr& result) {
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
        lane_ = out_.Fresh("lane");
        row_ = out_.Fresh("row");
        out_.Line(fmt::format("const int {} = threadIdx.x;", lane_));
        out_.Line(fmt::format("const {} {} = blockIdx.x;", index(), row_));
        NamePlaces(kept_, row_, 1);
        ReadLets();
        std::vector<std::string> made;
        std::map<int, LetMemory> fresh;
        std::vector<std::string> values, all;
        std::vector<Accumulator> types;
        for (std::size_t i = 0; i < pass.items.size(); ++i) {
          const FoldPass::Item& item = pass.items[i];
          Accumulator& type = types.emplace_back(accumulators[i]);
          if (type.type == "float" && (item.fold == ReduceOp::kSum || item.fold == ReduceOp::kProd))
            type.type = "double";
          const std::string part = out_.Fresh("part"), shared = out_.Fresh("part_shared"), s = out_.Fresh("s");
          all.push_back(out_.Fresh("total"));
          out_.Helper("Fold");
          const std::string how = out_.How(item.fold);
          out_.Line(fmt::format("__shared__ {} {}[{}];", type.type, shared, kFinishThreads / 32));
          out_.Line(fmt::format("{} {} = {};", type.type, part, out_.Neutral(item.fold, item.body->type)));
          out_.Line(
              fmt::format("for (int {0} = {1}; {0} < {2}; {0} += {3}) {4} = {5}::Of({4}, {6}({7}[{8} * {2} + {0}]));",
                          s, lane_, split_, kFinishThreads, part, how, type.type, partial[i], row_));
          out_.Line(fmt::format("const {} {} = Fold<{}, {}>({}, {});", type.type, all.back(), how, kFinishThreads, part,
                                shared));
        }
        FinishAll(pass, all, types);
        for (const auto& item : pass.items) values.push_back(let_names_.at(item.let));
        const bool ends = last && !keeps_axes();
        out_.Open(fmt::format("if ({} == 0)", lane_));
        if (ends) {
          StoreRow(result);
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
        }
        out_.Close();
        auto reads = lets_before;
        reads.insert(reads.end(), partial.begin(), partial.end());
        DeviceWriter::LaunchShape shape{
            .grid_x = row_count_, .reads = Reads(), .scratch_reads = reads, .scratch_writes = made};
        if (ends) shape.writes = {kernel_.target};
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
                 .writes = {kernel_.target},
                 .scratch_reads = LetBuffers()});
  }

  // A part of the text that knows no packs and no columns: a block for one row's number.
  template <class Body>
  void WithoutPacks(const Body& body) {
    const std::int64_t pack = std::exchange(pack_, 1);
    const bool rows = std::exchange(rows_, true);
    body();
    pack_ = pack;
    rows_ = rows;
  }

  struct LetMemory {
    std::string buffer, hint;
    ScalarType type = ScalarType::kReal;
  };

  const KernelProgram& program_;
  const Kernel& kernel_;
  DeviceWriter& out_;
  const Loops loops_;
  bool rows_;
  std::vector<std::size_t> kept_, reduced_;
  std::int64_t pack_ = 1, lanes_ = 32, row_count_ = 1, steps_ = 1, column_packs_ = 0, split_ = 1, chunk_ = 1,
               cluster_ = 1, stride_ = 1, ahead_ = 1;
  bool keep_ = false, ragged_ = false;
  std::int64_t per_lane_ = 0;                 // packs of a row that a thread keeps; 0 = it keeps none
  std::map<int, std::string> kept_operands_;  // and the registers they are in
  std::vector<std::string> places_;           // of the dimensions, where the text stands
  std::vector<std::int64_t> row_strides_;
  std::string lane_, row_, valid_, chunk_name_, step_, it_, q_;
  std::map<int, std::string> let_names_, loaded_;
  std::map<int, std::string> ahead_names_;  // of kept operands: their places in shared memory
  std::string end_row_, fetch_;
  std::map<int, LetMemory> let_memory_;
};

}  // namespace

void EmitFoldsCuda(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out,
                   const std::vector<FoldPass>& passes, const Expr& result) {
  FoldWriter(program, kernel, out).Emit(passes, result);
}

}  // namespace hone::dsl
