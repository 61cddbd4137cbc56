#include "graph/loop_nest.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "graph/op.h"

namespace hone {

extern const std::string_view kNumbersText;  // generated_code/numbers.h

namespace {

// C++ names of buffers: the problem's own where they are identifiers.
std::string Identifier(const std::string& name, int id) {
  std::string text;
  for (const char c : name) text += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return fmt::format("{}_{}", std::isdigit(static_cast<unsigned char>(text.empty() ? '0' : text[0])) ? "v" + text : text, id);
}

std::string FunctionName(std::string_view name) {
  std::string text(name);
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  if (text == "Isnan") return "IsNan";
  return text;
}

// Writes the nests of one graph. The text is a template body over R when `Style::kTemplate`, else in `real` itself.
enum class Style { kOracle, kNaive };

class NestWriter {
 public:
  NestWriter(const Graph& graph, Style style) : graph_(graph), style_(style) {
    for (std::size_t i = 0; i < graph.buffers().size(); ++i) names_.push_back(Identifier(graph.buffers()[i].name, static_cast<int>(i)));
    for (std::size_t s = 0; s < graph.stages().size(); ++s) {
      Visit(graph.stages()[s].value, [&](const ExprNode& node) {
        if (node.kind == Expr::Kind::kLoad) last_use_[Root(node.buffer)] = static_cast<int>(s);
      });
    }
  }

  const std::string& name(int buffer) const { return names_[static_cast<std::size_t>(buffer)]; }

  // The buffer whose memory this one is: itself, or what it is a reshape of. An output has memory of its own.
  int Root(int buffer) const {
    const Buffer& b = graph_.buffers()[static_cast<std::size_t>(buffer)];
    if (b.stage < 0 || b.tensor >= 0) return buffer;
    const int base = graph_.stages()[static_cast<std::size_t>(b.stage)].reshape_of;
    return base < 0 ? buffer : Root(base);
  }

  std::string WriteStage(std::size_t index) {
    const Stage& stage = graph_.stages()[index];
    const Buffer& buffer = graph_.buffers()[static_cast<std::size_t>(stage.buffer)];
    text_.clear();
    depth_ = 1;
    real_ = style_ == Style::kNaive ? (buffer.dtype == DType::kF64 ? "double" : "float") : "R";
    used_.clear();
    Visit(stage.value, [&](const ExprNode& node) {
      for (const auto& operand : node.operands) ++used_[operand.get()];
    });
    Line("// {} = {}", buffer.name, Shortened(ToString(stage.value, [&](int id) { return graph_.buffers()[static_cast<std::size_t>(id)].name; })));
    Line("{{");
    ++depth_;
    if (ElementCount(buffer.shape) > 0) {
      if (style_ == Style::kOracle && LaneSum(stage.value)) WriteLaneNest(stage);
      else WritePlainNest(stage);
    }
    --depth_;
    Line("}}");
    if (style_ == Style::kOracle) {
      for (const auto& [used, last] : last_use_) {
        const Buffer& b = graph_.buffers()[static_cast<std::size_t>(used)];
        if (last == static_cast<int>(index) && b.stage >= 0 && b.tensor < 0) Line("Release({}_memory);", name(used));
      }
    }
    return text_;
  }

 private:
  template <class... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    text_.append(static_cast<std::size_t>(depth_) * 2, ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  static std::string Shortened(std::string text) {
    if (text.size() > 160) text = text.substr(0, 157) + "...";
    return text;
  }

  // The only sum of the stage, when lanes can run side by side over the innermost index of the result.
  static const ExprNode* LaneSum(const Expr& value) {
    const ExprNode* found = nullptr;
    int count = 0;
    Visit(value, [&](const ExprNode& node) {
      if (node.kind == Expr::Kind::kReduce) {
        ++count;
        found = &node;
      }
    });
    if (count != 1 || found->reduce != ReduceOp::kSum || found->type != ScalarType::kReal || found->over.empty()) return nullptr;
    return found;
  }

  std::string IndexName(const IndexVar& var) const { return fmt::format("i{}", var.id); }

  void OpenLoop(const IndexVar& var, bool parallel = false) {
    if (parallel) Line("#pragma omp parallel for num_threads(threads)");
    Line("for (std::int64_t {0} = 0; {0} < {1}; ++{0}) {{", IndexName(var), var.extent);
    ++depth_;
  }
  void CloseLoops(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      --depth_;
      Line("}}");
    }
  }

