// One file because it is one writer: stages, the loops around them and the folds in them are written in one go, by the
// same names.
#include "oracle/loop_nest.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include "expr/fold.h"
#include "oracle/keyed_text.h"
#include "oracle/nest_functions.h"

namespace hone {

extern const std::string_view kNumbersText, kKeyListsText, kSortedRanksText;  // of generated_code

namespace {

using Style = NestText::Style;

// Serial nests, or over the host's threads with lanes that run side by side.
class NestWriter : public KeyedText {
 public:
  NestWriter(const Graph& graph, Style style, std::int64_t fewest_looks)
      : KeyedText(graph, style, fewest_looks, Moves::kStages) {}

  // The nest of a stage, or of the whole sequence that it begins; in the oracle a stand-in for its call (functions()).
  std::string WriteRun(std::size_t first) {
    const std::size_t end = SequenceEnd(graph_, first);
    if (style_ == Style::kNaive) return Comment(first, end) + Nest(first, end);
    std::string text = Comment(first, end);
    const auto call = [&](const std::string& nest, double terms) {
      std::set<int> written;
      for (std::size_t s = first; s < end; ++s) written.insert(stages_[s].buffer);
      const Function function = Renamed(nest, written);
      std::vector<NestFunctions::Parameter> parameters;
      for (const auto& one : function.parameters) parameters.push_back({one.type, one.name, one.given});
      text += "  " + functions_.Call(function.body, parameters, terms < kTermsForThreads / 8 ? "1" : "threads") + '\n';
    };
    const Stage& stage = stages_[first];
    if (const auto parts = stage.sequence < 0 ? PartsOf(stage) : std::vector<Part>{}; !parts.empty()) {
      for (const Part& part : parts) {
        begin_ = {part.dimension, part.begin};
        call(Nest(part.stage), Terms(part.stage));
      }
      begin_ = {};
    } else {
      call(Nest(first, end), stage.sequence < 0 ? Terms(stage) : kTermsForThreads);
    }
    for (const auto& [used, last] : last_use_) {
      const Buffer& b = graph_.buffers()[static_cast<std::size_t>(used)];
      if (last >= static_cast<int>(first) && last < static_cast<int>(end) && b.stage >= 0 && b.tensor < 0)
        text += fmt::format("  {}_memory.Release();\n", name(used));
    }
    return text;
  }

  // What the calls in WriteRun's results call.
  const NestFunctions& functions() const { return functions_; }

 private:
  static double Terms(const Stage& stage) {
    const auto steps = stage.vars.empty() ? 1 : stage.vars[static_cast<std::size_t>(stage.along)].extent;
    return StepTerms(stage) * static_cast<double>(steps);
  }

  std::string Nest(std::size_t first, std::size_t end) {
    if (stages_[first].sequence < 0) return Nest(stages_[first]);
    return Block([&] { WriteSequence(first, end); });
  }
  std::string Nest(const Stage& stage) {
    return Block([&] { WriteStage(stage); });
  }
  template <class Write>
  std::string Block(const Write& write) {
    text_.clear();
    depth_ = 1;
    Line("{{");
    ++depth_;
    write();
    CloseLoops(1);
    return std::move(text_);
  }

  // --- Parts ---

