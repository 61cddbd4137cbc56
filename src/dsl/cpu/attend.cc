// One file because both ways share how operands are read, how scores become weights and how results are stored.
#include "dsl/cpu/attend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dsl/cpu/expr_writer.h"
#include "dsl/cpu/index_text.h"
#include "dsl/cpu/loop_text.h"
#include "dsl/shape/attention_weights.h"

namespace hone::dsl {
namespace {

class AttentionEmitter {
  using Index = std::vector<std::string>;

 public:
  AttentionEmitter(const KernelProgram& program, const Kernel& kernel, Writer& writer)
      : program_(program), kernel_(kernel), writer_(writer) {
    rank_ = kernel.space.size();
    m_ = kernel.space[rank_ - 4].extent;
    e_ = kernel.space[rank_ - 3].extent;
    n_ = kernel.space[rank_ - 2].extent;
    d_ = kernel.space[rank_ - 1].extent;
    if (kernel.settings.contains("micro")) {
      const auto micro = TupleSetting(kernel, "micro");
      mr_ = micro[0];
      lanes_ = micro[1];
    }
    keys_ = std::min(IntSetting(kernel, "keys"), n_);
    causal_ = kernel.attributes.at("causal")[0] != 0;
    softmax_ = WeighsBySoftmax(kernel);
    hidden_ = writer.Number(HiddenScore(kernel));
    sums_ = softmax_ || ReadsRowSum(kernel);
    score_ = kernel.lets.empty() ? Value(kIt, ScalarType::kReal) : Cast(kernel.lets[0].body, ScalarType::kReal);
  }

  void EmitLanes() {
    const std::string& real = writer_.real();
    WriteScores();
    WriteBlend();
    writer_.Comment(fmt::format("Blocks of {} queries, whoever is free.", lanes_));
    OpenTasks("i0", lanes_);
    writer_.Line(Left("filled", m_, "i0", lanes_));
    const std::int64_t e_up = (e_ + mr_ - 1) / mr_ * mr_, keys_up = (keys_ + mr_ - 1) / mr_ * mr_;
    writer_.Line(fmt::format("alignas(64) {} queries[{}], scores[{}], sums[{}];", real, d_ * lanes_, keys_up * lanes_,
                             e_up * lanes_));
    writer_.Line(fmt::format("alignas(64) {} top[{}], total[{}], scale[{}];", real, lanes_, lanes_, lanes_));
    writer_.Comment("A column a query; behind the last one, zeros.");
    writer_.Line(fmt::format("__builtin_memset(queries, 0, sizeof(queries));"));
    writer_.Open("for (long l = 0; l < filled; ++l)");
    Copy(kernel_.inputs[0], rank_ - 4, "i0 + l", rank_ - 1, d_, fmt::format("queries[at * {} + l]", lanes_));
    writer_.Close();
    writer_.Line("__builtin_memset(sums, 0, sizeof(sums));");
    // What the scores themselves weigh is not scaled.
    writer_.Line(
        fmt::format("for (long l = 0; l < {}; ++l) top[l] = {}, total[l] = 0, scale[l] = 1;", lanes_, hidden_));
    std::string end = fmt::format("{}", n_);
    if (causal_ && (m_ > lanes_ || m_ < n_)) {
      writer_.Comment("Keys behind the last query count for none.");
      writer_.Line(fmt::format("const long end = i0 + filled < {} ? i0 + filled : {};", n_, n_));
      end = "end";
    }
    writer_.Open(fmt::format("for (long k0 = 0; k0 < {}; k0 += {})", end, keys_));
    writer_.Line(end == "end" ? Left("count", end, "k0", keys_) : Left("count", n_, "k0", keys_));
    const std::string keys = Rows(1), values = Rows(2);
    writer_.Line(fmt::format("Scores_{}(count, {}, queries, scores);", writer_.TargetName(), keys));
    if (softmax_) {
      writer_.Comment("The largest score of each query.");
      writer_.Line(fmt::format("{} before[{}];", real, lanes_));
      writer_.Line(fmt::format("for (long l = 0; l < {}; ++l) before[l] = top[l];", lanes_));
    }
    if (sums_ || !IsPlain()) LaneScores();
    if (softmax_) WeighLanes();
    writer_.Line(fmt::format("Blend_{}(count, {}, scores, scale, sums);", writer_.TargetName(), values));
    writer_.Close();

    writer_.Open("for (long l = 0; l < filled; ++l)");
    Store("i0 + l", fmt::format("sums[at * {} + l]", lanes_), "total[l]", "top[l]");
    writer_.Close();
    CloseTasks();
  }

