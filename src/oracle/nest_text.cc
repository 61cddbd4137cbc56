// One file because it is what both writers of nests have in common, an expression's text, which calls itself from every
// kind of node.
#include "oracle/nest_text.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/check.h"
#include "base/text.h"
#include "graph/op.h"
#include "oracle/body_numbers.h"
#include "oracle/fold_range.h"
#include "problem/element.h"

namespace hone {
namespace {

// A buffer in C++: values that one operator makes may share a name, and letters that are none are one.
std::string Identifier(const std::string& name, int id) {
  std::string text;
  for (const char c : name) text += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return fmt::format("{}_{}", Spelled(text), id);
}

std::string FunctionName(std::string_view name) {
  std::string text(name);
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  if (text == "Isnan") return "IsNan";
  return text;
}

std::string Shortened(std::string text) {
  if (text.size() > 160) text = text.substr(0, 157) + "...";
  return text;
}

bool Holds(DType dtype, double value) {
  return WithElement(dtype, [&](auto element) { return decltype(element)::From(value).Value() == value; });
}

bool IsArg(const ExprNode& e) { return hone::IsArg(e.reduce); }

// What holds a value of the oracle that may hang on rounding.
std::string OracleType(ScalarType type) {
  if (type == ScalarType::kReal) return "R";
  return type == ScalarType::kInt ? "typename TypesOf<R>::Whole" : "typename TypesOf<R>::Truth";
}

}  // namespace

NestText::NestText(const Graph& graph, Style style, Moves moves)
    : graph_(graph), style_(style), stages_(graph.stages()) {
  for (std::size_t i = 0; i < graph.buffers().size(); ++i)
    ids_[names_.emplace_back(Identifier(graph.buffers()[i].name, static_cast<int>(i)))] = static_cast<int>(i);
  if (style == Style::kOracle) FuseChains(moves);
  exact_.assign(graph.buffers().size(), true);
  const auto live = LiveStages(graph);
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    Stage& stage = stages_[s];
    if (!stage.value) continue;
    if (style == Style::kOracle && stage.sequence < 0)
      stage.value = WithGuardedFactors(stage.value, [&](const Expr& e) { return IsExact(e); });
    if (stage.sequence >= 0 && SequenceEnd(graph, s) == s + 1) FindExactSteps(s);
    if (stage.sequence < 0) exact_[static_cast<std::size_t>(stage.buffer)] = IsExact(stage);
    if (!live[s]) continue;
    Visit(stage.value, [&](const ExprNode& node) {
      if (node.kind == Expr::Kind::kLoad) last_use_[Root(node.buffer)] = static_cast<int>(s);
    });
  }
  if (style == Style::kOracle) softmaxes_ = FindSoftmaxes(graph, stages_);
}

std::string NestText::MemoryType(int id) const {
  const ScalarType type = ScalarTypeOf(graph_.buffers()[static_cast<std::size_t>(id)].dtype);
  if (type == ScalarType::kReal && exact(id)) return "typename TypesOf<R>::Exact";
  if (!exact(id)) return OracleType(type);
  return type == ScalarType::kInt ? "std::int64_t" : "bool";
}

bool NestText::GoesStraight(int id) const {
  return style_ == Style::kOracle && graph_.buffers()[static_cast<std::size_t>(id)].tensor >= 0 && !last_use_.count(id);
}

int NestText::Root(int buffer) const {
  const Buffer& b = graph_.buffers()[static_cast<std::size_t>(buffer)];
  if (b.stage < 0 || b.tensor >= 0) return buffer;
  const int base = graph_.stages()[static_cast<std::size_t>(b.stage)].reshape_of;
  return base < 0 ? buffer : Root(base);
}

std::optional<std::size_t> NestText::RunThatEnds(std::size_t stage) const {
  if (SequenceEnd(graph_, stage) != stage + 1) return std::nullopt;
  while (stages_[stage].sequence >= 0 && stage > 0 && stages_[stage - 1].sequence == stages_[stage].sequence) --stage;
  return stage;
}

void NestText::Prepare(const Stage& stage) {
  const Buffer& buffer = graph_.buffers()[static_cast<std::size_t>(stage.buffer)];
  real_ = style_ == Style::kNaive ? (buffer.dtype == DType::kF64 ? "double" : "float") : "R";
  used_.clear();
  Visit(stage.value, [&](const ExprNode& node) {
    for (const auto& operand : node.operands) ++used_[operand.get()];
  });
}