  // A part of a stage along one dimension, from an element on.
  struct Part {
    Stage stage;
    int dimension = 0;
    std::int64_t begin = 0;
  };
  // Of a choice between values by where along a dimension an element is, such as tensors side by side (graph/parts.h),
  // a part for each value; nothing of another stage. A part knows of no other one: those of a DenseNet's
  // concatenations, each of more tensors than the one before, are one function.
  static std::vector<Part> PartsOf(const Stage& stage) {
    std::vector<Part> parts;
    const int dimension = ChoosesAlong(stage.value, stage);
    if (dimension < 0) return parts;
    const auto d = static_cast<std::size_t>(dimension);
    const std::function<void(const Expr&, std::int64_t, std::int64_t)> add = [&](const Expr& e, std::int64_t begin,
                                                                                 std::int64_t end) {
      if (begin >= end) return;
      if (ChoosesAlong(e, stage) == dimension) {
        const std::int64_t at = e->operands[0]->operands[0]->whole;
        add(e->operands[2], begin, std::min(end, at));
        return add(e->operands[1], std::max(begin, at), end);
      }
      Part part{.stage = stage, .dimension = dimension, .begin = begin};
      part.stage.vars[d] = NewIndex(end - begin);
      const Expr index = Expr(part.stage.vars[d]) + begin;
      part.stage.value =
          Substitute(e, [&](const IndexVar& var) { return var.id == stage.vars[d].id ? index : Expr(); });
      parts.push_back(std::move(part));
    };
    add(stage.value, 0, stage.vars[d].extent);
    return parts;
  }
  // The dimension of which `e` is Select(LessEqual(number, its index), ...), -1 if there is none.
  static int ChoosesAlong(const Expr& e, const Stage& stage) {
    if (e->kind != Expr::Kind::kSelect) return -1;
    const ExprNode& condition = *e->operands[0];
    if (condition.kind != Expr::Kind::kBinary || condition.binary != BinaryOp::kLessEqual ||
        condition.operands[0]->kind != Expr::Kind::kConst || condition.operands[0]->type != ScalarType::kInt ||
        condition.operands[1]->kind != Expr::Kind::kIndex) {
      return -1;
    }
    for (std::size_t d = 0; d < stage.vars.size(); ++d) {
      if (stage.vars[d].id == condition.operands[1]->index.id) return static_cast<int>(d);
    }
    return -1;
  }

  void WriteStage(const Stage& stage) {
    Prepare(stage);
    if (ElementCount(graph_.buffers()[static_cast<std::size_t>(stage.buffer)].shape) == 0) return;
    FindFolds(stage);
    if (HasFolds()) {
      for (std::size_t l = 0; l < lists().size(); ++l) WriteLists(l);
      for (std::size_t r = 0; r < ranks().size(); ++r) WriteRanks(r);
      WritePlainNest(stage);
      return ForgetFolds();
    }
    const ExprNode* sum = style_ == Style::kOracle ? LaneSum(stage.value) : nullptr;
    const Lanes lanes = sum ? ChooseLanes(stage, *sum) : Lanes::kNone;
    if (lanes == Lanes::kNone)
      WritePlainNest(stage);
    else if (lanes == Lanes::kResult)
      WriteLaneNest(stage, *sum);
    else
      WriteFoldNest(stage, *sum);
  }

  // --- Folds of what lists hold, and of places in rows ---

  void WriteLists(std::size_t number) {
    const KeyLists& made = lists()[number];
    Line("const KeyLists lists{}({}, {}, {}, {}, threads, [&](std::int64_t other, std::int64_t fold) {{", number,
         made.Others(), made.ListsOfEach(), made.Terms(), made.exact);
    ++depth_;
    Indices(made.others, "other");
    WriteListOfTerm(made);
    Line("return ListOfTerm{{list, sure}};");
    --depth_;
    Line("}});");
  }

  void WriteRanks(std::size_t number) {
    const SortedRanks& made = ranks()[number];
    Line("const SortedRanks<{}> ranks{}({}, {}, {}, threads, [&](std::int64_t other, std::int64_t place) {{",
         KeyType(made), number, made.Rows(), made.Count(), made.fold.descending);
    ++depth_;
    WriteRankKey(made, "return ", "");
    --depth_;
    Line("}});");
  }