  // One query at a time: products along the rows of K, then the rows of V added up.
  void EmitRows() {
    const std::string& real = writer_.real();
    OpenTasks("i0", 1);
    writer_.Line(fmt::format("alignas(64) {} query[{}], scores[{}], sums[{}] = {{}};", real, d_, keys_, e_));
    writer_.Line(fmt::format("{} top = {}, total = 0;", real, hidden_));
    Copy(kernel_.inputs[0], rank_ - 4, "i0", rank_ - 1, d_, "query[at]");
    std::string end = fmt::format("{}", n_);
    if (causal_) {
      writer_.Line(fmt::format("const long end = i0 + 1 < {} ? i0 + 1 : {};", n_, n_));
      end = "end";
    }
    writer_.Open(fmt::format("for (long k0 = 0; k0 < {}; k0 += {})", end, keys_));
    writer_.Line(causal_ ? Left("count", end, "k0", keys_) : Left("count", n_, "k0", keys_));
    writer_.Line(fmt::format("const {}* keys = {};", real, Rows(1)));
    writer_.Line(fmt::format("const {}* values = {};", real, Rows(2)));
    const auto [key, key_step] = Steps(1);
    const auto [value_key, value_step] = Steps(2);
    if (key == 1 && key_step != 1) {
      writer_.Line("for (long j = 0; j < count; ++j) scores[j] = 0;");
      writer_.Open(fmt::format("for (long at = 0; at < {}; ++at)", d_));
      writer_.Line("#pragma omp simd");
      writer_.Line(fmt::format("for (long j = 0; j < count; ++j) scores[j] += query[at] * keys[{}];",
                               Address({"at", "j"}, {key_step, key}, 0)));
      writer_.Close();
    } else {
      writer_.Open("for (long j = 0; j < count; ++j)");
      writer_.Line(fmt::format("{} sum = 0;", real));
      writer_.Line("#pragma omp simd reduction(+ : sum)");
      writer_.Line(fmt::format("for (long at = 0; at < {}; ++at) sum += query[at] * keys[{}];", d_,
                               Address({"j", "at"}, {key, key_step}, 0)));
      writer_.Line("scores[j] = sum;");
      writer_.Close();
    }
    if (sums_ || !IsPlain()) RowScores();
    if (softmax_) WeighRow();
    constexpr int kAtATime = 4;
    const auto add = [&](int rows) {
      std::string sum;
      for (int r = 0; r < rows; ++r) {
        const std::string j = r == 0 ? "j" : fmt::format("j + {}", r);
        sum +=
            fmt::format("{}scores[{}] * values[{}]", r ? " + " : "", j, Address({j, "at"}, {value_key, value_step}, 0));
      }
      writer_.Line("#pragma omp simd");
      writer_.Line(fmt::format("for (long at = 0; at < {}; ++at) sums[at] += {};", e_, sum));
    };
    writer_.Line("long j = 0;");
    writer_.Open(fmt::format("for (; j + {} <= count; j += {})", kAtATime, kAtATime));
    add(kAtATime);
    writer_.Close();
    writer_.Open("for (; j < count; ++j)");
    add(1);
    writer_.Close();
    writer_.Close();
    Store("i0", "sums[at]", "total", "top");
    CloseTasks();
  }

 private:
  bool IsPlain() const { return kernel_.lets.empty() && !causal_; }

  // Scores of a block's products, and what is the largest of them, or their sum.
  void LaneScores() {
    const std::string& real = writer_.real();
    writer_.Open("for (long j = 0; j < count; ++j)");
    writer_.Line(fmt::format("{}* row = scores + j * {};", real, lanes_));
    writer_.Line("#pragma omp simd");
    // Elements of other operands end with the queries.
    writer_.Open(fmt::format("for (long l = 0; l < {}; ++l)",
                             OperandsOf({score_}).empty() ? fmt::format("{}", lanes_) : std::string("filled")));
    if (!IsPlain()) {
      Index place = index_;
      place[rank_ - 4] = "i0 + l";
      place[rank_ - 2] = "k0 + j";
      ExprWriter text(writer_, [&](const ExprNode& load) {
        return load.kind == Expr::Kind::kValue ? std::string("row[l]") : Element(load.buffer, place);
      });
      text.Call([&](const IndexVar& index) { return PlaceAlong(index, place); });
      std::string value = text.Text(score_);
      if (causal_) value = fmt::format("k0 + j > i0 + l ? {} : {}", hidden_, Bound(value));
      writer_.Line(fmt::format("const {} score = {};", real, value));
      writer_.Line("row[l] = score;");
    }
    if (softmax_) {
      writer_.Line("top[l] = row[l] > top[l] ? row[l] : top[l];");
    } else if (sums_) {
      writer_.Line("total[l] += row[l];");
    }
    writer_.Close();
    writer_.Close();
  }