double NestText::StepTerms(const Stage& stage) {
  double terms = 1;
  for (std::size_t d = 0; d < stage.vars.size(); ++d) {
    if (static_cast<int>(d) != stage.along) terms *= static_cast<double>(stage.vars[d].extent);
  }
  double summed = 1;
  Visit(stage.value, [&](const ExprNode& node) {
    for (const auto& var : node.over) summed *= static_cast<double>(var.extent);
  });
  return terms * summed;
}

bool NestText::IsScan(std::size_t first, std::size_t end) const {
  const Stage& leader = stages_[first];
  std::set<int> members;
  for (std::size_t s = first; s < end; ++s) members.insert(stages_[s].buffer);
  bool scan = true;
  for (std::size_t s = first; s < end; ++s) {
    const Stage& stage = stages_[s];
    scan = scan && stage.along == leader.along && stage.vars.size() == leader.vars.size();
    for (std::size_t d = 0; scan && d < stage.vars.size(); ++d) scan = stage.vars[d].extent == leader.vars[d].extent;
    Visit(stage.value, [&](const ExprNode& node) {
      if (node.kind != Expr::Kind::kLoad || !members.count(node.buffer)) return;
      for (std::size_t d = 0; scan && d < stage.vars.size(); ++d) {
        const Expr& index = node.operands[d];
        scan = static_cast<int>(d) == stage.along ||
               (index->kind == Expr::Kind::kIndex && index->index.id == stage.vars[d].id) ||
               (index->kind == Expr::Kind::kConst && stage.vars[d].extent == 1);
      }
    });
  }
  return scan;
}

Expr NestText::RunningSumTerm(const Stage& stage) {
  const Expr& sum = stage.value;
  if (sum->kind != Expr::Kind::kBinary || sum->binary != BinaryOp::kAdd || sum->type != ScalarType::kReal) return {};
  const Expr& before = sum->operands[0];
  if (before->kind != Expr::Kind::kSelect || before->operands[1]->kind != Expr::Kind::kConst ||
      before->operands[1]->real != 0 || before->operands[2]->kind != Expr::Kind::kLoad ||
      before->operands[2]->buffer != stage.buffer) {
    return {};
  }
  for (std::size_t d = 0; d < stage.vars.size(); ++d) {
    const Expr& index = before->operands[2]->operands[d];
    const bool own = index->kind == Expr::Kind::kIndex && index->index.id == stage.vars[d].id;
    if (static_cast<int>(d) != stage.along && !own) return {};
  }
  bool reads_itself = false;
  Visit(sum->operands[1], [&](const ExprNode& node) {
    reads_itself = reads_itself || (node.kind == Expr::Kind::kLoad && node.buffer == stage.buffer);
  });
  return reads_itself ? Expr() : sum->operands[1];
}

void NestText::FindExactSteps(std::size_t last) {
  std::size_t first = last;
  while (first > 0 && stages_[first - 1].sequence == stages_[last].sequence) --first;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t s = first; s <= last; ++s) {
      const auto buffer = static_cast<std::size_t>(stages_[s].buffer);
      const bool exact = exact_[buffer] && IsExact(stages_[s]);
      changed = changed || exact != exact_[buffer];
      exact_[buffer] = exact;
    }
  }
}

bool NestText::IsMove(const Stage& stage) const {
  const auto dtype = [&](int buffer) { return graph_.buffers()[static_cast<std::size_t>(buffer)].dtype; };
  if (stage.value->kind != Expr::Kind::kLoad || dtype(stage.value->buffer) != dtype(stage.buffer)) return false;
  return std::none_of(stage.value->operands.begin(), stage.value->operands.end(), HasLoad);
}