  std::string EmitListedReduce(const ExprNode& e, const ListedFold& listed) {
    const KeyLists& from = lists()[listed.lists];
    const std::string name = fmt::format("r{}", temporaries_++);
    DeclareFold(e, name);
    Line("const auto {}_list = lists{}.Of({}, {});", name, listed.lists, OtherText(from), ListText(from));
    if (listed.start) {
      Line("std::int64_t {}_at = 0;", name);
      Line("if ({}_list.size() < {}) {{", name, from.Terms());
      ++depth_;
      ExprNode passed_over = e;
      passed_over.operands = {listed.start};
      WriteFoldTerm(passed_over, name);
      CloseLoops(1);
    }
    Line("for (const std::int64_t fold : {}_list) {{", name);
    ++depth_;
    Indices(e.over, "fold");
    if (!WriteExactTerm(e, name)) WriteFoldTerm(e, name);
    CloseLoops(1);
    if (!from.exact) {
      Line("for (const std::int64_t fold : lists{}.Of({}, {})) {{", listed.lists, OtherText(from), from.ListsOfEach());
      ++depth_;
      Line("if (IsSettled({})) break;", name);
      WriteListOfTerm(from);
      Line("if (list == {}) continue;", ListText(from));
      Indices(e.over, "fold");
      WriteFoldTerm(e, name);
      CloseLoops(1);
    }
    WriteScaling(e, name);
    return FoldResult(e, name);
  }

  // --- Sequences ---

  void WriteSequence(std::size_t first, std::size_t end) {
    const Stage& stage = stages_[first];
    if (ElementCount(graph_.buffers()[static_cast<std::size_t>(stage.buffer)].shape) == 0) return;
    const Expr term = style_ == Style::kOracle && end == first + 1 ? RunningSumTerm(stage) : Expr();
    if (term) return WriteRunningSum(stage, term);
    if (IsScan(first, end)) return WriteScan(first, end);
    OpenSteps(stage);
    for (std::size_t s = first; s < end; ++s) {
      const Stage& step = stages_[s];
      Line("{{");
      ++depth_;
      Line("const std::int64_t {} = step;", IndexName(step.vars[static_cast<std::size_t>(step.along)]));
      step_var_ = step.vars[static_cast<std::size_t>(step.along)].id;
      small_step_ = StepTerms(step) < kTermsForThreads;
      WriteStage(step);
      step_var_ = -1;
      small_step_ = false;
      CloseLoops(1);
    }
    CloseLoops(1);
  }

  // Terms that a nest, or one step of a sequence, adds up. Below kTermsForThreads, a millisecond or so, a parallel
  // region at every step does not pay: starting one takes some 5 us, but where others use the cores its end is waited
  // for far longer.
  static constexpr double kTermsForThreads = 1 << 20;

  void OpenSteps(const Stage& stage) {
    const auto extent = stage.vars[static_cast<std::size_t>(stage.along)].extent;
    if (stage.reversed)
      Line("for (std::int64_t step = {}; step >= 0; --step) {{", extent - 1);
    else
      Line("for (std::int64_t step = 0; step < {}; ++step) {{", extent);
    ++depth_;
  }

  // One nest in the order of memory, with the steps where their dimension is.
  void WriteScan(std::size_t first, std::size_t end) {
    const Stage& leader = stages_[first];
    bool parallel = style_ == Style::kOracle;
    std::size_t loops = 0;
    for (std::size_t d = 0; d < leader.vars.size(); ++d, ++loops) {
      const IndexVar& var = leader.vars[d];
      if (static_cast<int>(d) == leader.along) {
        OpenSteps(leader);
        Line("const std::int64_t {} = step;", IndexName(var));
        parallel = parallel && StepTerms(leader) >= kTermsForThreads;
        continue;
      }
      OpenLoop(var, parallel && var.extent > 1);
      if (var.extent > 1) parallel = false;
    }
    WriteStep(first, end);
    CloseLoops(loops);
  }

