#include "dsl/cuda/turned_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "dsl/cuda/expr.h"
#include "dsl/cuda/map.h"
#include "dsl/knobs.h"
#include "dsl/shape/loops.h"
#include "dsl/shape/updated_places.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kSharedBytes = 48 << 10;                     // that every block may have
constexpr Shortest kShortest{.inner = 2, .across = 8, .apart = 2};  // fewer side by side are not worth a square
constexpr std::int64_t kWarp = 32, kWordBytes = 4, kLineBytes = 128;
constexpr double kLongChain = 60;  // operations: written out once, not once an element of a thread

class TurnedMap {
 public:
  TurnedMap(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out)
      : program_(program), kernel_(kernel), out_(out), loops_(program, kernel) {}

  bool Write() {
    if (!FindTurned()) return false;
    word_ = WordOf();
    Cut();
    out_.BeginKernel("turn", threads_);
    OpenBlock();
    for (const int operand : turned_) Load(operand);
    out_.Line("__syncthreads();");
    Compute();
    std::int64_t blocks = tiles(across_) * tiles(inner());
    for (std::size_t d = 0; d < loops_.dims.size(); ++d) {
      if (d != across_ && d != inner()) blocks *= loops_.dims[d].extent;
    }
    std::vector<int> reads;
    for (const int operand : OperandsOf(ElementsOf(kernel_))) reads.push_back(Buffer(operand));
    out_.Launch({.grid_x = blocks, .reads = reads, .writes = TargetsOf(kernel_)});
    return true;
  }

 private:
  std::size_t inner() const { return loops_.dims.size() - 1; }
  std::int64_t& edge(std::size_t dim) { return dim == across_ ? edge_across_ : edge_inner_; }
  std::int64_t tiles(std::size_t dim) { return (loops_.dims[dim].extent + edge(dim) - 1) / edge(dim); }
  int Buffer(int operand) const { return kernel_.operands[static_cast<std::size_t>(operand)].buffer; }
  DType StoredAs(int buffer) const { return program_.buffers[static_cast<std::size_t>(buffer)].dtype; }
  DType TypeOf(int operand) const { return StoredAs(Buffer(operand)); }
  // All along the same dimension, that of the most of them.
  bool FindTurned() {
    std::vector<std::int64_t> extents;
    for (const auto& dim : loops_.dims) extents.push_back(dim.extent);
    std::map<std::size_t, std::vector<int>> by_dim;
    for (const int operand : OperandsOf(ElementsOf(kernel_))) {
      if (const auto dim = AcrossDim(loops_.Strides(operand), extents, kShortest)) by_dim[*dim].push_back(operand);
    }
    for (auto& [dim, operands] : by_dim) {
      if (operands.size() <= turned_.size()) continue;
      across_ = dim;
      turned_ = operands;
    }
    return !turned_.empty();
  }

  // Whether all rows along the dimension begin at a multiple of so many elements.
  static bool RowsBegin(const std::vector<std::int64_t>& strides, std::int64_t offset, std::size_t along,
                        std::int64_t every) {
    bool begin = offset % every == 0;
    for (std::size_t d = 0; d < strides.size(); ++d) begin &= d == along || strides[d] % every == 0;
    return begin;
  }
  // The same of the turned operands, for what a number of bytes is of each.
  bool TurnedRowsBegin(std::int64_t bytes) const {
    return std::all_of(turned_.begin(), turned_.end(), [&](int operand) {
      const std::int64_t every = bytes / static_cast<std::int64_t>(Bytes(TypeOf(operand)));
      return RowsBegin(loops_.Strides(operand), kernel_.operands[static_cast<std::size_t>(operand)].offset, across_,
                       std::max<std::int64_t>(every, 1));
    });
  }

  // Elements that are moved as one: as many as fill a word, where all rows begin at a word's beginning.
  std::int64_t WordOf() const {
    const std::size_t bytes = Bytes(TypeOf(turned_[0]));
    const std::int64_t word = std::max<std::int64_t>(kWordBytes / static_cast<std::int64_t>(bytes), 1);
    const bool same = std::all_of(turned_.begin(), turned_.end(),
                                  [&](int o) { return Bytes(TypeOf(o)) == bytes && loops_.Strides(o)[across_] == 1; });
    const bool whole = loops_.dims[inner()].extent % word == 0 && loops_.dims[across_].extent % word == 0;
    return same && whole && IntSetting(kernel_, "pack") >= word && TurnedRowsBegin(kWordBytes) ? word : 1;
  }