  // Exponentials of a block's scores.
  void WeighLanes() {
    const std::string& real = writer_.real();
    const std::string infinity = writer_.Number(INFINITY);
    writer_.Comment("What came before is scaled down to the new largest score. Where there is none yet, 0 stands in.");
    writer_.Line("#pragma omp simd");
    writer_.Open(fmt::format("for (long l = 0; l < {}; ++l)", lanes_));
    const Expr top = Load(0, {}, ScalarType::kReal), before = Load(1, {}, ScalarType::kReal),
               row = Load(2, {}, ScalarType::kReal);
    const auto local = [&](const ExprNode& load) -> std::string {
      static constexpr std::string_view kNames[] = {"top[l]", "before[l]", "row[l]"};
      return std::string(kNames[static_cast<std::size_t>(load.buffer)]);
    };
    {
      ExprWriter text(writer_, local);
      writer_.Line(fmt::format("const bool none = top[l] == -{};", infinity));
      const std::string factor = text.Text(Exp(before - top));
      writer_.Line(fmt::format("scale[l] = none ? {} : {};", writer_.Number(1), Bound(factor)));
      writer_.Line("total[l] *= scale[l];");
      writer_.Line(fmt::format("before[l] = none ? {} : top[l];", writer_.Number(0)));
    }
    writer_.Close();
    writer_.Line(fmt::format("{} part[{}] = {{}};", real, lanes_));
    writer_.Open("for (long j = 0; j < count; ++j)");
    writer_.Line(fmt::format("{}* row = scores + j * {};", real, lanes_));
    writer_.Line("#pragma omp simd");
    writer_.Open(fmt::format("for (long l = 0; l < {}; ++l)", lanes_));
    {
      ExprWriter text(writer_, local);
      writer_.Line(fmt::format("const {} weight = {};", real, text.Text(Exp(row - before))));
      writer_.Line("row[l] = weight;");
      writer_.Line("part[l] += weight;");
    }
    writer_.Close();
    writer_.Close();
    writer_.Line(fmt::format("for (long l = 0; l < {}; ++l) total[l] += part[l];", lanes_));
  }

  // Scores of one query's products, and what is the largest of them, or their sum.
  void RowScores() {
    const std::string& real = writer_.real();
    if (softmax_) writer_.Line(fmt::format("const {} before = top;", real));
    writer_.Line(fmt::format("#pragma omp simd{}", softmax_ ? " reduction(max : top)"
                                                   : sums_  ? " reduction(+ : total)"
                                                            : ""));
    writer_.Open("for (long j = 0; j < count; ++j)");
    if (!IsPlain()) {
      Index place = index_;
      place[rank_ - 4] = "i0";
      place[rank_ - 2] = "k0 + j";
      ExprWriter text(writer_, [&](const ExprNode& load) {
        return load.kind == Expr::Kind::kValue ? std::string("scores[j]") : Element(load.buffer, place);
      });
      text.Call([&](const IndexVar& index) { return PlaceAlong(index, place); });
      const std::string value = text.Text(score_);
      writer_.Line(fmt::format("scores[j] = {};", value));
    }
    if (softmax_) {
      writer_.Line("top = scores[j] > top ? scores[j] : top;");
    } else if (sums_) {
      writer_.Line("total += scores[j];");
    }
    writer_.Close();
  }