void NestText::FuseChains(Moves moves) {
  std::map<int, int> uses;  // loads of each buffer, reductions counting as many
  for (const auto& stage : stages_) {
    const int weight = (stage.value && HasReduce(stage.value)) || stage.reshape_of >= 0 ? 2 : 1;
    Visit(stage.value, [&](const ExprNode& node) {
      if (node.kind == Expr::Kind::kLoad) uses[node.buffer] += weight;
    });
  }
  for (auto& stage : stages_) {
    const bool folds = stage.value && HasReduce(stage.value);
    if ((folds && moves == Moves::kStages) || stage.reshape_of >= 0) continue;
    const auto elements = ElementCount(graph_.buffers()[static_cast<std::size_t>(stage.buffer)].shape);
    stage.value = ReplaceLoads(stage.value, [&](const ExprNode& load) -> Expr {
      const Buffer& buffer = graph_.buffers()[static_cast<std::size_t>(load.buffer)];
      if (buffer.stage < 0 || buffer.tensor >= 0 || uses[load.buffer] != (folds ? 2 : 1)) return {};
      Stage& made = stages_[static_cast<std::size_t>(buffer.stage)];
      if (!made.value || HasReduce(made.value) || made.reshape_of >= 0 || made.sequence >= 0) return {};
      if (folds && !IsMove(made)) return {};
      if (!folds) {
        if (ElementCount(buffer.shape) < elements) return {};
        if (load.type == ScalarType::kInt && buffer.dtype != DType::kI64) return {};  // its store narrows
        if (IsSmallFloat(buffer.dtype) || RoundsToSingle(made)) return {};            // and this one rounds
      }
      const Expr value = Substitute(made.value, [&](const IndexVar& var) -> Expr {
        for (std::size_t d = 0; d < made.vars.size(); ++d) {
          if (made.vars[d].id == var.id) return load.operands[d];
        }
        return {};
      });
      made.value = Expr();
      return value;
    });
  }
}

bool NestText::StoreRounds(const Stage& stage) const {
  const DType dtype = graph_.buffers()[static_cast<std::size_t>(stage.buffer)].dtype;
  if (!IsSmallFloat(dtype)) return false;
  bool rounds = !IsExact(stage.value);
  Visit(stage.value, [&](const ExprNode& node) {
    if (node.type != ScalarType::kReal) return;
    if (node.kind == Expr::Kind::kLoad)
      rounds = rounds || graph_.buffers()[static_cast<std::size_t>(node.buffer)].dtype != dtype;
    if (node.kind == Expr::Kind::kConst) rounds = rounds || (std::isfinite(node.real) && !Holds(dtype, node.real));
    if (node.kind == Expr::Kind::kCast) rounds = rounds || node.operands[0]->type == ScalarType::kInt;
  });
  return rounds;
}

bool NestText::RoundsToSingle(const Stage& stage) const {
  const auto dtype = [&](int buffer) { return graph_.buffers()[static_cast<std::size_t>(buffer)].dtype; };
  if (dtype(stage.buffer) != DType::kF32) return false;
  bool rounds = false;
  const std::function<bool(const Expr&)> moves = [&](const Expr& e) {
    if (e->kind == Expr::Kind::kSelect) return moves(e->operands[1]) && moves(e->operands[2]);
    const bool whole = e->kind == Expr::Kind::kCast && e->operands[0]->type == ScalarType::kInt;
    rounds |= whole || (e->kind == Expr::Kind::kLoad && dtype(e->buffer) == DType::kF64);
    const bool held = IsConst(e) && static_cast<double>(static_cast<float>(e->real)) == e->real;
    return whole || e->kind == Expr::Kind::kLoad || held;
  };
  return stage.value && stage.value->type == ScalarType::kReal && moves(stage.value) && rounds;
}

bool NestText::IsExactProduct(const Expr& e) const {
  return e->kind == Expr::Kind::kBinary && e->binary == BinaryOp::kMul && e->type == ScalarType::kReal &&
         IsExact(e->operands[0]) && IsExact(e->operands[1]);
}

std::string NestText::Offset(const Stage& stage) const {
  const Shape& shape = graph_.buffers()[static_cast<std::size_t>(stage.buffer)].shape;
  std::string offset;
  std::int64_t stride = 1;
  for (std::size_t d = stage.vars.size(); d-- > 0;) {
    if (shape[d] != 1) {
      std::string at = IndexName(stage.vars[d]);
      if (static_cast<int>(d) == begin_.dimension && begin_.at > 0)
        at = fmt::format("({} + std::int64_t{{{}}})", at, begin_.at);
      const std::string term = stride == 1 ? at : fmt::format("{} * {}", at, stride);
      offset = offset.empty() ? term : term + " + " + offset;
    }
    stride *= shape[d];
  }
  return offset.empty() ? "0" : offset;
}