  // A square, or as much of one as the dimensions have and longer along the other; as many elements as fit. Edges that
  // are not the dimension's own end where whole lines do.
  void Cut() {
    threads_ = IntSetting(kernel_, "block");
    const std::int64_t across = loops_.dims[across_].extent, along = loops_.dims[inner()].extent;
    const auto cut = [&](std::int64_t edge, std::int64_t extent) {
      if (edge >= extent) return extent;
      return edge >= kWarp ? edge / kWarp * kWarp : std::max(edge / word_ * word_, word_);
    };
    std::int64_t bytes = 0;  // of an element of each operand
    for (const int operand : turned_) bytes += static_cast<std::int64_t>(Bytes(TypeOf(operand)));
    for (std::int64_t square = IntSetting(kernel_, "tile") * word_;; square /= 2) {
      edge_inner_ = std::min(square, along);
      edge_across_ = cut(square * square / edge_inner_, across);
      edge_inner_ = cut(square * square / edge_across_, along);
      pitch_ = edge_inner_ / word_ | 1;  // odd, so that a column's words lie in different banks
      if (edge_across_ * pitch_ * word_ * bytes <= kSharedBytes) break;
    }
  }

  // Squares that follow each other lie side by side in the result, so that a line in which one ends and another begins
  // is whole again before it leaves the cache; in the operands, where only there lines are shared.
  std::size_t FirstAlong() const {
    const std::vector<int> targets = TargetsOf(kernel_);
    const bool shares_stores = std::any_of(targets.begin(), targets.end(), [&](int target) {
      const auto bytes = static_cast<std::int64_t>(Bytes(StoredAs(target)));
      return !RowsBegin(loops_.TargetStrides(), 0, inner(), kLineBytes / bytes);
    });
    return shares_stores || TurnedRowsBegin(kLineBytes) ? inner() : across_;
  }

  void OpenBlock() {
    const std::size_t first = FirstAlong();
    std::vector<std::size_t> order{first, first == inner() ? across_ : inner()};  // the fastest first
    for (std::size_t d = loops_.dims.size(); d-- > 0;) {
      if (d != across_ && d != inner()) order.push_back(d);
    }
    places_.resize(loops_.dims.size());
    std::string left = fmt::format("static_cast<{}>(blockIdx.x)", out_.index_type());
    for (const std::size_t d : order) {
      const bool cut = d == across_ || d == inner();
      const std::int64_t extent = cut ? tiles(d) : loops_.dims[d].extent;
      places_[d] = out_.Fresh(cut ? loops_.dims[d].var + "0" : loops_.dims[d].var);
      std::string text = d == order.back() ? left : fmt::format("{} % {}", left, extent);
      if (cut) text += fmt::format(" * {}", edge(d));
      out_.Line(fmt::format("const {} {} = {};", out_.index_type(), places_[d], text));
      left = fmt::format("({} / {})", left, extent);
    }
  }