  void WriteRunningSum(const Stage& stage, const Expr& term) {
    Prepare(stage);
    bool parallel = true;
    std::size_t loops = 0;
    for (std::size_t d = 0; d < stage.vars.size(); ++d) {
      if (static_cast<int>(d) == stage.along) continue;
      OpenLoop(stage.vars[d], parallel && stage.vars[d].extent > 1);
      if (stage.vars[d].extent > 1) parallel = false;
      ++loops;
    }
    Line("Sum<{}> sum;", real_);
    OpenSteps(stage);
    Line("const std::int64_t {} = step;", IndexName(stage.vars[static_cast<std::size_t>(stage.along)]));
    {
      Scope scope(*this, term);
      Line("sum.Add({});", EmitTerm(term));
    }
    Scope scope(*this, stage.value);
    known_.insert({stage.value.get(), "sum.Get()"});
    WriteResult(stage, stage.value);
    CloseLoops(loops + 1);
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
    if (count != 1 || found->reduce != ReduceOp::kSum || found->type != ScalarType::kReal || found->over.empty())
      return nullptr;
    return found;
  }

  // Which index of a sum runs over vector lanes: the innermost of the result (many sums side by side), or the innermost
  // that is summed (one sum in many parts), whichever leaves fewer operands to be gathered from afar.
  enum class Lanes { kNone, kResult, kSummed };
  Lanes ChooseLanes(const Stage& stage, const ExprNode& sum) const {
    const IndexVar* result = nullptr;
    for (const auto& var : stage.vars) {
      if (var.extent > 1 && var.id != step_var_) result = &var;
    }
    const IndexVar& summed = sum.over.back();
    int far_result = 0, far_summed = 0;
    Visit(sum.operands[0], [&](const ExprNode& node) {
      if (node.kind != Expr::Kind::kLoad) return;
      for (std::size_t d = 0; d < node.operands.size(); ++d) {
        const bool last = d + 1 == node.operands.size();
        Visit(node.operands[d], [&](const ExprNode& index) {
          if (index.kind != Expr::Kind::kIndex) return;
          if (result && index.index.id == result->id && !last) ++far_result;
          if (index.index.id == summed.id && !last) ++far_summed;
        });
      }
    });
    const bool enough_results = result && result->extent >= 16, enough_summed = summed.extent >= 32;
    if (enough_results && (far_result <= far_summed || !enough_summed)) return Lanes::kResult;
    return enough_summed ? Lanes::kSummed : enough_results ? Lanes::kResult : Lanes::kNone;
  }

  // No loop where a sequence's steps give the index.
  void OpenLoop(const IndexVar& var, bool parallel = false) override {
    if (var.id == step_var_) {
      Line("{{");
      ++depth_;
      return;
    }
    if (parallel && !small_step_) Line("#pragma omp parallel for num_threads(threads)");
    Line("for (std::int64_t {0} = 0; {0} < {1}; ++{0}) {{", IndexName(var), var.extent);
    ++depth_;
  }
  bool IsLoop(const IndexVar& var) const { return var.extent > 1 && var.id != step_var_; }
  void WritePlainNest(const Stage& stage) {
    bool parallel = style_ == Style::kOracle;
    std::size_t loops = 0;
    for (const auto& var : stage.vars) {
      OpenLoop(var, parallel && IsLoop(var));
      if (IsLoop(var)) parallel = false;
      ++loops;
    }
    Scope scope(*this, stage.value);
    WriteResult(stage, stage.value);
    CloseLoops(loops);
  }

  // --- Terms that are zero and can be passed over ---