  std::string Offset(const Stage& stage) const {
    std::string offset;
    std::int64_t stride = 1;
    for (std::size_t d = stage.vars.size(); d-- > 0;) {
      if (stage.vars[d].extent != 1) {
        const std::string term = stride == 1 ? IndexName(stage.vars[d]) : fmt::format("{} * {}", IndexName(stage.vars[d]), stride);
        offset = offset.empty() ? term : term + " + " + offset;
      }
      stride *= stage.vars[d].extent;
    }
    return offset.empty() ? "0" : offset;
  }

  void WriteResult(const Stage& stage, const Expr& value) {
    const Buffer& buffer = graph_.buffers()[static_cast<std::size_t>(stage.buffer)];
    const std::string text = Emit(value);
    if (style_ == Style::kNaive) Line("{}[{}] = static_cast<{}>({});", name(stage.buffer), Offset(stage), CppName(buffer.dtype), text);
    else Line("{}[{}] = {};", name(stage.buffer), Offset(stage), text);
  }

  void WritePlainNest(const Stage& stage) {
    bool parallel = style_ == Style::kOracle;
    std::size_t loops = 0;
    for (const auto& var : stage.vars) {
      OpenLoop(var, parallel && var.extent > 1);
      if (var.extent > 1) parallel = false;
      ++loops;
    }
    Scope scope(*this, stage.value);
    WriteResult(stage, stage.value);
    CloseLoops(loops);
  }

  // for outer indices: for blocks of kLanes of the inner one: all lanes' sums grow together, so that every element of the operands
  // is met in an order that caches like.
  void WriteLaneNest(const Stage& stage) {
    const ExprNode* sum = LaneSum(stage.value);
    bool parallel = true;
    std::size_t loops = 0;
    // The lane index: the innermost that varies.
    std::size_t lane = stage.vars.size();
    for (std::size_t d = stage.vars.size(); d-- > 0 && lane == stage.vars.size();) {
      if (stage.vars[d].extent > 1) lane = d;
    }
    for (std::size_t d = 0; d < stage.vars.size(); ++d) {
      if (d == lane) continue;
      OpenLoop(stage.vars[d], parallel && stage.vars[d].extent > 1);
      if (stage.vars[d].extent > 1) parallel = false;
      ++loops;
    }
    const std::int64_t lanes = lane < stage.vars.size() ? stage.vars[lane].extent : 1;
    if (parallel && lanes > 1) Line("#pragma omp parallel for num_threads(threads)");
    Line("for (std::int64_t first = 0; first < {}; first += kLanes) {{", lanes);
    ++depth_;
    Line("const int lanes = static_cast<int>(std::min<std::int64_t>(kLanes, {} - first));", lanes);
    Line("Sums<{}> sums;", real_);
    for (std::size_t i = 0; i + 1 < sum->over.size(); ++i) OpenLoop(sum->over[i]);
    const IndexVar& inner = sum->over.back();
    Line("for (std::int64_t block = 0; block < {}; block += kBlock) {{", inner.extent);
    ++depth_;
    Line("for (std::int64_t {0} = block; {0} < std::min<std::int64_t>(block + kBlock, {1}); ++{0}) {{", IndexName(inner), inner.extent);
    ++depth_;
    Line("for (int lane = 0; lane < lanes; ++lane) {{");
    ++depth_;
    if (lane < stage.vars.size()) Line("const std::int64_t {} = first + lane;", IndexName(stage.vars[lane]));
    {
      Scope scope(*this, sum->operands[0]);
      const std::string term = EmitTerm(sum->operands[0]);
      Line("sums.Add(lane, {});", term);
    }
    CloseLoops(2);
    Line("sums.Flush();");
    CloseLoops(sum->over.size());
    Line("for (int lane = 0; lane < lanes; ++lane) {{");
    ++depth_;
    if (lane < stage.vars.size()) Line("const std::int64_t {} = first + lane;", IndexName(stage.vars[lane]));
    {
      Scope scope(*this, stage.value);
      known_.insert({sum, "sums.Get(lane)"});
      WriteResult(stage, stage.value);
    }
    CloseLoops(loops + 2);
  }

