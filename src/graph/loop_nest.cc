#include "graph/loop_nest.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
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
  return fmt::format("{}_{}",
                     std::isdigit(static_cast<unsigned char>(text.empty() ? '0' : text[0])) ? "v" + text : text, id);
}

// The type of an element in memory. Not every compiler has bf16: g++ 12 lacks it.
std::string_view ElementName(DType dtype) { return dtype == DType::kBF16 ? "BFloat16" : CppName(dtype); }

std::string FunctionName(std::string_view name) {
  std::string text(name);
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  if (text == "Isnan") return "IsNan";
  return text;
}

// Writes the nests of one graph: the oracle's over a real type R, the naive module's in the problem's own types.
enum class Style { kOracle, kNaive };

class NestWriter {
 public:
  NestWriter(const Graph& graph, Style style) : graph_(graph), style_(style), stages_(graph.stages()) {
    for (std::size_t i = 0; i < graph.buffers().size(); ++i)
      names_.push_back(Identifier(graph.buffers()[i].name, static_cast<int>(i)));
    if (style == Style::kOracle) FuseChains();
    exact_.assign(graph.buffers().size(), true);
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      const Stage& stage = stages_[s];
      if (!stage.value) continue;
      if (stage.sequence >= 0 && SequenceEnd(graph, s) == s + 1) FindExactSteps(s);
      if (stage.sequence < 0) exact_[static_cast<std::size_t>(stage.buffer)] = IsExact(stage);
      Visit(stage.value, [&](const ExprNode& node) {
        if (node.kind == Expr::Kind::kLoad) last_use_[Root(node.buffer)] = static_cast<int>(s);
      });
    }
  }

  const std::string& name(int buffer) const { return names_[static_cast<std::size_t>(buffer)]; }

  // Whether a stage became part of the one that reads it.
  bool Fused(std::size_t stage) const { return !stages_[stage].value; }

  // Whether a buffer's values carry no rounding: inputs, and what only moves, compares and counts them.
  bool exact(int buffer) const { return exact_[static_cast<std::size_t>(buffer)]; }

  // The type of an element in the oracle's memory, in terms of R.
  std::string MemoryType(int id) const {
    const ScalarType type = ScalarTypeOf(graph_.buffers()[static_cast<std::size_t>(id)].dtype);
    if (type == ScalarType::kReal) return exact(id) ? "typename TypesOf<R>::Exact" : "R";
    if (type == ScalarType::kInt) return exact(id) ? "std::int64_t" : "typename TypesOf<R>::Whole";
    return exact(id) ? "bool" : "typename TypesOf<R>::Truth";
  }

  // An output that no later stage reads goes straight to its place.
  bool GoesStraight(int id) const {
    return style_ == Style::kOracle && graph_.buffers()[static_cast<std::size_t>(id)].tensor >= 0 &&
           !last_use_.count(id);
  }

  // The buffer whose memory this one is: itself, or what it is a reshape of. An output has memory of its own.
  int Root(int buffer) const {
    const Buffer& b = graph_.buffers()[static_cast<std::size_t>(buffer)];
    if (b.stage < 0 || b.tensor >= 0) return buffer;
    const int base = graph_.stages()[static_cast<std::size_t>(b.stage)].reshape_of;
    return base < 0 ? buffer : Root(base);
  }

  // Where the run of stages begins whose last one this is: what the run writes has to be declared by then.
  std::optional<std::size_t> RunThatEnds(std::size_t stage) const {
    if (SequenceEnd(graph_, stage) != stage + 1) return std::nullopt;
    while (stages_[stage].sequence >= 0 && stage > 0 && stages_[stage - 1].sequence == stages_[stage].sequence) --stage;
    return stage;
  }

  // The nest of a stage, or of the whole sequence that it begins.
  std::string WriteRun(std::size_t first) {
    const std::size_t end = SequenceEnd(graph_, first);
    text_.clear();
    depth_ = 1;
    for (std::size_t s = first; s < end; ++s) {
      const auto name = [&](int id) { return graph_.buffers()[static_cast<std::size_t>(id)].name; };
      Line("// {} = {}", name(stages_[s].buffer), Shortened(ToString(stages_[s].value, name)));
    }
    const std::string comment = std::move(text_);
    text_.clear();
    Line("{{");
    ++depth_;
    if (stages_[first].sequence >= 0)
      WriteSequence(first, end);
    else
      WriteStage(stages_[first]);
    --depth_;
    Line("}}");
    if (style_ == Style::kOracle) {
      std::set<int> written;
      for (std::size_t s = first; s < end; ++s) written.insert(stages_[s].buffer);
      const std::string call = CallOf(std::move(text_), written);
      text_ = comment;
      Line("{}", call);
      for (const auto& [used, last] : last_use_) {
        const Buffer& b = graph_.buffers()[static_cast<std::size_t>(used)];
        if (last >= static_cast<int>(first) && last < static_cast<int>(end) && b.stage >= 0 && b.tensor < 0)
          Line("{}_memory.Release();", name(used));
      }
      return text_;
    }
    return comment + text_;
  }

  // The nests that WriteRun's results call, as functions: those of stages that differ only in what they read and write
  // are one, since a deep network compiles in the time that its different layers take.
  const std::string& functions() const { return functions_; }

 private:
  // Makes a function of a nest and gives the call of it. Names of buffers become parameters and all other numbered
  // names are counted anew, so that equal nests have equal texts.
  std::string CallOf(const std::string& nest, const std::set<int>& written) {
    std::unordered_map<std::string_view, int> buffers;
    for (std::size_t b = 0; b < names_.size(); ++b) buffers[names_[b]] = static_cast<int>(b);
    std::unordered_map<std::string, std::string> renamed;
    std::map<char, int> counts;
    std::string body, parameters, arguments;
    const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    for (std::size_t at = 0; at < nest.size();) {
      std::size_t end = at;
      while (end < nest.size() && is_word(nest[end])) ++end;
      if (end == at) {
        body += nest[at++];
        continue;
      }
      const std::string word = nest.substr(at, end - at);
      at = end;
      const auto buffer = buffers.find(word);
      const bool numbered = word.size() > 1 && (word[0] == 'i' || word[0] == 't' || word[0] == 'r') &&
                            std::isdigit(static_cast<unsigned char>(word[1]));
      if (buffer == buffers.end() && !numbered) {
        body += word;
        continue;
      }
      auto [it, fresh] = renamed.try_emplace(word);
      if (fresh) {
        const char kind = buffer == buffers.end() ? word[0] : 'p';
        // r7 and r7_at are two names, and stay so.
        it->second = fmt::format("{}{}", kind, counts[kind]++);
        if (buffer != buffers.end()) {
          const bool made = graph_.buffers()[static_cast<std::size_t>(Root(buffer->second))].stage >= 0;
          const bool writes = written.count(buffer->second) > 0;
          const auto type =
              made ? MemoryType(Root(buffer->second))
                   : std::string(ElementName(graph_.buffers()[static_cast<std::size_t>(buffer->second)].dtype));
          parameters += fmt::format("{}{}* __restrict {}, ", writes ? "" : "const ", type, it->second);
          arguments += word + ", ";
        }
      }
      body += it->second;
    }
    const auto [it, fresh] = nests_.try_emplace(parameters + body, static_cast<int>(nests_.size()));
    if (fresh) {
      functions_ += fmt::format(
          "template <class R>\n[[gnu::noinline]] void Nest{}({}[[maybe_unused]] double* const* value, [[maybe_unused]] "
          "double* const* scale, [[maybe_unused]] int threads) {{\n{}}}\n\n",
          it->second, parameters, body);
    }
    return fmt::format("Nest{}<R>({}value, scale, threads);", it->second, arguments);
  }

  void Prepare(const Stage& stage) {
    const Buffer& buffer = graph_.buffers()[static_cast<std::size_t>(stage.buffer)];
    real_ = style_ == Style::kNaive ? (buffer.dtype == DType::kF64 ? "double" : "float") : "R";
    used_.clear();
    Visit(stage.value, [&](const ExprNode& node) {
      for (const auto& operand : node.operands) ++used_[operand.get()];
    });
  }

  void WriteStage(const Stage& stage) {
    Prepare(stage);
    if (ElementCount(graph_.buffers()[static_cast<std::size_t>(stage.buffer)].shape) == 0) return;
    const ExprNode* sum = style_ == Style::kOracle ? LaneSum(stage.value) : nullptr;
    const Lanes lanes = sum ? ChooseLanes(stage, *sum) : Lanes::kNone;
    if (lanes == Lanes::kNone)
      WritePlainNest(stage);
    else if (lanes == Lanes::kResult)
      WriteLaneNest(stage, *sum);
    else
      WriteFoldNest(stage, *sum);
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

  // Terms that one step of a stage adds up. Below kTermsForThreads, a millisecond or so, a parallel region at every
  // step does not pay: starting one takes some 5 us, but where others use the cores its end is waited for far longer.
  static constexpr double kTermsForThreads = 1 << 20;
  static double StepTerms(const Stage& stage) {
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

  void OpenSteps(const Stage& stage) {
    const auto extent = stage.vars[static_cast<std::size_t>(stage.along)].extent;
    if (stage.reversed)
      Line("for (std::int64_t step = {}; step >= 0; --step) {{", extent - 1);
    else
      Line("for (std::int64_t step = 0; step < {}; ++step) {{", extent);
    ++depth_;
  }

  // Whether all of a sequence advances element by element: each one reads the others only at its own place, apart from
  // the step.
  bool IsScan(std::size_t first, std::size_t end) const {
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
    for (std::size_t s = first; s < end; ++s) {
      Stage stage = stages_[s];
      if (s != first) {
        stage.value = Substitute(stage.value, [&](const IndexVar& var) -> Expr {
          for (std::size_t d = 0; d < stage.vars.size(); ++d) {
            if (stage.vars[d].id == var.id) return leader.vars[d];
          }
          return {};
        });
        stage.vars = leader.vars;
      }
      Prepare(stage);
      Line("{{");
      ++depth_;
      {
        Scope scope(*this, stage.value);
        WriteResult(stage, stage.value);
      }
      CloseLoops(1);
    }
    CloseLoops(loops);
  }

  // The term of `y = (first step ? 0 : y one step before) + term`: such sums have the errors of sums, not of chains of
  // additions, since whoever adds many terms adds them in blocks.
  static Expr RunningSumTerm(const Stage& stage) {
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

  // Which values of the sequence that ends here carry no rounding: none that reads one which does.
  void FindExactSteps(std::size_t last) {
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

  // An element-wise stage whose values one other element-wise stage reads, once each, becomes part of that one: what
  // lies between would be 16 bytes an element.
  void FuseChains() {
    std::map<int, int> uses;  // loads of each buffer, reductions counting as many
    for (const auto& stage : stages_) {
      const int weight = HasReduce(stage.value) || stage.reshape_of >= 0 ? 2 : 1;
      Visit(stage.value, [&](const ExprNode& node) {
        if (node.kind == Expr::Kind::kLoad) uses[node.buffer] += weight;
      });
    }
    for (auto& stage : stages_) {
      if (HasReduce(stage.value) || stage.reshape_of >= 0) continue;
      const auto elements = ElementCount(graph_.buffers()[static_cast<std::size_t>(stage.buffer)].shape);
      stage.value = ReplaceLoads(stage.value, [&](const ExprNode& load) -> Expr {
        const Buffer& buffer = graph_.buffers()[static_cast<std::size_t>(load.buffer)];
        if (buffer.stage < 0 || buffer.tensor >= 0 || uses[load.buffer] != 1 || ElementCount(buffer.shape) < elements)
          return {};
        if (load.type == ScalarType::kInt && buffer.dtype != DType::kI64) return {};  // its store narrows
        if (IsHalf(buffer.dtype)) return {};                                          // and this one rounds
        Stage& made = stages_[static_cast<std::size_t>(buffer.stage)];
        if (!made.value || HasReduce(made.value) || made.reshape_of >= 0 || made.sequence >= 0) return {};
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
  static bool IsHalf(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

  // Whether storing the value rounds it: results of half types that are more than elements moved from others of theirs.
  bool StoreRounds(const Stage& stage) const {
    const DType dtype = graph_.buffers()[static_cast<std::size_t>(stage.buffer)].dtype;
    if (!IsHalf(dtype)) return false;
    bool rounds = !IsExact(stage.value);
    Visit(stage.value, [&](const ExprNode& node) {
      if (node.type != ScalarType::kReal) return;
      if (node.kind == Expr::Kind::kLoad)
        rounds = rounds || graph_.buffers()[static_cast<std::size_t>(node.buffer)].dtype != dtype;
      if (node.kind == Expr::Kind::kConst)
        rounds = rounds || (std::isfinite(node.real) && std::trunc(node.real * 4) != node.real * 4);
      if (node.kind == Expr::Kind::kCast) rounds = rounds || node.operands[0]->type == ScalarType::kInt;
    });
    return rounds;
  }
  bool IsExact(const Stage& stage) const { return IsExact(stage.value) && !StoreRounds(stage); }

  static bool HasReduce(const Expr& value) {
    bool found = false;
    if (value) Visit(value, [&](const ExprNode& node) { found = found || node.kind == Expr::Kind::kReduce; });
    return found;
  }

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

  std::string IndexName(const IndexVar& var) const { return fmt::format("i{}", var.id); }

  // No loop where a sequence's steps give the index.
  void OpenLoop(const IndexVar& var, bool parallel = false) {
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
        const std::string term =
            stride == 1 ? IndexName(stage.vars[d]) : fmt::format("{} * {}", IndexName(stage.vars[d]), stride);
        offset = offset.empty() ? term : term + " + " + offset;
      }
      stride *= stage.vars[d].extent;
    }
    return offset.empty() ? "0" : offset;
  }

  void WriteResult(const Stage& stage, const Expr& value) {
    const Buffer& buffer = graph_.buffers()[static_cast<std::size_t>(stage.buffer)];
    std::string text = Emit(value);
    if (style_ == Style::kNaive)
      return Line("{}[{}] = static_cast<{}>({});", name(stage.buffer), Offset(stage), ElementName(buffer.dtype), text);
    if (value->type == ScalarType::kInt && buffer.dtype != DType::kI64)
      text = fmt::format("Narrow<{}>({})", ElementName(buffer.dtype), text);
    if (StoreRounds(stage))
      text = fmt::format("{}(R({}))", buffer.dtype == DType::kF16 ? "StoredF16" : "StoredBF16", text);
    if (GoesStraight(stage.buffer)) {
      const auto& outputs = graph_.problem().tensors;
      const auto position = std::count_if(outputs.begin(), outputs.begin() + buffer.tensor,
                                          [](const Tensor& t) { return t.role == Role::kOutput; });
      return Line("Store({0}, value[{1}] + ({2}), scale[{1}] + ({2}));", text, position, Offset(stage));
    }
    if (value->type == ScalarType::kReal && exact(stage.buffer))
      text = fmt::format("static_cast<typename TypesOf<R>::Exact>({})", ExactText(text));
    if (value->type != ScalarType::kReal && exact(stage.buffer)) text = fmt::format("Plain({})", text);
    Line("{}[{}] = {};", name(stage.buffer), Offset(stage), text);
  }

  // An expression of type R that carries no error, as a plain number.
  static std::string ExactText(const std::string& text) { return fmt::format("Plain({})", text); }

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

  // The statement that adds one term of the sum in a lane.
  void WriteTerm(const ExprNode& sum) {
    const Expr& term = sum.operands[0];
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
  bool IsExactProduct(const Expr& e) const {
    return e->kind == Expr::Kind::kBinary && e->binary == BinaryOp::kMul && e->type == ScalarType::kReal &&
           IsExact(e->operands[0]) && IsExact(e->operands[1]);
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
    Line("Sums<{}> sums;", real_);
    for (std::size_t i = 0; i + 1 < sum.over.size(); ++i) OpenLoop(sum.over[i]);
    const IndexVar& inner = sum.over.back();
    Line("for (std::int64_t block = 0; block < {}; block += kBlock) {{", inner.extent);
    ++depth_;
    Line("for (std::int64_t {0} = block; {0} < std::min<std::int64_t>(block + kBlock, {1}); ++{0}) {{",
         IndexName(inner), inner.extent);
    ++depth_;
    Line("for (int lane = 0; lane < lanes; ++lane) {{");
    ++depth_;
    Line("const std::int64_t {} = first + lane;", IndexName(stage.vars[lane]));
    WriteTerm(sum);
    CloseLoops(2);
    Line("sums.Flush();");
    CloseLoops(sum.over.size());
    if (IsExactProduct(sum.operands[0])) Line("sums.ScaleExactProducts();");
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
    Line("Sums<{}> sums;", real_);
    Line("int blocks = 0;");
    for (std::size_t i = 0; i + 1 < sum.over.size(); ++i) OpenLoop(sum.over[i]);
    const IndexVar& inner = sum.over.back();
    Line("for (std::int64_t first = 0; first < {}; first += kLanes) {{", inner.extent);
    ++depth_;
    Line("const int lanes = static_cast<int>(std::min<std::int64_t>(kLanes, {} - first));", inner.extent);
    Line("for (int lane = 0; lane < lanes; ++lane) {{");
    ++depth_;
    Line("const std::int64_t {} = first + lane;", IndexName(inner));
    WriteTerm(sum);
    CloseLoops(1);
    Line("if (++blocks % kBlock == 0) sums.Flush();");
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

  // --- Expressions ---

  // What is in sight while the statements of one block are written. Shared subtrees become named temporaries, if they
  // are evaluated on every path: a load behind a select's guard must stay behind it.
  class Scope {
   public:
    Scope(NestWriter& writer, const Expr& root)
        : writer_(writer), known_(writer.known_), unconditional_(writer.unconditional_) {
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

  // A sum's term: a product of two reals is a contraction's.
  std::string EmitTerm(const Expr& e) {
    if (style_ == Style::kOracle && e->kind == Expr::Kind::kBinary && e->binary == BinaryOp::kMul &&
        e->type == ScalarType::kReal && e->operands[0].get() != e->operands[1].get()) {
      const std::string a = Emit(e->operands[0]);
      const std::string b = Emit(e->operands[1]);
      return fmt::format("Product({}, {})", a, b);
    }
    return Emit(e);
  }

  // Whether a value carries no rounding. Loads, moves, comparisons and arithmetic of whole numbers are exact when their
  // operands are.
  bool IsExact(const Expr& e) const {
    bool exact = true;
    Visit(e, [&](const ExprNode& node) { exact = exact && KeepsExact(node); });
    return exact;
  }
  bool KeepsExact(const ExprNode& node) const {
    const bool real = node.type == ScalarType::kReal;
    switch (node.kind) {
      case Expr::Kind::kConst:
      case Expr::Kind::kIndex:
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
  // Or on a real: where data was folded away, its type is still that of a number that may be unsure.
  static bool HangsOnData(const Expr& index) {
    bool found = false;
    Visit(index, [&](const ExprNode& node) {
      const bool from_real = node.kind == Expr::Kind::kCast && node.operands[0]->type != ScalarType::kInt;
      found = found || node.kind == Expr::Kind::kLoad || node.kind == Expr::Kind::kReduce || from_real;
    });
    return found;
  }

  std::string RealConstant(double value) const {
    if (std::isnan(value)) return fmt::format("{}(std::numeric_limits<double>::quiet_NaN())", real_);
    if (std::isinf(value)) return fmt::format("{}({}kInf)", real_, value < 0 ? "-" : "");
    return style_ == Style::kOracle ? fmt::format("Constant<R>({})", value) : fmt::format("{}({})", real_, value);
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
      const bool half =
          (style_ == Style::kNaive || !made) && (buffer.dtype == DType::kF16 || buffer.dtype == DType::kBF16);
      if (e.type == ScalarType::kReal)
        text = fmt::format("{}({})", real_, half ? "static_cast<float>(" + element + ")" : element);
      else if (e.type == ScalarType::kInt)
        text = fmt::format("std::int64_t{{{}}}", element);
    }
    for (const auto& index : unsure) {
      const char* type = e.type == ScalarType::kReal  ? "R"
                         : e.type == ScalarType::kInt ? "typename TypesOf<R>::Whole"
                                                      : "typename TypesOf<R>::Truth";
      text = fmt::format("Picked({}, {}({}))", index, type, text);
    }
    return text;
  }

  std::string EmitBinary(const ExprNode& e) {
    const std::string a = Emit(e.operands[0]);
    const std::string b = Emit(e.operands[1]);
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

  std::string EmitSelect(const ExprNode& e) {
    const std::string condition = Emit(e.operands[0]);
    const std::string then = Emit(e.operands[1]);
    const std::string otherwise = Emit(e.operands[2]);
    if (style_ == Style::kOracle && !IsExact(e.operands[0]))
      return fmt::format("Choose({}, {}, {})", condition, then, otherwise);
    return fmt::format("(Plain({}) ? {} : {})", condition, then, otherwise);
  }

  std::string EmitCast(const ExprNode& e) {
    const std::string x = Emit(e.operands[0]);
    const ScalarType from = e.operands[0]->type;
    if (e.type == ScalarType::kReal)
      return fmt::format("{}({}(0), {})", from == ScalarType::kBool ? "FromTruth" : "FromWhole", real_, x);
    if (e.type == ScalarType::kInt) return fmt::format("ToWhole({})", x);
    return fmt::format("ToTruth({})", x);
  }

  // Statements before the current one; gives the name of the folded value.
  std::string EmitReduce(const ExprNode& e) {
    const int id = temporaries_++;
    const std::string type = e.operands[0]->type == ScalarType::kReal ? real_
                             : style_ == Style::kNaive
                                 ? (e.operands[0]->type == ScalarType::kInt ? "std::int64_t" : "bool")
                             : e.operands[0]->type == ScalarType::kInt ? "typename TypesOf<R>::Whole"
                                                                       : "typename TypesOf<R>::Truth";
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
        case ReduceOp::kMax:
          if (!arg && e.type == ScalarType::kReal) {
            Line("{0}.best = {0}_at++ == 0 ? {1} : Max({0}.best, {1});", name, body);
            break;
          }
          [[fallthrough]];
        case ReduceOp::kMin:
          if (!arg && e.type == ScalarType::kReal) {
            Line("{0}.best = {0}_at++ == 0 ? {1} : Min({0}.best, {1});", name, body);
            break;
          }
          [[fallthrough]];
        default:
          Line("{0}.Offer({1}, {0}_at++, {2});", name, body,
               e.reduce == ReduceOp::kArgMax || e.reduce == ReduceOp::kMax ? "true" : "false");
      }
    }
    CloseLoops(e.over.size());
    if (arg) return name + ".At()";
    if (e.reduce == ReduceOp::kSum) return name + ".Get()";
    if (e.reduce == ReduceOp::kMax || e.reduce == ReduceOp::kMin) return name + ".best";
    return name;
  }

  const Graph& graph_;
  const Style style_;
  std::vector<Stage> stages_;  // the graph's; without a value once fused
  std::vector<std::string> names_;
  std::vector<bool> exact_;      // by buffer
  std::map<int, int> last_use_;  // buffer -> stage
  std::string text_, real_, functions_;
  std::unordered_map<std::string, int> nests_;  // the functions' texts and numbers
  int depth_ = 0, temporaries_ = 0;
  int step_var_ = -1;        // the index that a sequence's step gives; -1 outside one
  bool small_step_ = false;  // whether the nest is too small for threads
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
  const bool all_double = std::all_of(problem.tensors.begin(), problem.tensors.end(),
                                      [](const Tensor& t) { return !IsFloat(t.dtype) || t.dtype == DType::kF64; });
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
  const auto live = LiveStages(graph);
  const Honesty honesty = HonestyOf(graph.problem());
  std::string head(kNumbersText);
  fmt::format_to(
      std::back_inserter(head),
      "namespace {{\nconst double kUnit = {:a};\nconst double kOperandUnit = {:a};\nconst double kSmallest = {:a};\n\n",
      honesty.unit, honesty.operand_unit, honesty.unit > 0x1p-50 ? 0x1p-126 : 0x1p-1022);
  std::string text =
      "template <class R>\nvoid RunGraph(const void* const* in, double* const* value, double* const* scale, "
      "[[maybe_unused]] int threads) {\n";
  const auto& buffers = graph.buffers();
  int input = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].stage >= 0) continue;
    fmt::format_to(std::back_inserter(text), "  [[maybe_unused]] const auto* {} = static_cast<const {}*>(in[{}]);\n",
                   writer.name(static_cast<int>(i)), ElementName(buffers[i].dtype), input++);
  }
  for (std::size_t s = 0; s < graph.stages().size(); ++s) {
    if (!live[s]) continue;
    if (writer.Fused(s)) continue;
    const int id = graph.stages()[s].buffer;
    const Buffer& buffer = buffers[static_cast<std::size_t>(id)];
    if (const int root = writer.Root(id); root != id) {
      fmt::format_to(std::back_inserter(text), "  [[maybe_unused]] const auto* {} = {};  // {}\n", writer.name(id),
                     writer.name(root), ToString(buffer.shape));
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
    fmt::format_to(std::back_inserter(text),
                   "#pragma omp parallel for num_threads(threads)\n  for (std::int64_t i = 0; i < {0}; ++i) "
                   "Store({1}[i], value[{2}] + i, scale[{2}] + i);\n",
                   ElementCount(buffer.shape), writer.name(id), o);
  }
  fmt::format_to(std::back_inserter(text),
                 "}}\n}}  // namespace\n\n"
                 "extern \"C\" __attribute__((visibility(\"default\"))) void hone_oracle(const void* const* in, "
                 "double* const* value, double* const* scale, double* const* honest, int threads) {{\n"
                 "  RunGraph<Honest<{}>>(in, honest, scale, threads);  // its zero scales are overwritten\n"
                 "  RunGraph<Tracked>(in, value, scale, threads);\n}}\n",
                 honesty.type);
  return head + writer.functions() + text;
}

std::string NaiveModule(const Graph& graph) {
  NestWriter writer(graph, Style::kNaive);
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
                   writer.name(static_cast<int>(i)), ElementName(buffers[i].dtype), parameter ? "parameters" : "inputs",
                   parameter ? parameters++ : inputs++);
  }
  for (std::size_t s = 0; s < graph.stages().size(); ++s) {
    if (!live[s]) continue;
    const int id = graph.stages()[s].buffer;
    const Buffer& buffer = buffers[static_cast<std::size_t>(id)];
    if (const int root = writer.Root(id); root != id) {
      fmt::format_to(std::back_inserter(text), "  [[maybe_unused]] const auto* {} = {};  // {}\n", writer.name(id),
                     writer.name(root), ToString(buffer.shape));
      continue;
    }
    if (IsOutput(graph, buffer)) {
      int position = 0;
      while (graph.Output(static_cast<std::size_t>(position)) != id) ++position;
      fmt::format_to(std::back_inserter(text), "  auto* __restrict {} = static_cast<{}*>(call->outputs[{}].data);\n",
                     writer.name(id), ElementName(buffer.dtype), position);
    } else {
      fmt::format_to(std::back_inserter(text),
                     "  static const auto {0}_memory = std::make_unique_for_overwrite<{2}[]>({1});\n"
                     "  {2}* __restrict {0} = {0}_memory.get();\n",
                     writer.name(id), std::max<std::int64_t>(ElementCount(buffer.shape), 1), ElementName(buffer.dtype));
    }
    if (const auto first = writer.RunThatEnds(s)) text += writer.WriteRun(*first);
  }
  text += "  return 0;\n}\n";
  return text;
}

}  // namespace hone