  // A sum's term without the conditions outside of which it is zero and that indices alone decide. Of a transposed
  // convolution, written as a gather, they leave one term in as many as the strides have places.
  struct Guarded {
    std::vector<std::pair<std::size_t, Expr>> conditions;  // and the loop over a summed index that is to test it
    Expr term;
  };
  Guarded GuardsOf(const ExprNode& sum, int lane) const {
    const Expr& term = sum.operands[0];
    const auto is_guarded = [](const Expr& e) {
      return e->kind == Expr::Kind::kSelect && e->type == ScalarType::kReal &&
             e->operands[2]->kind == Expr::Kind::kConst && e->operands[2]->real == 0;
    };
    Guarded guarded{.conditions = {}, .term = term};
    if (is_guarded(term)) {
      const Expr left = WithoutGuards(term->operands[0], sum, lane, guarded);
      guarded.term = left ? Select(left, term->operands[1], 0.0) : term->operands[1];
    } else if (term->kind == Expr::Kind::kBinary && term->binary == BinaryOp::kMul) {
      const std::size_t side = is_guarded(term->operands[0]) ? 0 : 1;
      const Expr& select = term->operands[side];
      const Expr& factor = term->operands[1 - side];
      // What a zero is multiplied with has to be finite.
      if (!is_guarded(select) || !IsDrawn(factor)) return guarded;
      const Expr left = WithoutGuards(select->operands[0], sum, lane, guarded);
      const Expr value = left ? Select(left, select->operands[1], 0.0) : select->operands[1];
      guarded.term = side == 0 ? value * factor : factor * value;
    }
    return guarded;
  }
  bool IsDrawn(const Expr& e) const {
    if (e->kind != Expr::Kind::kLoad) return false;
    const Buffer& buffer = graph_.buffers()[static_cast<std::size_t>(e->buffer)];
    return buffer.stage < 0 && buffer.tensor >= 0 &&
           !std::holds_alternative<FromFile>(
               graph_.problem().tensors[static_cast<std::size_t>(buffer.tensor)].generator);
  }
  // What is left of a condition, nothing if all of it moves to `guarded`.
  static Expr WithoutGuards(const Expr& condition, const ExprNode& sum, int lane, Guarded& guarded) {
    Expr left;
    for (const Expr& one : Conjuncts(condition)) {
      bool indices = true;
      std::size_t loop = 0;
      Visit(one, [&](const ExprNode& node) {
        indices = indices && node.kind != Expr::Kind::kLoad && node.kind != Expr::Kind::kReduce;
        if (node.kind != Expr::Kind::kIndex) return;
        indices = indices && node.index.id != lane;
        for (std::size_t i = 0; i < sum.over.size(); ++i) {
          if (sum.over[i].id == node.index.id) loop = std::max(loop, i);
        }
      });
      if (indices)
        guarded.conditions.emplace_back(loop, one);
      else
        left = left ? And(left, one) : one;
    }
    return left;
  }
  // At the start of the body of the loop over a summed index.
  void WriteGuards(const Guarded& guarded, std::size_t loop) {
    std::string all;
    for (const auto& [at, condition] : guarded.conditions) {
      if (at == loop) all += fmt::format("{}Plain({})", all.empty() ? "" : " && ", Emit(condition));
    }
    if (!all.empty()) Line("if (!({})) continue;", all);
  }

  std::string EmitReduce(const ExprNode& e) override {
    if (IsRanked(e)) return RankText(e);
    if (const ListedFold* listed = Listed(e)) return EmitListedReduce(e, *listed);
    const bool sum = style_ == Style::kOracle && e.reduce == ReduceOp::kSum && e.type == ScalarType::kReal;
    const Guarded guarded = sum ? GuardsOf(e, -1) : Guarded{};
    if (guarded.conditions.empty()) return NestText::EmitReduce(e);
    const auto known = known_;
    const Expr folded = Reduce(e.reduce, e.over, guarded.term);
    const std::string name = fmt::format("r{}", temporaries_++);
    DeclareFold(*folded, name);
    for (std::size_t i = 0; i < e.over.size(); ++i) {
      OpenLoop(e.over[i]);
      WriteGuards(guarded, i);
    }
    WriteFoldTerm(*folded, name);
    CloseLoops(e.over.size());
    known_ = known;
    return FoldResult(*folded, name);
  }