  // Exponentials of them.
  void WeighRow() {
    const std::string& real = writer_.real();
    const std::string infinity = writer_.Number(INFINITY);
    writer_.Comment("No key counts yet. A NaN is none: it comes back in the total.");
    writer_.Line(fmt::format("const {} base = top == -{} ? {} : top;", real, infinity, writer_.Number(0)));
    {
      const Expr first = Load(0, {}, ScalarType::kReal), second = Load(1, {}, ScalarType::kReal);
      const auto names = [](std::string a, std::string b) {
        return [a = std::move(a), b = std::move(b)](const ExprNode& load) { return load.buffer == 0 ? a : b; };
      };
      ExprWriter factor(writer_, names("before", "base"));
      writer_.Line(fmt::format("const {} scale = {};", real, factor.Text(Exp(first - second))));
      writer_.Line(fmt::format("{} part = 0;", real));
      writer_.Line("#pragma omp simd reduction(+ : part)");
      writer_.Open("for (long j = 0; j < count; ++j)");
      ExprWriter power(writer_, names("scores[j]", "base"));
      power.KnowNotAboveZero([](const ExprNode&) { return true; });
      writer_.Line(fmt::format("const {} weight = {};", real, power.Text(Exp(first - second))));
      writer_.Line("scores[j] = weight;");
      writer_.Line("part += weight;");
      writer_.Close();
    }
    writer_.Line("total = total * scale + part;");
    writer_.Line(fmt::format("for (long at = 0; at < {}; ++at) sums[at] *= scale;", e_));
  }

  std::string PlaceAlong(const IndexVar& index, const Index& place) const {
    std::size_t d = 0;
    while (kernel_.space[d].id != index.id) ++d;
    return place[d];
  }

  // Loops over batches and blocks of `step` queries from `i0` on.
  void OpenTasks(const std::string& var, std::int64_t step) {
    int loops = m_ > step ? 1 : 0;
    for (std::size_t b = 0; b + 4 < rank_; ++b) loops += kernel_.space[b].extent > 1 ? 1 : 0;
    if (loops > 0) writer_.ParallelFor(loops, "dynamic");
    index_.assign(rank_, "0");
    for (std::size_t b = 0; b + 4 < rank_; ++b) {
      if (kernel_.space[b].extent == 1) continue;
      index_[b] = fmt::format("b{}", b);
      writer_.Open(For(index_[b], kernel_.space[b].extent));
      ++open_;
    }
    if (m_ > step) {
      writer_.Open(fmt::format("for (long {} = 0; {} < {}; {} += {})", var, var, m_, var, step));
      ++open_;
    }
    if (open_ == 0) {
      writer_.Open("");
      ++open_;
    }
    if (m_ <= step) writer_.Line(fmt::format("constexpr long {} = 0;", var));
  }
  void CloseTasks() {
    for (; open_ > 0; --open_) writer_.Close();
  }

  // The row of the result of the query at `place`.
  void Store(const std::string& query, const std::string& sum, const std::string& total, const std::string& top) {
    if (ReadsRowSum(kernel_)) {
      const Expr most = Load(0, {}, ScalarType::kReal), sum = Load(1, {}, ScalarType::kReal);
      ExprWriter text(writer_, [&](const ExprNode& load) { return load.buffer == 0 ? top : total; });
      const std::string made = text.Text(softmax_ ? most + Log(sum) : sum);
      writer_.Line(fmt::format("const {} row_sum = {};", writer_.real(), made));
    }
    writer_.Line("#pragma omp simd");
    writer_.Open(fmt::format("for (long at = 0; at < {}; ++at)", e_));
    const bool safe = kernel_.attributes.at("safe")[0] != 0;
    std::string value = sum;
    if (softmax_) value = fmt::format("{}{} / {}", safe ? fmt::format("{} == 0 ? 0 : ", total) : "", sum, total);
    writer_.Line(fmt::format("const {} value = {};", writer_.real(), value));
    Index place = index_;
    place[rank_ - 4] = query;
    place[rank_ - 3] = "at";
    ExprWriter text(writer_, [&](const ExprNode& load) {
      if (load.kind != Expr::Kind::kValue) return Element(load.buffer, place);
      return std::string(load.value == kRowSum ? "row_sum" : "value");
    });
    const std::string result = text.Text(kernel_.epilogue);
    place.resize(rank_ - 2);
    writer_.Line(
        fmt::format("{}[{}] = {};", writer_.TargetName(), Address(place, TargetStridesOf(kernel_), 0), result));
    writer_.Close();
  }