  // --- Expressions ---

  // What is in sight while the statements of one block are written. Shared subtrees become named temporaries, if they are evaluated
  // on every path: a load behind a select's guard must stay behind it.
  class Scope {
   public:
    Scope(NestWriter& writer, const Expr& root) : writer_(writer), known_(writer.known_), unconditional_(writer.unconditional_) {
      Walk(*root);
    }
    ~Scope() {
      writer_.known_ = std::move(known_);
      writer_.unconditional_ = std::move(unconditional_);
    }

   private:
    void Walk(const ExprNode& node) {
      if (!writer_.unconditional_.insert(&node).second) return;
      if (node.kind == Expr::Kind::kReduce) return;  // a block of its own
      if (node.kind == Expr::Kind::kSelect) return Walk(*node.operands[0]);
      for (const auto& operand : node.operands) Walk(*operand);
    }
    NestWriter& writer_;
    std::unordered_map<const ExprNode*, std::string> known_;
    std::unordered_set<const ExprNode*> unconditional_;
  };

  std::string Emit(const Expr& e) {
    if (const auto it = known_.find(e.get()); it != known_.end()) return it->second;
    if (e->kind == Expr::Kind::kReduce) {
      std::string name = EmitReduce(*e);
      if (unconditional_.count(e.get())) known_[e.get()] = name;
      return name;
    }
    std::string text = EmitNode(*e);
    const bool worth = e->kind != Expr::Kind::kConst && e->kind != Expr::Kind::kIndex && e->type != ScalarType::kInt;
    if (worth && used_[e.get()] > 1 && unconditional_.count(e.get())) {
      std::string name = fmt::format("t{}", temporaries_++);
      Line("const auto {} = {};", name, text);
      known_[e.get()] = name;
      return name;
    }
    return text;
  }

  // A sum's term: a product of two reals is a contraction's.
  std::string EmitTerm(const Expr& e) {
    if (style_ == Style::kOracle && e->kind == Expr::Kind::kBinary && e->binary == BinaryOp::kMul && e->type == ScalarType::kReal &&
        e->operands[0].get() != e->operands[1].get()) {
      const std::string a = Emit(e->operands[0]);
      const std::string b = Emit(e->operands[1]);
      return fmt::format("Product({}, {})", a, b);
    }
    return Emit(e);
  }

  // Whether a truth value may hang on rounding: then both sides of a select have to be known to the oracle.
  bool Exact(const Expr& e) const {
    bool exact = true;
    Visit(e, [&](const ExprNode& node) {
      if (node.kind == Expr::Kind::kBinary && node.type == ScalarType::kBool && node.operands[0]->type == ScalarType::kReal) exact = false;
      if (node.kind == Expr::Kind::kCast && node.type == ScalarType::kBool && node.operands[0]->type == ScalarType::kReal) exact = false;
      if (node.kind == Expr::Kind::kUnary && node.unary == UnaryOp::kIsNan) exact = false;
      if (node.kind == Expr::Kind::kReduce) exact = false;
      if (node.kind == Expr::Kind::kLoad && node.type == ScalarType::kBool && graph_.buffers()[static_cast<std::size_t>(Root(node.buffer))].stage >= 0) exact = false;
    });
    return exact;
  }