  // Opens a loop over the square, `fast` being the dimension along which neighbouring threads stand; a thread has
  // a word of each of `across_step` rows of the result. Names the places in the square, in steps, and in the tensors.
  // Where whole rows of the square are a block's width, a thread stays in its column: its addresses are one and
  // constants, and whether the column is there is asked in front of the loop, so that loads do not wait for each other.
  void OpenSquare(std::size_t fast, std::int64_t across_step, bool written_out) {
    const std::size_t slow = fast == across_ ? inner() : across_;
    const auto step = [&](std::size_t d) { return d == across_ ? across_step : word_; };
    const std::int64_t columns = edge(fast) / step(fast), rows = edge(slow) / step(slow);
    const std::string thread = "static_cast<int>(threadIdx.x)";
    const auto name = [&](std::size_t d) { return out_.Fresh(d == across_ ? "across" : "along"); };
    const std::string quick = name(fast), still = name(slow), turn = out_.Fresh("turn");
    const auto loop = [&] {
      out_.Line(written_out ? "#pragma unroll" : "#pragma unroll 1");
      out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", turn, (columns * rows + threads_ - 1) / threads_));
    };
    vars_ = places_;
    (fast == across_ ? local_across_ : local_inner_) = quick;
    (slow == across_ ? local_across_ : local_inner_) = still;
    // Names the place along a dimension; says when it is outside the tensor.
    const auto place = [&](std::size_t d, const std::string& local) {
      vars_[d] = out_.Fresh(loops_.dims[d].var);
      const std::string far = step(d) == 1 ? local : fmt::format("{} * {}", local, step(d));
      out_.Line(fmt::format("const {} {} = {} + {};", out_.index_type(), vars_[d], places_[d], far));
      return loops_.dims[d].extent % edge(d) == 0 ? "" : fmt::format("{} < {}", vars_[d], loops_.dims[d].extent);
    };
    const auto open_if = [&](const std::vector<std::string>& conditions) {
      std::string all;
      for (const auto& one : conditions) all += all.empty() || one.empty() ? one : " && " + one;
      out_.Open(all.empty() ? "" : fmt::format("if ({})", all));
    };
    if (threads_ % columns == 0) {
      const std::int64_t at_once = threads_ / columns;
      const std::string first = out_.Fresh("first");
      out_.Line(fmt::format("const int {} = {} % {}, {} = {} / {};", quick, thread, columns, first, thread, columns));
      open_if({place(fast, quick)});
      loop();
      out_.Line(fmt::format("const int {} = {} * {} + {};", still, turn, at_once, first));
      const std::string inside = place(slow, still);
      open_if({rows % at_once == 0 ? "" : fmt::format("{} < {}", still, rows), inside});
    } else {
      const std::string at = out_.Fresh("at");
      out_.Open("");
      loop();
      out_.Line(fmt::format("const int {} = {} * {} + {};", at, turn, threads_, thread));
      out_.Line(fmt::format("const int {} = {} % {}, {} = {} / {};", quick, at, columns, still, at, columns));
      const std::string inside_fast = place(fast, quick), inside_slow = place(slow, still);
      open_if(
          {columns * rows % threads_ == 0 ? "" : fmt::format("{} < {}", at, columns * rows), inside_fast, inside_slow});
    }
  }
  void CloseSquare() {
    out_.Close();
    out_.Close();
    out_.Close();
  }

  std::string WordType(int operand) const {
    const std::string type = DeviceType(TypeOf(operand));
    return word_ == 1 ? type : PackType(out_, type, word_);
  }
  // The word of the result's row `row` that begins at the thread's place. Rows that come out of one word of the operand
  // lie a part of the square apart: neighbouring threads write to rows that lie one after the other.
  std::string InSquare(int operand, const std::string& row) const {
    return fmt::format("{}[{} * {} + {}]", squares_.at(operand), row, pitch_, local_inner_);
  }

  void Load(int operand) {
    const std::string &from = out_.BufferName(Buffer(operand)), type = WordType(operand);
    squares_[operand] = out_.Fresh(from + "_square");
    out_.Line(fmt::format("__shared__ {} {}[{}];", type, squares_[operand], edge_across_ * pitch_));
    OpenSquare(across_, word_, true);
    if (word_ == 1) {
      out_.Line(
          fmt::format("{} = {}[{}];", InSquare(operand, local_across_), from, loops_.OperandAddress(operand, vars_)));
    } else {
      std::vector<std::string> loaded;
      for (std::int64_t n = 0; n < word_; ++n) {
        std::vector<std::string> vars = vars_;
        if (n > 0) vars[inner()] += fmt::format(" + {}", n);
        loaded.push_back(out_.Fresh(from + "_word"));
        out_.Line(fmt::format("const {} {} = {};", type, loaded.back(),
                              PackText(type, from, loops_.OperandAddress(operand, vars))));
      }
      for (std::int64_t n = 0; n < word_; ++n) {
        std::string turned;
        for (const auto& word : loaded) turned += fmt::format("{}{}.at[{}]", turned.empty() ? "" : ", ", word, n);
        const std::string row =
            n == 0 ? local_across_ : fmt::format("({} + {})", local_across_, n * (edge_across_ / word_));
        out_.Line(fmt::format("{} = {{{{{}}}}};", InSquare(operand, row), turned));
      }
    }
    CloseSquare();
  }