  std::string Element(int operand, const Index& index) const {
    const auto& view = kernel_.operands[static_cast<std::size_t>(operand)];
    return ElementText(program_, kernel_, writer_, operand, index, view.strides, view.offset);
  }
  // to = the input's elements along dimension `along`, at `place` of dimension `fixed`.
  void Copy(const Expr& input, std::size_t fixed, const std::string& place, std::size_t along, std::int64_t extent,
            const std::string& to) {
    Index index = index_;
    index[fixed] = place;
    index[along] = "at";
    writer_.Open(fmt::format("for (long at = 0; at < {}; ++at)", extent));
    ExprWriter text(writer_, [&](const ExprNode& load) { return Element(load.buffer, index); });
    text.Call([&](const IndexVar& var) { return PlaceAlong(var, index); });
    const std::string value = text.Text(input);
    writer_.Line(fmt::format("{} = {};", to, value));
    writer_.Close();
  }
  // In parentheses if it is more than a name.
  static std::string Bound(const std::string& text) {
    return text.find(' ') == std::string::npos ? text : "(" + text + ")";
  }

  // Whether the rows of K (input 1) or V (input 2) can be read where they lie.
  bool Lies(std::size_t input) const {
    const Expr& expr = kernel_.inputs[input];
    if (expr->kind != Expr::Kind::kLoad) return false;
    const auto& view = kernel_.operands[static_cast<std::size_t>(expr->buffer)];
    return ElementType(program_.buffers[static_cast<std::size_t>(view.buffer)].dtype) == writer_.real();
  }
  std::size_t Along(std::size_t input) const { return input == 1 ? rank_ - 1 : rank_ - 3; }
  // Elements from key to key and along a key's row.
  std::pair<std::int64_t, std::int64_t> Steps(std::size_t input) const {
    if (!Lies(input)) return {input == 1 ? d_ : e_, 1};
    const auto& strides = InputOperand(kernel_, input).strides;
    return {strides[rank_ - 2], strides[Along(input)]};
  }
  // The address of the block's first key in K or V; an expression is computed into a copy of the block before.
  std::string Rows(std::size_t input) {
    if (Lies(input)) {
      Index index = index_;
      index[rank_ - 2] = "k0";
      return "&" + Element(kernel_.inputs[input]->buffer, index);
    }
    const std::string name = input == 1 ? "key_rows" : "value_rows";
    const std::int64_t width = input == 1 ? d_ : e_;
    writer_.Line(fmt::format("alignas(64) {} {}[{}];", writer_.real(), name, keys_ * width));
    writer_.Open("for (long j = 0; j < count; ++j)");
    Copy(kernel_.inputs[input], rank_ - 2, "k0 + j", Along(input), width, fmt::format("{}[j * {} + at]", name, width));
    writer_.Close();
    return name;
  }

  std::string OpenFunction(const std::string& name, const std::string& parameters) {
    const std::string& real = writer_.real();
    const std::int64_t element = writer_.wide() ? 8 : 4;
    std::string vector = writer_.wide() ? "DoubleVector" : "FloatVector";
    if (lanes_ * element % 64 == 0) {
      writer_.Helper("Vector_" + real);
    } else {
      vector = fmt::format("{}Vector_{}", name, writer_.TargetName());
      writer_.Line(fmt::format("typedef {} {} __attribute__((vector_size(32), aligned({}), may_alias));", real, vector,
                               element));
    }
    writer_.Open(fmt::format("inline void {}_{}(long count, {})", name, writer_.TargetName(), parameters));
    writer_.Line(
        fmt::format("constexpr int kLanes = sizeof({}) / sizeof({}), kVectors = {} / kLanes;", vector, real, lanes_));
    return vector;
  }
  // A loop over rows of registers: `body` of row r, vector v.
  void EachRegister(const std::string& body) {
    writer_.Line("#pragma GCC unroll 32");
    writer_.Open(fmt::format("for (int r = 0; r < {}; ++r)", mr_));
    writer_.Line("#pragma GCC unroll 16");
    writer_.Line(fmt::format("for (int v = 0; v < kVectors; ++v) {}", body));
    writer_.Close();
  }
  // sum += element(r) * the vectors at `from`, over `index` < `extent`.
  void Accumulate(const std::string& vector, const std::string& index, const std::string& extent,
                  const std::string& from, const std::string& element) {
    writer_.Open(fmt::format("for (long {} = 0; {} < {}; ++{})", index, index, extent, index));
    writer_.Line(fmt::format("{} row[kVectors];", vector));
    writer_.Line("#pragma GCC unroll 16");
    writer_.Line(fmt::format(
        "for (int v = 0; v < kVectors; ++v) row[v] = *reinterpret_cast<const {}*>({} + {} * {} + v * kLanes);", vector,
        from, index, lanes_));
    EachRegister(fmt::format("sum[r][v] += {} * row[v];", element));
    writer_.Close();
  }