  std::string RealConstant(double value) const {
    if (std::isnan(value)) return fmt::format("{}(std::numeric_limits<double>::quiet_NaN())", real_);
    if (std::isinf(value)) return fmt::format("{}({}kInf)", real_, value < 0 ? "-" : "");
    return fmt::format("{}({})", real_, value);
  }

  std::string EmitNode(const ExprNode& e) {
    switch (e.kind) {
      case Expr::Kind::kConst:
        if (e.type == ScalarType::kReal) return RealConstant(e.real);
        if (e.type == ScalarType::kBool) return e.whole ? "true" : "false";
        return fmt::format("std::int64_t{{{}}}", e.whole);
      case Expr::Kind::kIndex: return IndexName(e.index);
      case Expr::Kind::kLoad: return EmitLoad(e);
      case Expr::Kind::kUnary: {
        const std::string x = Emit(e.operands[0]);
        if (e.unary == UnaryOp::kNeg) return fmt::format("(-{})", x);
        if (e.unary == UnaryOp::kNot && e.type == ScalarType::kInt) return fmt::format("(~{})", x);
        return fmt::format("{}({})", FunctionName(Name(e.unary)), x);
      }
      case Expr::Kind::kBinary: return EmitBinary(e);
      case Expr::Kind::kSelect: return EmitSelect(e);
      case Expr::Kind::kCast: return EmitCast(e);
      case Expr::Kind::kReduce: break;
    }
    HONE_CHECK(false, "a reduction is not a plain node");
  }

  std::string EmitLoad(const ExprNode& e) {
    const Buffer& buffer = graph_.buffers()[static_cast<std::size_t>(e.buffer)];
    std::string offset;
    std::int64_t stride = 1;
    for (std::size_t d = buffer.shape.size(); d-- > 0;) {
      const Expr& index = e.operands[d];
      const bool zero = index->kind == Expr::Kind::kConst && index->whole == 0;
      if (!zero) {
        const std::string at = Emit(index);
        const std::string term = stride == 1 ? at : fmt::format("{} * {}", at, stride);
        offset = offset.empty() ? term : term + " + " + offset;
      }
      stride *= buffer.shape[d];
    }
    std::string element = fmt::format("{}[{}]", name(e.buffer), offset.empty() ? "0" : offset);
    if (style_ == Style::kOracle && graph_.buffers()[static_cast<std::size_t>(Root(e.buffer))].stage >= 0) return element;  // already of the nest's own types
    if (e.type == ScalarType::kReal) return fmt::format("{}({})", real_, buffer.dtype == DType::kF16 || buffer.dtype == DType::kBF16 ? "static_cast<float>(" + element + ")" : element);
    return e.type == ScalarType::kInt ? fmt::format("std::int64_t{{{}}}", element) : element;
  }

  std::string EmitBinary(const ExprNode& e) {
    const std::string a = Emit(e.operands[0]);
    const std::string b = Emit(e.operands[1]);
    const ScalarType operand = e.operands[0]->type;
    switch (e.binary) {
      case BinaryOp::kAdd: case BinaryOp::kSub: case BinaryOp::kMul: case BinaryOp::kDiv: return fmt::format("({} {} {})", a, Name(e.binary), b);
      case BinaryOp::kFloorDiv: return fmt::format("FloorDiv({}, {})", a, b);
      case BinaryOp::kFloorMod: return fmt::format("FloorMod({}, {})", a, b);
      case BinaryOp::kLess: return fmt::format("Less({}, {})", a, b);
      case BinaryOp::kLessEqual: return fmt::format("LessEqual({}, {})", a, b);
      case BinaryOp::kEqual: return fmt::format("Equal({}, {})", a, b);
      case BinaryOp::kNotEqual: return fmt::format("NotEqual({}, {})", a, b);
      case BinaryOp::kAnd: case BinaryOp::kOr: case BinaryOp::kXor:
        if (operand == ScalarType::kInt) return fmt::format("({} {} {})", a, e.binary == BinaryOp::kAnd ? "&" : e.binary == BinaryOp::kOr ? "|" : "^", b);
        return fmt::format("{}({}, {})", FunctionName(Name(e.binary)), a, b);
      default: return fmt::format("{}({}, {})", FunctionName(Name(e.binary)), a, b);
    }
  }