  // The statement that adds one term of the sum in a lane.
  void WriteTerm(const Expr& term) {
    Scope scope(*this, term);
    if (IsExactProduct(term)) {
      const std::string a = Emit(term->operands[0]);
      const std::string b = Emit(term->operands[1]);
      Line("sums.AddExactProduct(lane, {}, {});", ExactText(a), ExactText(b));
    } else if (IsExact(term)) {
      const std::string a = Emit(term);
      Line("sums.AddExact(lane, {});", ExactText(a));
    } else {
      const std::string a = EmitTerm(term);
      Line("sums.Add(lane, {});", a);
    }
  }

  // for outer indices: for blocks of kLanes of the inner one: all lanes' sums grow together, so that every element of
  // the operands is met in an order that caches like.
  void WriteLaneNest(const Stage& stage, const ExprNode& sum) {
    bool parallel = true;
    std::size_t loops = 0, lane = 0;
    for (std::size_t d = 0; d < stage.vars.size(); ++d) {
      if (IsLoop(stage.vars[d])) lane = d;
    }
    for (std::size_t d = 0; d < stage.vars.size(); ++d) {
      if (d == lane) continue;
      OpenLoop(stage.vars[d], parallel && IsLoop(stage.vars[d]));
      if (IsLoop(stage.vars[d])) parallel = false;
      ++loops;
    }
    const std::int64_t lanes = stage.vars[lane].extent;
    if (parallel && !small_step_) Line("#pragma omp parallel for num_threads(threads)");
    Line("for (std::int64_t first = 0; first < {}; first += kLanes) {{", lanes);
    ++depth_;
    Line("const int lanes = static_cast<int>(std::min<std::int64_t>(kLanes, {} - first));", lanes);
    const Guarded guarded = GuardsOf(sum, stage.vars[lane].id);
    const auto known = known_;
    Line("Sums<{}> sums;", real_);
    for (std::size_t i = 0; i + 1 < sum.over.size(); ++i) {
      OpenLoop(sum.over[i]);
      WriteGuards(guarded, i);
    }
    const IndexVar& inner = sum.over.back();
    Line("for (std::int64_t block = 0; block < {}; block += kBlock) {{", inner.extent);
    ++depth_;
    Line("const std::int64_t end = std::min<std::int64_t>(block + kBlock, {});", inner.extent);
    Line("for (std::int64_t {0} = block; {0} < end; ++{0}) {{", IndexName(inner));
    ++depth_;
    WriteGuards(guarded, sum.over.size() - 1);
    Line("sums.NextTerm();");
    Line("for (int lane = 0; lane < lanes; ++lane) {{");
    ++depth_;
    Line("const std::int64_t {} = first + lane;", IndexName(stage.vars[lane]));
    WriteTerm(guarded.term);
    CloseLoops(2);
    Line("sums.Flush(end - block);");
    CloseLoops(sum.over.size());
    known_ = known;
    if (IsExactProduct(guarded.term)) Line("sums.ScaleExactProducts();");
    Line("for (int lane = 0; lane < lanes; ++lane) {{");
    ++depth_;
    Line("const std::int64_t {} = first + lane;", IndexName(stage.vars[lane]));
    {
      Scope scope(*this, stage.value);
      known_.insert({&sum, "sums.Get(lane)"});
      WriteResult(stage, stage.value);
    }
    CloseLoops(loops + 2);
  }