  void Compute() {
    const std::vector<int> targets = ElementTargetsOf(kernel_);
    const std::vector<Expr> elements = ElementsOf(kernel_);
    double operations = 0;
    for (const auto& element : elements) operations += OperationsPerElement(element);
    OpenSquare(inner(), 1, operations <= kLongChain);
    const std::string to = loops_.TargetAddress(vars_);
    const auto word_of = [&](int target) { return PackType(out_, DeviceType(StoredAs(target)), word_); };
    std::map<int, std::string> words;  // of the operands that are read by the word
    const std::string e = out_.Fresh("e");
    std::vector<std::string> made;  // a word of each target
    const std::string row =
        word_ == 1 ? local_across_
                   : fmt::format("({0} % {1} * {2} + {0} / {1})", local_across_, word_, edge_across_ / word_);
    if (word_ > 1) {
      for (const int operand : OperandsOf(ElementsOf(kernel_))) {
        const bool turned = squares_.contains(operand);
        if (!turned && !LoadsInPacks(loops_, kernel_, static_cast<std::size_t>(operand), word_)) continue;
        const std::string &from = out_.BufferName(Buffer(operand)), word_type = WordType(operand);
        words[operand] = out_.Fresh(from + "_word");
        out_.Line(fmt::format(
            "const {} {} = {};", word_type, words[operand],
            turned ? InSquare(operand, row) : PackText(word_type, from, loops_.OperandAddress(operand, vars_))));
      }
      for (const int target : targets) {
        made.push_back(out_.Fresh("made"));
        out_.Line(fmt::format("{} {};", word_of(target), made.back()));
      }
      out_.Unroll();
      out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", e, word_));
    }
    DeviceExpr expr(out_, [&](const ExprNode& load) {
      const int buffer = Buffer(load.buffer);
      if (const auto word = words.find(load.buffer); word != words.end())
        return LoadedText(out_, buffer, fmt::format("{}.at[{}]", word->second, e));
      if (squares_.contains(load.buffer)) return LoadedText(out_, buffer, InSquare(load.buffer, row));
      std::vector<std::string> vars = vars_;
      if (word_ > 1) vars[inner()] += " + " + e;
      return LoadedText(out_, buffer,
                        fmt::format("{}[{}]", out_.BufferName(buffer), loops_.OperandAddress(load.buffer, vars)));
    });
    std::vector<DType> types;
    for (const int target : targets) types.push_back(StoredAs(target));
    expr.BeCoarseWhereRounded(elements, types);
    std::vector<std::string> values = expr.Texts(elements);
    for (std::size_t t = 0; t < targets.size(); ++t) {
      values[t] = DeviceExpr::Stored(values[t], elements[t]->type, StoredAs(targets[t]));
      if (word_ > 1 || !ReadsWhatItReplaces(kernel_)) continue;
      const std::string value = out_.Fresh("value");
      out_.Line(fmt::format("const {} {} = {};", DeviceType(StoredAs(targets[t])), value, values[t]));
      values[t] = value;
    }
    for (std::size_t t = 0; t < targets.size(); ++t) {
      const std::string& value = values[t];
      out_.Line(word_ == 1 ? fmt::format("{}[{}] = {};", out_.BufferName(targets[t]), to, value)
                           : fmt::format("{}.at[{}] = {};", made[t], e, value));
    }
    if (word_ > 1) out_.Close();
    for (std::size_t t = 0; t < made.size(); ++t) {
      out_.Line(fmt::format("*reinterpret_cast<{}*>({} + {}) = {};", word_of(targets[t]), out_.BufferName(targets[t]),
                            to, made[t]));
    }
    CloseSquare();
  }

  const KernelProgram& program_;
  const Kernel& kernel_;
  DeviceWriter& out_;
  const Loops loops_;
  std::size_t across_ = 0;   // the dimension along which the turned operands lie
  std::vector<int> turned_;  // these operands
  std::int64_t word_ = 1;    // elements, see WordOf
  std::int64_t threads_ = 256, edge_across_ = 1, edge_inner_ = 1, pitch_ = 1;
  std::vector<std::string> places_, vars_;  // of the dimensions: where the square begins, where an element stands
  std::string local_across_, local_inner_;
  std::map<int, std::string> squares_;
};

}  // namespace

bool CanTurn(const Kernel& kernel) { return ReadsAcross(kernel, kShortest); }
std::vector<Setting> TurnedTileValues(const Kernel& kernel) {
  if (!CanTurn(kernel)) return {Whole(0)};
  return {Whole(64), Whole(32), Whole(0)};
}
std::optional<std::string> CheckTurnedTile(const Kernel& kernel, const Setting& value) {
  const auto* edge = std::get_if<std::int64_t>(&value.value);
  if (edge && *edge == 0) return std::nullopt;
  if (!edge || (*edge != 16 && *edge != 32 && *edge != 64 && *edge != 128)) return "it is 0, 16, 32, 64 or 128; try 64";
  if (!CanTurn(kernel)) return "nothing is read across here; try 0";
  return std::nullopt;
}

bool EmitTurnedMap(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  return IntSetting(kernel, "tile") > 0 && TurnedMap(program, kernel, out).Write();
}

}  // namespace hone::dsl