  std::string EmitSelect(const ExprNode& e) {
    const std::string condition = Emit(e.operands[0]);
    const std::string then = Emit(e.operands[1]);
    const std::string otherwise = Emit(e.operands[2]);
    if (style_ == Style::kOracle && !Exact(e.operands[0])) return fmt::format("Choose({}, {}, {})", condition, then, otherwise);
    return fmt::format("({} ? {} : {})", condition, then, otherwise);
  }

  std::string EmitCast(const ExprNode& e) {
    const std::string x = Emit(e.operands[0]);
    const ScalarType from = e.operands[0]->type;
    if (e.type == ScalarType::kReal) return from == ScalarType::kBool ? fmt::format("FromTruth({}(0), {})", real_, x) : fmt::format("{}(static_cast<double>({}))", real_, x);
    if (e.type == ScalarType::kInt) return fmt::format("static_cast<std::int64_t>(Plain({}))", x);
    return fmt::format("ToTruth({})", x);
  }

  // Statements before the current one; gives the name of the folded value.
  std::string EmitReduce(const ExprNode& e) {
    const int id = temporaries_++;
    const std::string type = e.operands[0]->type == ScalarType::kReal  ? real_
                             : e.operands[0]->type == ScalarType::kInt ? "std::int64_t"
                             : style_ == Style::kOracle                ? "typename TruthOf<R>::type"
                                                                       : "bool";
    const bool arg = e.reduce == ReduceOp::kArgMax || e.reduce == ReduceOp::kArgMin;
    const std::string name = fmt::format("r{}", id);
    switch (e.reduce) {
      case ReduceOp::kSum: Line("Sum<{}> {};", type, name); break;
      case ReduceOp::kProd: Line("{} {}(1);", type, name); break;
      case ReduceOp::kAny: Line("{} {} = false;", type, name); break;
      case ReduceOp::kAll: Line("{} {} = true;", type, name); break;
      default: Line("Best<{}> {};", type, name); break;
    }
    if (arg || e.reduce == ReduceOp::kMax || e.reduce == ReduceOp::kMin) Line("std::int64_t {}_at = 0;", name);
    for (const auto& var : e.over) OpenLoop(var);
    {
      Scope scope(*this, e.operands[0]);
      const std::string body = e.reduce == ReduceOp::kSum ? EmitTerm(e.operands[0]) : Emit(e.operands[0]);
      switch (e.reduce) {
        case ReduceOp::kSum: Line("{}.Add({});", name, body); break;
        case ReduceOp::kProd: Line("{0} = {0} * {1};", name, body); break;
        case ReduceOp::kAny: Line("{0} = Or({0}, {1});", name, body); break;
        case ReduceOp::kAll: Line("{0} = And({0}, {1});", name, body); break;
        case ReduceOp::kMax: if (!arg && e.type == ScalarType::kReal) { Line("{0}.best = {0}_at++ == 0 ? {1} : Max({0}.best, {1});", name, body); break; } [[fallthrough]];
        case ReduceOp::kMin: if (!arg && e.type == ScalarType::kReal) { Line("{0}.best = {0}_at++ == 0 ? {1} : Min({0}.best, {1});", name, body); break; } [[fallthrough]];
        default: Line("{0}.Offer({1}, {0}_at++, {2});", name, body, e.reduce == ReduceOp::kArgMax || e.reduce == ReduceOp::kMax ? "true" : "false");
      }
    }
    CloseLoops(e.over.size());
    if (arg) return name + ".at";
    if (e.reduce == ReduceOp::kSum) return name + ".Get()";
    if (e.reduce == ReduceOp::kMax || e.reduce == ReduceOp::kMin) return name + ".best";
    return name;
  }