void NestText::WriteResult(const Stage& stage, const Expr& value) {
  const Buffer& buffer = graph_.buffers()[static_cast<std::size_t>(stage.buffer)];
  std::string text = Emit(value);
  if (style_ == Style::kNaive)
    return Line("{}[{}] = static_cast<{}>({});", name(stage.buffer), Offset(stage), ElementType(buffer.dtype), text);
  if (value->type == ScalarType::kInt && buffer.dtype != DType::kI64)
    text = fmt::format("Narrow<{}>({})", ElementType(buffer.dtype), text);
  if (RoundsToSingle(stage)) text = fmt::format("Single({})", text);
  if (StoreRounds(stage)) text = fmt::format("Stored<{}>(R({}))", ElementType(buffer.dtype), text);
  if (GoesStraight(stage.buffer)) {
    const auto& outputs = graph_.problem().tensors;
    const auto position = std::count_if(outputs.begin(), outputs.begin() + buffer.tensor,
                                        [](const Tensor& t) { return t.role == Role::kOutput; });
    return Line("{}", StoreText(text, position, Offset(stage)));
  }
  if (value->type == ScalarType::kReal && exact(stage.buffer))
    text = fmt::format("static_cast<typename TypesOf<R>::Exact>({})", ExactText(text));
  if (value->type != ScalarType::kReal && exact(stage.buffer)) text = fmt::format("Plain({})", text);
  Line("{}[{}] = {};", name(stage.buffer), Offset(stage), text);
}

std::string NestText::Emit(const Expr& e) {
  if (const auto it = known_.find(e.get()); it != known_.end()) return it->second;
  if (e->kind == Expr::Kind::kReduce) {
    std::string name = EmitReduce(*e);
    if (unconditional_.count(e.get())) known_[e.get()] = name;
    return name;
  }
  std::string text = EmitNode(*e);
  // Index arithmetic is the compiler's to share; hashes of indices (graph/random.h) would grow without bound.
  const bool hash = e->kind == Expr::Kind::kBinary && e->binary == BinaryOp::kXor;
  const bool worth =
      e->kind != Expr::Kind::kConst && e->kind != Expr::Kind::kIndex && (e->type != ScalarType::kInt || hash);
  if (worth && used_[e.get()] > 1 && unconditional_.count(e.get())) {
    std::string name = fmt::format("t{}", temporaries_++);
    Line("const auto {} = {};", name, text);
    known_[e.get()] = name;
    return name;
  }
  return text;
}

std::string NestText::EmitTerm(const Expr& e) {
  if (style_ == Style::kOracle && e->kind == Expr::Kind::kBinary && e->binary == BinaryOp::kMul &&
      e->type == ScalarType::kReal && e->operands[0].get() != e->operands[1].get()) {
    const std::string a = Emit(e->operands[0]);
    const std::string b = Emit(e->operands[1]);
    return fmt::format("Product({}, {})", a, b);
  }
  return Emit(e);
}

bool NestText::IsExact(const Expr& e) const {
  bool exact = true;
  Visit(e, [&](const ExprNode& node) { exact = exact && KeepsExact(node); });
  return exact;
}

bool NestText::KeepsExact(const ExprNode& node) const {
  const bool real = node.type == ScalarType::kReal;
  switch (node.kind) {
    case Expr::Kind::kConst:
    case Expr::Kind::kIndex:
    case Expr::Kind::kValue:
    case Expr::Kind::kSelect:
    case Expr::Kind::kCast: return true;
    case Expr::Kind::kLoad: return exact_[static_cast<std::size_t>(node.buffer)];
    case Expr::Kind::kUnary: {
      constexpr UnaryOp kKeep[] = {UnaryOp::kNeg,  UnaryOp::kAbs,   UnaryOp::kSign, UnaryOp::kFloor,
                                   UnaryOp::kCeil, UnaryOp::kTrunc, UnaryOp::kRound};
      return !real || std::find(std::begin(kKeep), std::end(kKeep), node.unary) != std::end(kKeep);
    }
    case Expr::Kind::kBinary: return !real || node.binary == BinaryOp::kMax || node.binary == BinaryOp::kMin;
    case Expr::Kind::kReduce: return !real || node.reduce == ReduceOp::kMax || node.reduce == ReduceOp::kMin;
  }
  return false;
}