  // scores[key][query] = the products of `count` keys with the block's queries.
  void WriteScores() {
    const auto [key, step] = Steps(1);
    const std::string& real = writer_.real();
    writer_.BeginFunction();
    writer_.Comment(fmt::format("The scores of `count` keys, {} x {} at a time in registers.", mr_, lanes_));
    const std::string vector = OpenFunction(
        "Scores",
        fmt::format("const {0}* __restrict keys, const {0}* __restrict queries, {0}* __restrict scores", real));
    const auto block = [&](const std::string& row) {
      writer_.Line(fmt::format("{} sum[{}][kVectors] = {{}};", vector, mr_));
      Accumulate(vector, "at", fmt::format("{}", d_), "queries",
                 fmt::format("keys[{}]", Address({row, "at"}, {key, step}, 0)));
      EachRegister(
          fmt::format("*reinterpret_cast<{}*>(scores + (j + r) * {} + v * kLanes) = sum[r][v];", vector, lanes_));
    };
    writer_.Line("long j = 0;");
    writer_.Open(fmt::format("for (; j + {} <= count; j += {})", mr_, mr_));
    block("j + r");
    writer_.Close();
    if (mr_ > 1) {
      writer_.Open("if (j < count)");
      writer_.Comment("Behind the last key it is read again; what comes of it is not looked at.");
      writer_.Line(fmt::format("long rows[{}];", mr_));
      writer_.Line(fmt::format("for (int r = 0; r < {}; ++r) rows[r] = j + r < count ? j + r : count - 1;", mr_));
      block("rows[r]");
      writer_.Close();
    }
    writer_.Close();
    writer_.EndFunction();
  }

  // sums[e][query] = sums * scale + the values of `count` keys by their weights.
  void WriteBlend() {
    const auto [key, step] = Steps(2);
    const std::string& real = writer_.real();
    writer_.BeginFunction();
    writer_.Comment(
        fmt::format("Scales what was summed and adds `count` keys' values by their weights, {} x {} at a "
                    "time in registers.",
                    mr_, lanes_));
    const std::string vector = OpenFunction(
        "Blend",
        fmt::format("const {0}* __restrict values, const {0}* __restrict weights, const {0}* __restrict scale, "
                    "{0}* __restrict sums",
                    real));
    const std::int64_t whole = e_ / mr_ * mr_;
    const auto block = [&](const std::string& column) {
      writer_.Line(fmt::format("{} sum[{}][kVectors] = {{}};", vector, mr_));
      const std::string sum = fmt::format("*reinterpret_cast<{}*>(sums + (e + r) * {} + v * kLanes)", vector, lanes_);
      Accumulate(vector, "j", "count", "weights", fmt::format("values[{}]", Address({"j", column}, {key, step}, 0)));
      // A block's own sum joins the total at its end: fewer roundings pile up.
      EachRegister(
          fmt::format("{} = {} * *reinterpret_cast<const {}*>(scale + v * kLanes) + sum[r][v];", sum, sum, vector));
    };
    if (whole > 0) {
      writer_.Open(fmt::format("for (long e = 0; e < {}; e += {})", whole, mr_));
      block("e + r");
      writer_.Close();
    }
    if (whole < e_) {
      writer_.Open("");
      writer_.Line(fmt::format("constexpr long e = {};", whole));
      // Rows behind the last read it again, and are not stored.
      block(fmt::format("e + (r < {} ? r : {})", e_ - whole, e_ - whole - 1));
      writer_.Close();
    }
    writer_.Close();
    writer_.EndFunction();
  }

  const KernelProgram& program_;
  const Kernel& kernel_;
  Writer& writer_;
  std::size_t rank_ = 4;
  std::int64_t m_ = 1, n_ = 1, d_ = 1, e_ = 1, mr_ = 6, lanes_ = 64, keys_ = 64;
  bool causal_ = false;
  bool softmax_ = true, sums_ = true;  // whether values are weighed by a softmax; whether weights are summed
  std::string hidden_;                 // the score of a key that is hidden
  Expr score_;
  Index index_;
  int open_ = 0;
};

}  // namespace

void EmitAttentionLanes(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  AttentionEmitter(program, kernel, writer).EmitLanes();
}

void EmitAttentionRows(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  AttentionEmitter(program, kernel, writer).EmitRows();
}

}  // namespace hone::dsl