  const Graph& graph_;
  const Style style_;
  std::vector<std::string> names_;
  std::map<int, int> last_use_;  // buffer -> stage
  std::string text_, real_;
  int depth_ = 0, temporaries_ = 0;
  std::unordered_map<const ExprNode*, int> used_;
  std::unordered_map<const ExprNode*, std::string> known_;
  std::unordered_set<const ExprNode*> unconditional_;
};

// Which types and roundings the contract means for this problem.
struct Honesty {
  std::string type = "float";
  double unit = 0x1p-24, operand_unit = 0x1p-24;
};

Honesty HonestyOf(const Problem& problem) {
  const bool all_double = std::all_of(problem.tensors.begin(), problem.tensors.end(), [](const Tensor& t) { return !IsFloat(t.dtype) || t.dtype == DType::kF64; });
  switch (problem.contract) {
    case Precision::kFp64: return {"double", 0x1p-53, 0x1p-53};
    case Precision::kTorch:
    case Precision::kFp32: return all_double ? Honesty{"double", 0x1p-53, 0x1p-53} : Honesty{};
    case Precision::kTf32:
    case Precision::kFp16: return {"float", 0x1p-24, 0x1p-11};
    case Precision::kBf16: return {"float", 0x1p-24, 0x1p-8};
  }
  return {};
}

bool IsOutput(const Graph& graph, const Buffer& buffer) {
  return buffer.tensor >= 0 && graph.problem().tensors[static_cast<std::size_t>(buffer.tensor)].role == Role::kOutput;
}

}  // namespace

std::string OracleSource(const Graph& graph) {
  NestWriter writer(graph, Style::kOracle);
  const Honesty honesty = HonestyOf(graph.problem());
  std::string text(kNumbersText);
  fmt::format_to(std::back_inserter(text), "namespace {{\nconst double kUnit = {:a};\nconst double kOperandUnit = {:a};\n\n", honesty.unit, honesty.operand_unit);
  text += "template <class R>\nvoid RunGraph(const void* const* in, double* const* value, double* const* scale, [[maybe_unused]] int threads) {\n";
  const auto& buffers = graph.buffers();
  int input = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].stage >= 0) continue;
    fmt::format_to(std::back_inserter(text), "  [[maybe_unused]] const auto* {} = static_cast<const {}*>(in[{}]);\n", writer.name(static_cast<int>(i)), CppName(buffers[i].dtype), input++);
  }
  for (std::size_t s = 0; s < graph.stages().size(); ++s) {
    const int id = graph.stages()[s].buffer;
    const Buffer& buffer = buffers[static_cast<std::size_t>(id)];
    if (const int root = writer.Root(id); root != id) {
      fmt::format_to(std::back_inserter(text), "  [[maybe_unused]] const auto* {} = {};  // {}\n", writer.name(id), writer.name(root), ToString(buffer.shape));
      continue;
    }
    const std::string_view type = ScalarTypeOf(buffer.dtype) == ScalarType::kReal  ? "R"
                                  : ScalarTypeOf(buffer.dtype) == ScalarType::kInt ? "std::int64_t"
                                                                                   : "typename TruthOf<R>::type";
    // std::vector<bool> would be shared bits: a struct of one bool is not.
    if (type == "typename TruthOf<R>::type") fmt::format_to(std::back_inserter(text), "  struct {0}_Cell {{ {1} cell; {0}_Cell& operator=({1} x) {{ cell = x; return *this; }} operator {1}() const {{ return cell; }} }};\n  std::vector<{0}_Cell> {0}_memory({2});\n", writer.name(id), type, ElementCount(buffer.shape));
    else fmt::format_to(std::back_inserter(text), "  std::vector<{}> {}_memory({});\n", type, writer.name(id), ElementCount(buffer.shape));
    fmt::format_to(std::back_inserter(text), "  auto* {0} = {0}_memory.data();\n", writer.name(id));
    text += writer.WriteStage(s);
  }
  std::size_t outputs = graph.problem().Outputs().size();
  for (std::size_t o = 0; o < outputs; ++o) {
    const int id = graph.Output(o);
    const Buffer& buffer = buffers[static_cast<std::size_t>(id)];
    const bool truth = buffer.dtype == DType::kBool;
    fmt::format_to(std::back_inserter(text), "  for (std::int64_t i = 0; i < {0}; ++i) Store({1}{2}, &value[{3}][i], &scale[{3}][i]);\n", ElementCount(buffer.shape),
                   truth ? fmt::format("static_cast<typename TruthOf<R>::type>({}[i])", writer.name(id)) : writer.name(id), truth ? "" : "[i]", o);
  }
  fmt::format_to(std::back_inserter(text),
                 "}}\n}}  // namespace\n\n"
                 "extern \"C\" __attribute__((visibility(\"default\"))) void hone_oracle(const void* const* in, double* const* value, double* const* scale, double* const* honest, int threads) {{\n"
                 "  RunGraph<Honest<{}>>(in, honest, scale, threads);  // its zero scales are overwritten\n"
                 "  RunGraph<Tracked>(in, value, scale, threads);\n}}\n",
                 honesty.type);
  return text;
}