bool NestText::HangsOnData(const Expr& index) {
  bool found = false;
  Visit(index, [&](const ExprNode& node) {
    const bool from_real = node.kind == Expr::Kind::kCast && node.operands[0]->type != ScalarType::kInt;
    found = found || node.kind == Expr::Kind::kLoad || node.kind == Expr::Kind::kReduce || from_real;
  });
  return found;
}

std::string NestText::RealConstant(double value) const {
  if (std::isnan(value)) return fmt::format("{}(std::numeric_limits<double>::quiet_NaN())", real_);
  if (std::isinf(value)) return fmt::format("{}({}kInf)", real_, value < 0 ? "-" : "");
  return style_ == Style::kOracle ? fmt::format("Constant<R>({})", value) : fmt::format("{}({})", real_, value);
}

std::string NestText::EmitNode(const ExprNode& e) {
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
      if (softmaxes_.logs.contains(&e)) return fmt::format("LogOfSum({})", x);
      return fmt::format("{}({})", FunctionName(Name(e.unary)), x);
    }
    case Expr::Kind::kBinary: return EmitBinary(e);
    case Expr::Kind::kSelect: return EmitSelect(e);
    case Expr::Kind::kCast: return EmitCast(e);
    case Expr::Kind::kValue:
    case Expr::Kind::kReduce: break;
  }
  HONE_CHECK(false, "a reduction is not a plain node, and stages have no values");
}

std::string NestText::EmitLoad(const ExprNode& e) {
  const Buffer& buffer = graph_.buffers()[static_cast<std::size_t>(e.buffer)];
  std::string offset;
  std::vector<std::string> unsure;  // indices that hang on rounding
  std::int64_t stride = 1;
  for (std::size_t d = buffer.shape.size(); d-- > 0;) {
    const Expr& index = e.operands[d];
    const bool zero = index->kind == Expr::Kind::kConst && index->whole == 0;
    if (!zero) {
      std::string at = Emit(index);
      if (HangsOnData(index)) {
        if (style_ == Style::kOracle && !IsExact(index)) unsure.push_back(at);
        at = fmt::format("Inside({}, {})", at, buffer.shape[d]);
      }
      const std::string term = stride == 1 ? at : fmt::format("{} * {}", at, stride);
      offset = offset.empty() ? term : term + " + " + offset;
    }
    stride *= buffer.shape[d];
  }
  std::string element = fmt::format("{}[{}]", name(e.buffer), offset.empty() ? "0" : offset);
  const bool made = graph_.buffers()[static_cast<std::size_t>(Root(e.buffer))].stage >= 0;
  std::string text = element;  // what stages of the oracle make is of the nest's own types already
  if (style_ == Style::kNaive || !made || (exact(e.buffer) && e.type == ScalarType::kReal)) {
    const bool half = (style_ == Style::kNaive || !made) && IsSmallFloat(buffer.dtype);
    if (e.type == ScalarType::kReal)
      text = fmt::format("{}({})", real_, half ? "static_cast<float>(" + element + ")" : element);
    else if (e.type == ScalarType::kInt)
      text = fmt::format("std::int64_t{{{}}}", element);
  }
  for (const auto& index : unsure) {
    text = fmt::format("Picked({}, {}({}))", index, OracleType(e.type), text);
  }
  return text;
}

std::string NestText::EmitBinary(const ExprNode& e) {
  const bool softmax = softmaxes_.quotients.contains(&e);
  const std::string a = Emit(softmax ? e.operands[0]->operands[0] : e.operands[0]);
  const std::string b = Emit(e.operands[1]);
  if (softmax) return fmt::format("Softmax({}, {})", a, b);
  if (softmaxes_.shifts.contains(&e)) return fmt::format("Shifted({}, {})", a, b);
  const ScalarType operand = e.operands[0]->type;
  switch (e.binary) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kMul:
    case BinaryOp::kDiv: return fmt::format("({} {} {})", a, Name(e.binary), b);
    case BinaryOp::kFloorDiv: return fmt::format("FloorDiv({}, {})", a, b);
    case BinaryOp::kFloorMod: return fmt::format("FloorMod({}, {})", a, b);
    case BinaryOp::kLess: return fmt::format("Less({}, {})", a, b);
    case BinaryOp::kLessEqual: return fmt::format("LessEqual({}, {})", a, b);
    case BinaryOp::kEqual: return fmt::format("Equal({}, {})", a, b);
    case BinaryOp::kNotEqual: return fmt::format("NotEqual({}, {})", a, b);
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kXor:
      if (operand == ScalarType::kInt)
        return fmt::format("({} {} {})", a,
                           e.binary == BinaryOp::kAnd  ? "&"
                           : e.binary == BinaryOp::kOr ? "|"
                                                       : "^",
                           b);
      return fmt::format("{}({}, {})", FunctionName(Name(e.binary)), a, b);
    default: return fmt::format("{}({}, {})", FunctionName(Name(e.binary)), a, b);
  }
}