  // for all of the result: one sum in kLanes parts, whose terms lie side by side.
  void WriteFoldNest(const Stage& stage, const ExprNode& sum) {
    bool parallel = true;
    for (const auto& var : stage.vars) {
      OpenLoop(var, parallel && IsLoop(var));
      if (IsLoop(var)) parallel = false;
    }
    Line("Terms<{}> sums;", real_);
    for (std::size_t i = 0; i + 1 < sum.over.size(); ++i) OpenLoop(sum.over[i]);
    const IndexVar& inner = sum.over.back();
    Line("for (std::int64_t first = 0; first < {}; first += kLanes) {{", inner.extent);
    ++depth_;
    Line("const int lanes = static_cast<int>(std::min<std::int64_t>(kLanes, {} - first));", inner.extent);
    Line("for (int lane = 0; lane < lanes; ++lane) {{");
    ++depth_;
    Line("const std::int64_t {} = first + lane;", IndexName(inner));
    WriteTerm(sum.operands[0]);
    CloseLoops(1);
    Line("sums.Flush(lanes);");
    CloseLoops(sum.over.size());
    if (IsExactProduct(sum.operands[0])) Line("sums.ScaleExactProducts();");
    {
      Scope scope(*this, stage.value);
      Line("const auto total = sums.Total();");
      known_.insert({&sum, "total"});
      WriteResult(stage, stage.value);
    }
    CloseLoops(stage.vars.size());
  }

  std::string StoreText(const std::string& value, std::ptrdiff_t output, const std::string& offset) const override {
    return fmt::format("Store({0}, value[{1}] + ({2}), scale[{1}] + ({2}));", value, output, offset);
  }

  NestFunctions functions_;
  bool small_step_ = false;  // whether the nest is too small for threads
};

// A reshape: another name for the memory of what it is of.
std::string Alias(const std::string& name, const std::string& of, const Shape& shape) {
  return fmt::format("  [[maybe_unused]] const auto* {} = {};  // {}\n", name, of, ToString(shape));
}

bool IsOutput(const Graph& graph, const Buffer& buffer) {
  return buffer.tensor >= 0 && graph.problem().tensors[static_cast<std::size_t>(buffer.tensor)].role == Role::kOutput;
}

}  // namespace

OracleSources SourcesOfOracle(const Graph& graph, std::int64_t fewest_looks) {
  NestWriter writer(graph, Style::kOracle, fewest_looks);
  const auto live = LiveStages(graph);
  const Honesty honesty = HonestyOf(graph.problem());
  std::string head(kNumbersText);
  head += kKeyListsText;
  head += kSortedRanksText;
  fmt::format_to(
      std::back_inserter(head),
      "namespace {{\nconst double kUnit = {:a};\nconst double kOperandUnit = {:a};\nconst double kSmallest = {:a};\n\n",
      honesty.unit, honesty.operand_unit, honesty.smallest);
  // Nothing but calls: to optimize the hundreds of a deep network would take as long as the nests themselves.
  std::string text =
      "template <class R, class T>\nvoid StoreAll(const T* from, std::int64_t count, double* value, double* scale, "
      "[[maybe_unused]] int threads) {\n#pragma omp parallel for num_threads(threads)\n"
      "  for (std::int64_t i = 0; i < count; ++i) Store(from[i], value + i, scale + i);\n}\n\n"
      "#ifdef __clang__\n#define PLAINLY [[clang::optnone]]\n#else\n#define PLAINLY "
      "__attribute__((optimize(\"O0\")))\n#endif\n"
      "template <class R>\nPLAINLY void RunGraph(const void* const* in, double* const* value, double* const* scale, "
      "[[maybe_unused]] int threads) {\n";
  const auto& buffers = graph.buffers();
  int input = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].stage >= 0) continue;
    fmt::format_to(std::back_inserter(text), "  [[maybe_unused]] const auto* {} = static_cast<const {}*>(in[{}]);\n",
                   writer.name(static_cast<int>(i)), ElementType(buffers[i].dtype), input++);
  }
  for (std::size_t s = 0; s < graph.stages().size(); ++s) {
    if (!live[s]) continue;
    if (writer.Fused(s)) continue;
    const int id = graph.stages()[s].buffer;
    const Buffer& buffer = buffers[static_cast<std::size_t>(id)];
    if (const int root = writer.Root(id); root != id) {
      text += Alias(writer.name(id), writer.name(root), buffer.shape);
      continue;
    }
    if (!writer.GoesStraight(id)) {
      fmt::format_to(std::back_inserter(text), "  Memory<{1}> {0}_memory({2});\n  auto* {0} = {0}_memory.data();\n",
                     writer.name(id), writer.MemoryType(id), ElementCount(buffer.shape));
    }
    if (const auto first = writer.RunThatEnds(s)) text += writer.WriteRun(*first);
  }
  std::size_t outputs = graph.problem().Outputs().size();
  for (std::size_t o = 0; o < outputs; ++o) {
    const int id = graph.Output(o);
    const Buffer& buffer = buffers[static_cast<std::size_t>(id)];
    if (writer.GoesStraight(id)) continue;
    fmt::format_to(std::back_inserter(text), "  StoreAll<R>({1}, {0}, value[{2}], scale[{2}], threads);\n",
                   ElementCount(buffer.shape), writer.name(id), o);
  }
  text += "}\n}  // namespace\n\n";
  head += writer.functions().Definitions() + writer.functions().WithCalls(text);
  const auto entry = [&](const std::string& type) {
    return fmt::format(
        "{}extern \"C\" __attribute__((visibility(\"default\"))) void hone_oracle(const void* const* in, double* "
        "const* value, double* const* scale, int threads) {{\n  RunGraph<{}>(in, value, scale, threads);\n}}\n",
        head, type);
  };
  return {.values = entry("Tracked"), .honest = entry(fmt::format("Honest<{}>", honesty.type))};
}