std::string NaiveModule(const Graph& graph) {
  NestWriter writer(graph, Style::kNaive);
  std::string text = "#include <hone/module.h>\n\n";
  text += kNumbersText;
  text += "namespace {\nconst double kUnit = 0;\nconst double kOperandUnit = 0;\n}\n\nextern \"C\" int32_t hone_abi_version(void) { return HONE_ABI_VERSION; }\n\nextern \"C\" int32_t hone_run(const HoneCall* call) {\n";
  const auto& buffers = graph.buffers();
  const auto& problem = graph.problem();
  int inputs = 0, parameters = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].stage >= 0) continue;
    const bool parameter = problem.tensors[static_cast<std::size_t>(buffers[i].tensor)].role == Role::kParameter;
    fmt::format_to(std::back_inserter(text), "  [[maybe_unused]] const auto* __restrict {} = static_cast<const {}*>(call->{}[{}].data);\n", writer.name(static_cast<int>(i)), CppName(buffers[i].dtype),
                   parameter ? "parameters" : "inputs", parameter ? parameters++ : inputs++);
  }
  for (std::size_t s = 0; s < graph.stages().size(); ++s) {
    const int id = graph.stages()[s].buffer;
    const Buffer& buffer = buffers[static_cast<std::size_t>(id)];
    if (const int root = writer.Root(id); root != id) {
      fmt::format_to(std::back_inserter(text), "  [[maybe_unused]] const auto* {} = {};  // {}\n", writer.name(id), writer.name(root), ToString(buffer.shape));
      continue;
    }
    if (IsOutput(graph, buffer)) {
      int position = 0;
      while (graph.Output(static_cast<std::size_t>(position)) != id) ++position;
      fmt::format_to(std::back_inserter(text), "  auto* __restrict {} = static_cast<{}*>(call->outputs[{}].data);\n", writer.name(id), CppName(buffer.dtype), position);
    } else {
      fmt::format_to(std::back_inserter(text), "  static {2}* const {0}_memory = new {2}[{1}];\n  {2}* __restrict {0} = {0}_memory;\n", writer.name(id), std::max<std::int64_t>(ElementCount(buffer.shape), 1), CppName(buffer.dtype));
    }
    text += writer.WriteStage(s);
  }
  text += "  return 0;\n}\n";
  return text;
}

}  // namespace hone