std::string NestText::EmitSelect(const ExprNode& e) {
  const std::string condition = Emit(e.operands[0]);
  const std::string then = Emit(e.operands[1]);
  const std::string otherwise = Emit(e.operands[2]);
  if (style_ == Style::kOracle && !IsExact(e.operands[0]))
    return fmt::format("Choose<{}>({}, {}, {})", OracleType(e.type), condition, then, otherwise);
  return fmt::format("(Plain({}) ? {} : {})", condition, then, otherwise);
}

std::string NestText::EmitCast(const ExprNode& e) {
  const std::string x = Emit(e.operands[0]);
  const ScalarType from = e.operands[0]->type;
  if (e.type == ScalarType::kReal)
    return fmt::format("{}({}(0), {})", from == ScalarType::kBool ? "FromTruth" : "FromWhole", real_, x);
  if (e.type == ScalarType::kInt) return fmt::format("ToWhole({})", x);
  return fmt::format("ToTruth({})", x);
}

std::string NestText::FoldType(const ExprNode& e) const {
  const ScalarType type = e.operands[0]->type;
  if (type == ScalarType::kReal) return real_;
  if (style_ == Style::kNaive) return type == ScalarType::kInt ? "std::int64_t" : "bool";
  return OracleType(type);
}

void NestText::DeclareFold(const ExprNode& e, const std::string& name) {
  const std::string type = FoldType(e);
  switch (e.reduce) {
    case ReduceOp::kSum: Line("Sum<{}> {};", type, name); break;
    case ReduceOp::kProd: Line("{} {}(1);", type, name); break;
    case ReduceOp::kAny: Line("{} {} = false;", type, name); break;
    case ReduceOp::kAll: Line("{} {} = true;", type, name); break;
    default: Line("Best<{}> {};", type, name); break;
  }
}

void NestText::WriteFoldTerm(const ExprNode& e, const std::string& name) {
  const bool largest = e.reduce == ReduceOp::kArgMax || e.reduce == ReduceOp::kMax;
  Scope scope(*this, e.operands[0]);
  const std::string body = e.reduce == ReduceOp::kSum ? EmitTerm(e.operands[0]) : Emit(e.operands[0]);
  switch (e.reduce) {
    case ReduceOp::kSum: return Line("{}.Add({});", name, body);
    case ReduceOp::kProd: return Line("{0} = {0} * {1};", name, body);
    case ReduceOp::kAny: return Line("{0} = Or({0}, {1});", name, body);
    case ReduceOp::kAll: return Line("{0} = And({0}, {1});", name, body);
    default: break;
  }
  if (!IsArg(e) && e.type == ScalarType::kReal)
    return Line("{0}.best = {0}_at++ == 0 ? {1} : {2}({0}.best, {1});", name, body, largest ? "Max" : "Min");
  Line("{0}.Offer({1}, {0}_at++, {2});", name, body, largest);
}

std::string NestText::FoldResult(const ExprNode& e, const std::string& name) {
  switch (e.reduce) {
    case ReduceOp::kArgMax:
    case ReduceOp::kArgMin: return name + ".At()";
    case ReduceOp::kSum: return name + ".Get()";
    case ReduceOp::kMax:
    case ReduceOp::kMin: return name + ".best";
    default: return name;
  }
}

std::string NestText::EmitReduce(const ExprNode& e) {
  const std::string name = fmt::format("r{}", temporaries_++);
  DeclareFold(e, name);
  const bool counts = IsArg(e) || e.reduce == ReduceOp::kMax || e.reduce == ReduceOp::kMin;
  if (counts) Line("std::int64_t {}_at = 0;", name);
  for (const auto& var : e.over) OpenLoop(var, false);
  WriteFoldTerm(e, name);
  CloseLoops(e.over.size());
  return FoldResult(e, name);
}