std::string NaiveModule(const Graph& graph) {
  NestWriter writer(graph, Style::kNaive, kLooksWorthLists);
  const auto live = LiveStages(graph);
  std::string text = "#include <hone/module.h>\n\n";
  text += kNumbersText;
  text +=
      "namespace {\nconst double kUnit = 0;\nconst double kOperandUnit = 0;\nconst double kSmallest = 0;\n}\n\nextern "
      "\"C\" int32_t hone_abi_version(void) { return HONE_ABI_VERSION; }\n\nextern \"C\" int32_t hone_run(const "
      "HoneCall* call) {\n";
  const auto& buffers = graph.buffers();
  const auto& problem = graph.problem();
  int inputs = 0, parameters = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].stage >= 0) continue;
    const bool parameter = problem.tensors[static_cast<std::size_t>(buffers[i].tensor)].role == Role::kParameter;
    fmt::format_to(std::back_inserter(text),
                   "  [[maybe_unused]] const auto* __restrict {} = static_cast<const {}*>(call->{}[{}].data);\n",
                   writer.name(static_cast<int>(i)), ElementType(buffers[i].dtype), parameter ? "parameters" : "inputs",
                   parameter ? parameters++ : inputs++);
  }
  for (std::size_t s = 0; s < graph.stages().size(); ++s) {
    if (!live[s]) continue;
    const int id = graph.stages()[s].buffer;
    const Buffer& buffer = buffers[static_cast<std::size_t>(id)];
    if (const int root = writer.Root(id); root != id) {
      text += Alias(writer.name(id), writer.name(root), buffer.shape);
      continue;
    }
    if (IsOutput(graph, buffer)) {
      int position = 0;
      while (graph.Output(static_cast<std::size_t>(position)) != id) ++position;
      fmt::format_to(std::back_inserter(text), "  auto* __restrict {} = static_cast<{}*>(call->outputs[{}].data);\n",
                     writer.name(id), ElementType(buffer.dtype), position);
    } else {
      fmt::format_to(std::back_inserter(text),
                     "  static const auto {0}_memory = std::make_unique_for_overwrite<{2}[]>({1});\n"
                     "  {2}* __restrict {0} = {0}_memory.get();\n",
                     writer.name(id), std::max<std::int64_t>(ElementCount(buffer.shape), 1), ElementType(buffer.dtype));
    }
    if (const auto first = writer.RunThatEnds(s)) text += writer.WriteRun(*first);
  }
  text += "  return 0;\n}\n";
  return text;
}

}  // namespace hone