NestText::Function NestText::Renamed(const std::string& nest, const std::set<int>& written) const {
  std::unordered_map<std::string, std::string> renamed;
  std::map<char, int> counts;
  Function function;
  const auto digits_from = [](const std::string& word, std::size_t at) {
    return word.size() > at && std::all_of(word.begin() + static_cast<std::ptrdiff_t>(at), word.end(),
                                           [](unsigned char c) { return std::isdigit(c); });
  };
  for (std::size_t at = 0; at < nest.size();) {
    std::size_t end = at;
    while (end < nest.size() && IsWord(nest[end])) ++end;
    if (end == at) {
      function.body += nest[at++];
      continue;
    }
    const std::string word = nest.substr(at, end - at);
    at = end;
    const auto buffer = ids_.find(word);
    const bool known = buffer != ids_.end();
    const bool numbered = word.size() > 1 && (word[0] == 'i' || word[0] == 't' || word[0] == 'r') &&
                          std::isdigit(static_cast<unsigned char>(word[1]));
    const bool place = (word.starts_with("value") || word.starts_with("scale")) && digits_from(word, 5);
    if (!known && !numbered && !place) {
      function.body += word;
      continue;
    }
    auto [it, fresh] = renamed.try_emplace(word);
    if (fresh) {
      const char kind = known ? 'p' : word[0];
      // r7 and r7_at are two names, and stay so.
      it->second = fmt::format("{}{}", kind, counts[kind]++);
      if (known) {
        const bool made = graph_.buffers()[static_cast<std::size_t>(Root(buffer->second))].stage >= 0;
        const bool writes = written.count(buffer->second) > 0;
        const auto type = made ? MemoryType(Root(buffer->second))
                               : ElementType(graph_.buffers()[static_cast<std::size_t>(buffer->second)].dtype);
        function.parameters.push_back(
            {fmt::format("{}{}*", writes ? "" : "const ", type), it->second, word, buffer->second});
      } else if (place) {
        function.parameters.push_back({"double*", it->second, word, -1});
      }
    }
    function.body += it->second;
  }
  return function;
}

std::string NestText::Comment(std::size_t first, std::size_t end) const {
  std::string text;
  const auto name = [&](int id) { return graph_.buffers()[static_cast<std::size_t>(id)].name; };
  for (std::size_t s = first; s < end; ++s)
    text += fmt::format("  // {} = {}\n", name(stages_[s].buffer), Shortened(ToString(stages_[s].value, name)));
  return text;
}

void NestText::CloseLoops(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    --depth_;
    Line("}}");
  }
}

void NestText::WriteStep(std::size_t first, std::size_t end) {
  for (std::size_t s = first; s < end; ++s) {
    const Stage stage = WithIndicesOf(stages_[first], stages_[s]);
    Prepare(stage);
    Line("{{");
    ++depth_;
    {
      Scope scope(*this, stage.value);
      WriteResult(stage, stage.value);
    }
    CloseLoops(1);
  }
}

Stage NestText::WithIndicesOf(const Stage& leader, Stage stage) {
  stage.value = Substitute(stage.value, [&](const IndexVar& var) -> Expr {
    for (std::size_t d = 0; d < stage.vars.size(); ++d) {
      if (stage.vars[d].id == var.id) return leader.vars[d];
    }
    return {};
  });
  stage.vars = leader.vars;
  return stage;
}

Honesty HonestyOf(const Problem& problem) {
  const bool all_double = std::all_of(problem.tensors.begin(), problem.tensors.end(),
                                      [](const Tensor& t) { return !IsFloat(t.dtype) || t.dtype == DType::kF64; });
  const Honesty wide{"double", 0x1p-53, 0x1p-53, 0x1p-1022};
  switch (problem.contract) {
    case Precision::kFp64: return wide;
    case Precision::kTorch:
    case Precision::kFp32: return all_double ? wide : Honesty{};
    case Precision::kTf32:
    case Precision::kFp16: return {"float", Roundoff(DType::kF32), Roundoff(DType::kF16)};
    case Precision::kBf16: return {"float", Roundoff(DType::kF32), Roundoff(DType::kBF16)};
  }
  return {};
}

}  // namespace hone
