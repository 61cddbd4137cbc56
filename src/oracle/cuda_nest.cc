// One file because it is one writer: every fold of a stage is written inside of the loops that the stage has opened.
#include "oracle/cuda_nest.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "expr/affine.h"
#include "graph/op.h"
#include "oracle/fold_range.h"
#include "oracle/keyed_text.h"
#include "oracle/merged_kernels.h"
#include "oracle/product_tiles.h"

namespace hone {

extern const std::string_view kDeviceStdText;  // base/device_std.h
extern const std::string_view kNumbersText, kCudaNestsText, kCudaKeyListsText, kCudaSortedRanksText, kProductTilesText;

namespace {

constexpr int kThreads = 256;                  // of a block; kMostThreads and kSorters in generated_code
constexpr std::int64_t kMostBlocks = 1 << 20;  // loops over the grid take the rest
// From so many results on, a thread each fills a device.
constexpr std::int64_t kManyResults = 1 << 16;
constexpr std::int64_t kLongFold = 64;  // below, a block's threads would have nothing to share
// Few results of very long folds are split over several blocks.
constexpr std::int64_t kFewResults = 256, kPartFold = 1 << 14, kMostParts = 1024;
constexpr std::int64_t kScratchBytes = 64;  // of a part; no accumulator is larger
// Of generated_code/key_lists.cuh.
constexpr int kMostDigitBits = 8, kEntryBytes = 8;
// Chunks are a block's: as many as fill a device a few times over, unless that leaves a block less than two tiles.
constexpr std::int64_t kEntriesOfChunk = 4096, kMostChunks = 4096;
// The entries of each place are sorted by themselves, in fewer steps, where they fill blocks by themselves.
constexpr std::int64_t kEntriesOfSegment = 2 * kEntriesOfChunk;
// From so many terms on, a list is a block's wherever the others are a thread's each: a thread that adds up more would
// be waited for.
constexpr std::int64_t kLongList = 1024;
// Of generated_code/ranks.inc and sorted_ranks.cuh.
constexpr int kInRowBytes = 16;
constexpr std::int64_t kFirstRun = 32;

// How the terms of lists are sorted.
struct ListSort {
  std::int64_t segments = 1, entries = 0, lists = 0;  // of each segment entries and lists
  std::int64_t of_place = 0;                          // from a place's first list to that of the next
  std::int64_t chunks = 1;                            // of each segment
  int steps = 1, bits = 1;                            // of a step's digit

  explicit ListSort(const KeyLists& made) {
    const bool apart = made.Others() > 1 && made.Entries() >= kEntriesOfSegment;
    segments = apart ? made.Others() : 1;
    entries = made.Others() / segments * made.Entries();
    lists = made.Others() / segments * made.AllListsOfEach();
    of_place = made.AllListsOfEach() + (apart ? 1 : 0);
    chunks = std::clamp<std::int64_t>(entries / kEntriesOfChunk, 1, std::max<std::int64_t>(kMostChunks / segments, 1));
    const int all_bits = std::max<int>(std::bit_width(static_cast<std::uint64_t>(lists - 1)), 1);
    steps = (all_bits + kMostDigitBits - 1) / kMostDigitBits;
    bits = (all_bits + steps - 1) / steps;
  }
  // Of each digit in each chunk and each segment, and of what is in a segment's lists.
  std::int64_t Counts() const { return (segments * (chunks + 1) << bits) + segments; }
  std::int64_t Begins() const { return segments * (lists + 1); }
  std::string Text() const {
    return fmt::format("KeySort{{{}, {}, {}, {}, {}}}", segments, entries, lists, chunks, bits);
  }
};

// Whether PyTorch multiplies reals of 8 bits as they are, on a device by tensor cores whose sums keep few bits.
bool TorchMultipliesInF8(const Node& node) { return node.op.find("_scaled_mm") != std::string::npos; }

class CudaWriter : public KeyedText {
 public:
  CudaWriter(const Graph& graph, TorchProducts products, std::int64_t fewest_looks)
      : KeyedText(graph, Style::kOracle, fewest_looks, Moves::kFused),
        products_(products),
        units_{HonestyOf(graph.problem()).operand_unit} {
    int input = 0;
    for (std::size_t i = 0; i < graph.buffers().size(); ++i) {
      if (graph.buffers()[i].stage < 0) inputs_[static_cast<int>(i)] = input++;
    }
  }

  void Write(CudaNests& nests) {
    nests_ = &nests;
    const auto live = LiveStages(graph_);
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      if (!live[s] || Fused(s)) continue;
      const int id = stages_[s].buffer;
      if (Root(id) != id) continue;
      if (!GoesStraight(id)) {
        memories_[id] = static_cast<int>(nests.memories.size());
        nests.memories.push_back({Elements(id), ElementBytes(id, true), ElementBytes(id, false)});
      }
      if (const auto first = RunThatEnds(s)) WriteRun(*first);
    }
    for (std::size_t o = 0; o < graph_.problem().Outputs().size(); ++o) {
      const int id = graph_.Output(o);
      if (GoesStraight(id) || Elements(id) == 0) continue;
      nests.runs.emplace_back();
      comment_.clear();
      units_ = {HonestyOf(graph_.problem()).operand_unit};
      OpenResults({});
      Line("{}", StoreText(fmt::format("{}[at]", name(id)), static_cast<std::ptrdiff_t>(o), "at"));
      CloseLoops(1);
      Finish({}, Elements(id), kThreads);
    }
  }

 private:
  // How the results of a stage are shared out.
  enum class Shares { kThread, kBlock, kBlocks };

  std::int64_t Elements(int id) const { return ElementCount(graph_.buffers()[static_cast<std::size_t>(id)].shape); }

  // As the compiler lays out the types that MemoryType names.
  int ElementBytes(int id, bool tracked) const {
    const ScalarType type = ScalarTypeOf(graph_.buffers()[static_cast<std::size_t>(id)].dtype);
    if (type == ScalarType::kReal)
      return tracked ? (exact(id) ? 8 : 16) : HonestyOf(graph_.problem()).type == "double" ? 8 : 4;
    if (type == ScalarType::kInt) return exact(id) || !tracked ? 8 : 16;
    return exact(id) || !tracked ? 1 : 2;
  }

  std::string StoreText(const std::string& value, std::ptrdiff_t output, const std::string& offset) const override {
    return fmt::format("Store({0}, value{1} + ({2}), scale{1} + ({2}));", value, output, offset);
  }

  void OpenLoop(const IndexVar& var, bool) override {
    Line("for (std::int64_t {0} = 0; {0} < {1}; ++{0}) {{", IndexName(var), var.extent);
    ++depth_;
  }

  // Over the terms that are not zero.
  void OpenRange(const std::string& name, const IndexVar& var, const FoldRange& range) {
    WriteRange(name, range, var.extent);
    Line("for (std::int64_t {0} = {1}.begin; {0} < {1}.end; ++{0}) {{", IndexName(var), name);
    ++depth_;
  }
  void WriteRange(const std::string& name, const FoldRange& range, std::int64_t terms) {
    const auto bound = [&](const Expr& e, std::int64_t otherwise) {
      if (!e) return std::to_string(otherwise);
      Scope scope(*this, e);
      return ExactText(Emit(e));
    };
    const std::string begin = bound(range.begin, 0), end = bound(range.end, terms);
    Line("const Span {} = TermsBetween({}, {}, {});", name, begin, end, terms);
  }

  void Begin() {
    text_.clear();
    depth_ = 1;
  }

  // for all results: a thread each, or a block each.
  void OpenResults(const std::vector<IndexVar>& vars, bool blocks = false) {
    Begin();
    if (blocks)
      Line("for (std::int64_t at = wanted_begin + blockIdx.x; at < wanted_end; at += gridDim.x) {{");
    else
      Line(
          "for (std::int64_t at = wanted_begin + std::int64_t{{blockIdx.x}} * blockDim.x + threadIdx.x; at < "
          "wanted_end; at += std::int64_t{{gridDim.x}} * blockDim.x) {{");
    ++depth_;
    Indices(vars, "at");
  }

  // Makes a kernel of the text, or finds the one that is the same, and its launch for `count` threads or blocks.
  void Finish(const std::set<int>& written, std::int64_t count, int threads, bool blocks = false,
              std::int64_t scratch_bytes = 0) {
    const Function function = Renamed(text_, written);
    CudaNests::Launch launch;
    std::string parameters;
    for (const auto& one : function.parameters) {
      parameters += fmt::format("{} __restrict {}, ", one.type, one.name);
      using Kind = CudaNests::Argument::Kind;
      if (one.buffer >= 0) {
        const int root = Root(one.buffer);
        const auto input = inputs_.find(root);
        launch.arguments.push_back(input != inputs_.end() ? CudaNests::Argument{Kind::kInput, input->second}
                                                          : CudaNests::Argument{Kind::kMemory, memories_.at(root)});
      } else {
        const Kind kind = one.given[0] == 'v' ? Kind::kValue : Kind::kScale;
        launch.arguments.push_back({kind, std::stoi(one.given.substr(5))});
      }
    }
    if (!scratch_.empty()) {
      parameters += scratch_ + "* __restrict scratch, ";
      launch.arguments.push_back({CudaNests::Argument::Kind::kScratch, 0});
    }
    for (const auto& [type, name, memory] : listed_) {
      parameters += fmt::format("{}* __restrict {}, ", type, name);
      launch.arguments.push_back({CudaNests::Argument::Kind::kMemory, memory});
    }
    parameters += "std::int64_t step, std::int64_t wanted_begin, std::int64_t wanted_end";
    // Tiles are products, too.
    const bool multiplies =
        function.body.find("Product") != std::string::npos || function.body.find("SumTile<") != std::string::npos;
    const std::string key = multiplies ? fmt::format("{} {}", units_.operand, units_.cut_terms) : "0";
    const auto [it, fresh] = kernels_.try_emplace(fmt::format("{} {}{}", key, parameters, function.body),
                                                  static_cast<int>(nests_->kernels.size()));
    if (fresh) {
      nests_->kernels.push_back({.name = fmt::format("Nest{}", it->second),
                                 .comment = comment_,
                                 .parameters = parameters,
                                 .body = function.body,
                                 .units = units_,
                                 .multiplies = multiplies});
    }
    launch.kernel = it->second;
    launch.threads = threads;
    launch.count = count;
    launch.by_blocks = blocks;
    launch.scratch_bytes = scratch_bytes;
    nests_->runs.back().launches.push_back(std::move(launch));
  }

  void WriteRun(std::size_t first) {
    const std::size_t end = SequenceEnd(graph_, first);
    if (Elements(stages_[first].buffer) == 0) return;
    nests_->runs.emplace_back();
    comment_ = Comment(first, end);
    units_ = UnitsOf(first, end);
    if (stages_[first].sequence < 0)
      WriteStage(stages_[first]);
    else
      WriteSequence(first, end);
    for (const auto& [used, last] : last_use_) {
      const Buffer& b = graph_.buffers()[static_cast<std::size_t>(used)];
      if (last >= static_cast<int>(first) && last < static_cast<int>(end) && b.stage >= 0 && b.tensor < 0)
        nests_->runs.back().done.push_back(memories_.at(used));
    }
  }

  // Whether an element is a sum of products of reals of 16 bits alone, which PyTorch leaves to tensor cores.
  bool MultipliesHalves(const Stage& stage) const {
    const auto halves = [&](const Expr& factor) {
      bool any = false, all = true;
      Visit(factor, [&](const ExprNode& node) {
        if (node.kind != Expr::Kind::kLoad || node.type != ScalarType::kReal) return;
        any = true;
        all = all && IsHalf(graph_.buffers()[static_cast<std::size_t>(node.buffer)].dtype);
      });
      return any && all;
    };
    bool found = false;
    Visit(stage.value, [&](const ExprNode& node) {
      if (node.kind != Expr::Kind::kReduce || node.reduce != ReduceOp::kSum || node.type != ScalarType::kReal) return;
      const Expr& term = node.operands[0];
      found = found || (term->kind == Expr::Kind::kBinary && term->binary == BinaryOp::kMul &&
                        halves(term->operands[0]) && halves(term->operands[1]));
    });
    return found;
  }

  ProductUnits UnitsOf(std::size_t first, std::size_t end) const {
    constexpr double kTf32Unit = 0x1p-11;
    // Hopper's tensor cores cut products of reals of 8 bits, and their sums, some 13 bits below the largest that they
    // add at a time. Sums of products that are rounded so are off by a third of what PyTorch's own are, which begin
    // anew after 128 of K, a candidate may be by four times as much, and what never begins anew is by more than ten
    // (docs/measured/cuda_8bit.md). Operands of 8 bits have no bits to be rounded there.
    constexpr ProductUnits kF8Units{0x1p-13, 0x1p-12};
    // Theirs of 16 bits are exact, and cut off 16 at a time to the bits of the sum: over some thousand terms that is
    // ten times as much as rounding to nearest, all toward zero.
    constexpr int kHalvesAtATime = 16;
    const double unit = HonestyOf(graph_.problem()).operand_unit;
    const Precision contract = graph_.problem().contract;
    if (products_ == TorchProducts::kF32 || contract == Precision::kFp32 || contract == Precision::kFp64) return {unit};
    for (std::size_t s = first; s < end; ++s) {
      if (MultipliesHalves(stages_[s])) return {.operand = unit, .cut_terms = kHalvesAtATime};
      if (contract != Precision::kTorch) continue;
      const Buffer& buffer = graph_.buffers()[static_cast<std::size_t>(stages_[s].buffer)];
      if (stages_[s].node < 0) continue;
      const Node& node = graph_.problem().nodes[static_cast<std::size_t>(stages_[s].node)];
      if (TorchMultipliesInF8(node)) return kF8Units;
      if (buffer.dtype == DType::kF32 && TorchMultipliesInTf32(node)) return {std::max(unit, kTf32Unit)};
    }
    return {unit};
  }

  void WriteStage(const Stage& stage) {
    std::vector<IndexVar> vars;
    for (const auto& var : stage.vars) {
      if (var.id != step_var_) vars.push_back(var);
    }
    const std::int64_t results = Extent(vars);
    const auto folds = OuterFolds(stage.value);
    std::int64_t longest = 0;
    for (const ExprNode* fold : folds) longest = std::max(longest, Extent(fold->over));
    Shares shares = Shares::kThread;
    if (results < kFewResults && longest >= 2 * kPartFold && folds.size() == 1) {
      shares = Shares::kBlocks;
    } else {
      FindFolds(stage);
      longest = 0;
      for (const ExprNode* fold : folds) longest = std::max(longest, TermsOfResult(*fold));
      if (results < kManyResults && longest >= kLongFold) shares = Shares::kBlock;
    }
    int threads = kThreads;
    while (shares == Shares::kBlock && threads > 32 && threads > longest) threads /= 2;

    Prepare(stage);
    if (HasFolds()) {
      std::vector<ListMemory> left;
      WriteLists(left);
      for (std::size_t r = 0; r < ranks().size(); ++r) WriteRanks(r, left);
      listed_ = std::move(left);
    }
    const auto exact = [&](const Expr& e) { return IsExact(e); };
    if (folds.size() == 1 && shares != Shares::kBlocks && !HasFolds()) {
      if (const auto tiles = TilesOf(vars, *folds[0], exact)) {
        WriteTiles(stage, *tiles);
        nests_->runs.back().splits = SplitsOf(stage, vars, &tiles->batches);
        return;
      }
    }
    std::string parts_name;
    if (shares == Shares::kBlocks) {
      const std::int64_t parts = std::clamp<std::int64_t>(longest / kPartFold, 2, kMostParts / results + 1);
      OpenResults({}, true);
      Line("const std::int64_t part = at % {};", parts);
      Indices(vars, fmt::format("(at / {})", parts));
      OpenStep();
      shared_fold_ = fmt::format("part * blockDim.x + threadIdx.x|{} * std::int64_t{{blockDim.x}}", parts);
      scratch_.clear();
      const std::string made = WriteSharedFold(*folds[0], true);
      Line("if (threadIdx.x == 0) scratch[at] = {};", made);
      Line("static_assert(sizeof *scratch <= {});", kScratchBytes);
      shared_fold_.clear();
      CloseLoops(1);
      scratch_ = AccumulatorType(*folds[0]);
      Finish({}, results * parts, kThreads, true, results * parts * kScratchBytes);
      OpenResults(vars);
      OpenStep();
      scratch_ = "const " + scratch_;
      parts_name = fmt::format("r{}", temporaries_++);
      Line("auto {} = scratch[at * {}];", parts_name, parts);
      Line("for (int part = 1; part < {0}; ++part) {1} = ({2})({1}, scratch[at * {0} + part]);", parts, parts_name,
           MergeText(*folds[0]));
      WriteScaling(*folds[0], parts_name);
    } else {
      OpenResults(vars, shares == Shares::kBlock);
      OpenStep();
      if (shares == Shares::kBlock) shared_fold_ = "threadIdx.x|blockDim.x";
      if (shares == Shares::kThread && MayBeLong()) Line("if ({}) continue;", IsLongText());
    }
    {
      Scope scope(*this, stage.value);
      if (!parts_name.empty()) known_.insert({folds[0], AccumulatorResult(*folds[0], parts_name)});
      if (shares == Shares::kBlock) {
        const std::string before = std::exchange(guard_, "if (threadIdx.x == 0) ");
        WriteGuarded(stage);
        guard_ = before;
      } else {
        WriteResult(stage, stage.value);
      }
    }
    shared_fold_.clear();
    CloseLoops(1);
    Finish({stage.buffer}, results, threads, shares == Shares::kBlock);
    if (shares == Shares::kThread && MayBeLong()) WriteLongLists(stage, vars);
    if (shares != Shares::kBlocks && !HasFolds()) nests_->runs.back().splits = SplitsOf(stage, vars, nullptr);
    scratch_.clear();
    for (const auto& [type, name, memory] : std::exchange(listed_, {})) nests_->runs.back().done.push_back(memory);
    ForgetFolds();
  }

  // By the first of its indices, of tiles those that are batches.
  std::vector<CudaNests::Split> SplitsOf(const Stage& stage, const std::vector<IndexVar>& vars,
                                         const std::vector<IndexVar>* batches) const {
    std::vector<CudaNests::Split> splits;
    if (step_var_ >= 0 || begin_.dimension >= 0 || Extent(vars) != Elements(stage.buffer)) return splits;
    CudaNests::Split split;
    for (std::size_t d = 0; d + 1 < vars.size(); ++d) {
      if (vars[d].extent == 1) continue;
      const auto is = [&](const IndexVar& var) { return var.id == vars[d].id; };
      if (batches != nullptr && std::none_of(batches->begin(), batches->end(), is)) break;
      split.parts *= vars[d].extent;
      split.across =
          Across(stage.value, {vars.begin(), vars.begin() + static_cast<std::ptrdiff_t>(d) + 1}, split.parts);
      splits.push_back(split);
    }
    return splits;
  }
  // The memories of which it reads more than the part that these indices, so many parts, say.
  std::vector<int> Across(const Expr& value, const std::vector<IndexVar>& leading, std::int64_t parts) const {
    std::set<int> across;
    Visit(value, [&](const ExprNode& node) {
      if (node.kind != Expr::Kind::kLoad) return;
      const auto memory = memories_.find(Root(node.buffer));
      if (memory != memories_.end() && !IsOfPart(node, leading, parts)) across.insert(memory->second);
    });
    return {across.begin(), across.end()};
  }
  bool IsOfPart(const ExprNode& load, const std::vector<IndexVar>& leading, std::int64_t parts) const {
    const std::int64_t elements = Elements(load.buffer), each = elements / parts;
    if (elements % parts != 0) return false;
    const Shape& shape = graph_.buffers()[static_cast<std::size_t>(load.buffer)].shape;
    Affine at;
    std::int64_t stride = 1;
    std::map<int, IndexVar> vars;
    for (std::size_t d = load.operands.size(); d-- > 0; stride *= shape[d]) {
      const auto along = AffineOf(load.operands[d]);
      if (!along) return false;
      at = Combine(std::move(at), *along, stride);
      Visit(load.operands[d], [&](const ExprNode& node) {
        if (node.kind == Expr::Kind::kIndex) vars.insert({node.index.id, node.index});
      });
    }
    std::int64_t step = each;
    for (std::size_t d = leading.size(); d-- > 0; step *= leading[d].extent) {
      if (leading[d].extent == 1) continue;
      if (at.of(leading[d]) != step) return false;
      at.coefficient.erase(leading[d].id);
      vars.erase(leading[d].id);
    }
    std::vector<IndexVar> others;
    for (const auto& [id, var] : vars) others.push_back(var);
    const WholeRange rest = hone::RangeOf(at, others);
    return rest.low >= 0 && rest.high < each;
  }

  // --- Lists of terms ---

  // That a result adds up; of lists as many as there are if all are equally long.
  std::int64_t TermsOfResult(const ExprNode& fold) const {
    const std::int64_t terms = Extent(fold.over);
    if (IsRanked(fold)) return 1;
    const ListedFold* listed = Listed(fold);
    return listed ? std::max<std::int64_t>(terms / lists()[listed->lists].ListsOfEach(), 1) : terms;
  }

  int AddMemory(std::int64_t elements, int bytes) {
    nests_->memories.push_back({elements, bytes, bytes});
    return static_cast<int>(nests_->memories.size()) - 1;
  }

  // What kernels are given beside buffers: lists of terms, places in rows, or what becomes of them.
  struct ListMemory {
    std::string type, name;
    int memory = 0;
  };

  // Runs before the stage's own that list the terms of its folds; what they leave is in `left`.
  void WriteLists(std::vector<ListMemory>& left) {
    for (std::size_t l = 0; l < lists().size(); ++l) {
      const KeyLists& made = lists()[l];
      const std::int64_t terms = made.Terms(), all = made.Others() * made.Entries();
      const ListSort sort(made);
      const int given = AddMemory(all, kEntryBytes), other = AddMemory(all, kEntryBytes);
      const int counts = AddMemory(sort.Counts(), 4), begins = AddMemory(sort.Begins(), 4);
      listed_ = {{"Listed", "given", given}};
      OpenResults({});
      Line("const std::int64_t other = at / {}, fold = at % {};", made.Entries(), terms);
      Indices(made.others, "other");
      WriteListOfTerm(made);
      // The second half are those that are not sure once more.
      if (!made.exact) Line("if (at % {} >= {}) list = sure ? -1 : {};", made.Entries(), terms, made.ListsOfEach());
      const std::string before = sort.segments > 1 ? "" : fmt::format("other * {} + ", sort.of_place);
      Line("given[at].list = static_cast<std::uint32_t>(list < 0 ? {} : {}list);", sort.lists, before);
      Line("given[at].term = static_cast<std::uint32_t>(fold);");
      CloseLoops(1);
      Finish({}, all, kThreads);

      nests_->runs.emplace_back().steps = sort.steps;
      listed_ = {{"Listed", "given", given}, {"Listed", "other", other}, {"std::uint32_t", "counts", counts}};
      const std::string from = "step % 2 == 0 ? given : other", to = "step % 2 == 0 ? other : given";
      const auto step = [&](std::int64_t blocks, int threads, const std::string& call) {
        Begin();
        Line("{}", call);
        Finish({}, blocks, threads, true);
      };
      const int summing = static_cast<int>(
          std::clamp<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(sort.chunks)), 32, kThreads));
      step(sort.segments * sort.chunks, kThreads, fmt::format("CountDigits({}, {}, step, counts);", from, sort.Text()));
      step(sort.segments << sort.bits, summing, fmt::format("SumCounts({}, counts);", sort.Text()));
      step(sort.segments * sort.chunks, kThreads,
           fmt::format("SortByDigit({}, {}, step, counts, {});", from, sort.Text(), to));
      const int sorted = sort.steps % 2 == 0 ? given : other;
      nests_->runs.back().done = {sort.steps % 2 == 0 ? other : given};

      nests_->runs.emplace_back();
      listed_ = {{"const Listed", "entries", sorted},
                 {"const std::uint32_t", "counts", counts},
                 {"std::uint32_t", "begins", begins}};
      OpenResults({});
      Line("begins[at] = BeginOf(entries, {}, counts, at);", sort.Text());
      CloseLoops(1);
      Finish({}, sort.Begins(), kThreads);
      nests_->runs.back().done = {counts};
      left.push_back({"const Listed", fmt::format("entries{}", l), sorted});
      left.push_back({"const std::uint32_t", fmt::format("begins{}", l), begins});
    }
  }

  // Runs before the stage's own that sort the rows of a fold; the places that they leave are in `left`.
  void WriteRanks(std::size_t number, std::vector<ListMemory>& left) {
    const SortedRanks& made = ranks()[number];
    const std::int64_t count = made.Count(), all = made.Rows() * count;
    const bool exact = IsExact(made.fold.element);
    const std::string in_row = fmt::format("InRow<{}>", KeyType(made)), of_rows = fmt::format("{}, {}", all, count);
    const char* const descending = made.fold.descending ? "true" : "false";
    const auto bits = [](std::int64_t of) { return std::bit_width(static_cast<std::uint64_t>(of - 1)); };
    const int sorts = 1 + bits((count + kFirstRun - 1) / kFirstRun), searches = bits(count);
    const int given = AddMemory(all, kInRowBytes), other = AddMemory(all, kInRowBytes), left_ranks = AddMemory(all, 4);
    const int sorted = sorts % 2 == 0 ? given : other;
    const auto in_turn = [](int steps, int first, int second) { return steps % 2 == 0 ? first : second; };
    std::vector<ListMemory> errors, searched;
    const auto add_tracked = [&](int bytes) {
      nests_->memories.push_back({all, bytes, 0});
      return static_cast<int>(nests_->memories.size()) - 1;
    };
    if (!exact) errors = {{"double", "errors", add_tracked(8)}};

    listed_ = {{in_row, "given", given}};
    listed_.insert(listed_.end(), errors.begin(), errors.end());
    OpenResults({});
    Line("const std::int64_t other = at / {0}, place = at % {0};", count);
    WriteRankKey(made, "const auto key = ", "");
    Line("given[at] = {{key.key, static_cast<std::uint32_t>(place)}};");
    if (!exact) Line("if (kHasErrors<R>) errors[at] = key.error;");
    CloseLoops(1);
    Finish({}, all, kThreads);

    const auto in_steps = [&](int steps, const std::string& call) {
      nests_->runs.emplace_back().steps = steps;
      Begin();
      Line("{}", call);
      Finish({}, all, kThreads);
    };
    listed_ = {{in_row, "given", given}, {in_row, "other", other}};
    in_steps(sorts, fmt::format("SortStep(step % 2 == 0 ? given : other, {}, {}, step, step % 2 == 0 ? other : given);",
                                of_rows, descending));
    nests_->runs.back().done = {in_turn(sorts, other, given)};

    const std::string of_errors = fmt::format("sorted, errors, {}, {}", of_rows, descending);
    if (!exact && searches > 0) {
      const int first = add_tracked(8), second = add_tracked(8);
      listed_ = {{"const " + in_row, "sorted", sorted},
                 {"const double", "errors", errors[0].memory},
                 {"Furthest", "given", first},
                 {"Furthest", "other", second}};
      in_steps(searches, fmt::format("FurthestStep<R>({}, step, step % 2 == 0 ? given : other, step % 2 == 0 ? other : "
                                     "given);",
                                     of_errors));
      nests_->runs.back().done = {in_turn(searches, second, first)};
      searched = {{"const Furthest", "furthest", in_turn(searches, first, second)}};
    }
    listed_ = {{"const " + in_row, "sorted", sorted}, {"std::uint32_t", "ranks", left_ranks}};
    if (!exact) listed_.push_back({"const double", "errors", errors[0].memory});
    listed_.insert(listed_.end(), searched.begin(), searched.end());
    in_steps(1, exact ? fmt::format("WriteRanks(sorted, {}, ranks);", of_rows)
                      : fmt::format("WriteDoubtedRanks<R>({}, {}, ranks);", of_errors,
                                    searched.empty() ? "nullptr" : "furthest"));
    for (const auto& [type, name, memory] : listed_) {
      if (memory != left_ranks) nests_->runs.back().done.push_back(memory);
    }
    nests_->runs.emplace_back();
    left.push_back({"const std::uint32_t", fmt::format("ranks{}", number), left_ranks});
  }

  // Whether a result may have a list that is a block's, and of one, in sight of its indices, whether it has.
  bool MayBeLong() const {
    return std::any_of(lists().begin(), lists().end(), [](const KeyLists& one) { return one.Terms() >= kLongList; });
  }
  std::string IsLongText() const {
    std::string text;
    for (std::size_t l = 0; l < lists().size(); ++l)
      text += fmt::format("{}{}.size >= {}", l == 0 ? "" : " || ", ListAt(l, ListText(lists()[l])), kLongList);
    return text;
  }
  // By all of a block's threads, the results whose lists are long.
  void WriteLongLists(const Stage& stage, const std::vector<IndexVar>& vars) {
    Begin();
    Line("const auto is_long = [&](std::int64_t at) {{");
    ++depth_;
    Indices(vars, "at");
    Line("return {};", IsLongText());
    --depth_;
    Line("}};");
    Line("ForLongLists({{wanted_begin, wanted_end}}, is_long, [&](std::int64_t at) {{");
    ++depth_;
    Indices(vars, "at");
    shared_fold_ = "threadIdx.x|blockDim.x";
    {
      Scope scope(*this, stage.value);
      const std::string before = std::exchange(guard_, "if (threadIdx.x == 0) ");
      WriteGuarded(stage);
      guard_ = before;
    }
    shared_fold_.clear();
    --depth_;
    Line("}});");
    Finish({stage.buffer}, Extent(vars), kThreads);
  }

  // Of the place of the result's indices, by its number among those of that place.
  std::string ListAt(std::size_t number, const std::string& list) const {
    const KeyLists& from = lists()[number];
    return fmt::format("ListOf(entries{0}, begins{0}, ({1}) * {2} + {3})", number, OtherText(from),
                       ListSort(from).of_place, list);
  }

  // Declares the list that a fold is taken from. What terms passed over are is in the fold before.
  void WriteList(const ExprNode& e, const ListedFold& listed, const std::string& name) {
    const KeyLists& from = lists()[listed.lists];
    Line("const List {}_list = {};", name, ListAt(listed.lists, ListText(from)));
    if (listed.start) {
      const Expr start = listed.start;
      const std::string made = IsExtreme(e) ? fmt::format("Take({}, {})", Emit(start), IsLargest(e))
                                            : fmt::format("Offer({}, 0, {})", Emit(start), IsLargest(e));
      Line("if ({0}_list.size < {1}) {0}.{2};", name, from.Terms(), made);
    }
  }
  // Opens the loop over it, by all of a block's threads if `shared` says so.
  void OpenList(const ExprNode& e, const ListedFold& listed, const std::string& name, const std::string& shared) {
    WriteList(e, listed, name);
    OpenEntries(name + "_list", shared);
    Indices(e.over, "fold");
  }
  void OpenEntries(const std::string& list, const std::string& shared) {
    const std::string by = shared.empty() ? "0|1" : shared;
    const auto bar = by.find('|');
    Line("for (std::int64_t n = {}; n < {}.size; n += {}) {{", by.substr(0, bar), list, by.substr(bar + 1));
    ++depth_;
    Line("const std::int64_t fold = {}.entries[n].term;", list);
  }
  // Behind the terms of its list, those of others whose keys hang on rounding, as far as they change anything.
  void WriteUnsure(const ExprNode& e, const std::string& name, const std::string& shared) {
    const ListedFold* listed = Listed(e);
    if (listed == nullptr || lists()[listed->lists].exact) return;
    const KeyLists& from = lists()[listed->lists];
    Line("const List {}_unsure = {};", name, ListAt(listed->lists, std::to_string(from.ListsOfEach())));
    WriteTerms(e, name, "fold", [&]() -> std::size_t {
      OpenEntries(name + "_unsure", shared);
      Line("if (IsSettled({})) break;", name);
      WriteListOfTerm(from);
      Line("if (list == {}) continue;", ListText(from));
      Indices(e.over, "fold");
      return 1;
    });
  }

  // A factor of a tile's terms as a function of places: the lambda's head, and which indices they are.
  void WriteFactor(const std::string& head, const std::vector<std::pair<const std::vector<IndexVar>*, const char*>>& at,
                   const Expr& factor) {
    Line("const auto {} {{", head);
    ++depth_;
    for (const auto& [vars, flat] : at) Indices(*vars, flat);
    {
      Scope scope(*this, factor);
      const std::string made = Emit(factor);
      Line("return {};", IsExact(factor) ? ExactText(made) : made);
    }
    --depth_;
    Line("}};");
  }

  void WriteTiles(const Stage& stage, const ProductTiles& tiles) {
    const auto& over = tiles.fold->over;
    OpenTiles(tiles);
    WriteFactor("left = [&](unsigned row, unsigned fold)", {{&tiles.rows, "row"}, {&over, "fold"}}, tiles.left);
    const bool keyed = !tiles.keys.empty();
    if (keyed) {
      WriteFactor("right = [&](unsigned row, unsigned fold, unsigned column)",
                  {{&tiles.rows, "row"}, {&over, "fold"}, {&tiles.columns, "column"}}, tiles.right);
    } else {
      WriteFactor("right = [&](unsigned, unsigned fold, unsigned column)",
                  {{&over, "fold"}, {&tiles.columns, "column"}}, tiles.right);
    }
    Line("R sums[kEach * kEach];");
    const bool exact = IsExactProduct(tiles.fold->operands[0]);
    const std::string sums = fmt::format("<R, {}, {}, {}>(sums, run, columns, folds, left, right);", exact,
                                         tiles.left_by_fold, tiles.right_by_fold);
    if (keyed) {
      std::string differ;
      for (std::size_t k = 0; k < tiles.keys.size(); ++k) {
        WriteFactor(fmt::format("key{} = [&](unsigned row)", k), {{&tiles.rows, "row"}}, tiles.keys[k]);
        differ += fmt::format("{0}Differ(key{1}(row), key{1}(row - 1))", k == 0 ? "" : " || ", k);
      }
      Line("const Runs runs = RunsOf(rows, [&](unsigned row) {{ return {}; }});", differ);
      Line("for (Part run = runs.From(rows.begin); run.begin < run.end; run = runs.From(run.end)) {{");
      ++depth_;
      Line("if (runs.scattered)");
      Line("  SumEach<R, {}>(sums, run, columns, folds, left, right);", exact);
      Line("else");
      Line("  SumTile{}", sums);
    } else {
      Line("const Part run = rows;");
      Line("SumTile{}", sums);
    }
    Line("#pragma unroll 1");
    Line("for (unsigned n = 0; n < kEach * kEach; ++n) {{");
    ++depth_;
    Line("const unsigned row = RowOf<R>(rows, n), column = ColumnOf<R>(columns, n);");
    Line("if (!run.Holds(row) || !columns.Holds(column)) continue;");
    Indices(tiles.rows, "row");
    Indices(tiles.columns, "column");
    {
      Scope scope(*this, stage.value);
      known_.insert({tiles.fold, "sums[n]"});
      WriteResult(stage, stage.value);
    }
    CloseLoops(keyed ? 3 : 2);
    Finish({stage.buffer}, tiles.Tiles(), kThreads, true);
  }

  // For all tiles: a block each. Declares its batch, its rows and columns, and the terms.
  void OpenTiles(const ProductTiles& tiles) {
    const std::int64_t down = tiles.RowTiles(), across = tiles.ColumnTiles();
    Begin();
    OpenStep();
    Line("for (std::int64_t tile = wanted_begin + blockIdx.x; tile < wanted_end; tile += gridDim.x) {{");
    ++depth_;
    Indices(tiles.batches, fmt::format("(tile / {})", down * across));
    const auto part = [&](const char* name, const std::string& number, std::int64_t extent) {
      Line("const unsigned {}_begin = {} * kTile;", name, number);
      Line("const Part {0} = {{{0}_begin, {0}_begin, std::min({0}_begin + kTile, {1}u)}};", name, extent);
    };
    part("rows", fmt::format("tile / {} % {}", across, down), Extent(tiles.rows));
    part("columns", fmt::format("tile % {}", across), Extent(tiles.columns));
    WriteRange("folds", tiles.range, Extent(tiles.fold->over));
  }

  // The statement that stores is the last line that WriteResult writes: one thread makes it.
  void WriteGuarded(const Stage& stage) {
    WriteResult(stage, stage.value);
    const auto line = text_.rfind('\n', text_.size() - 2) + 1;
    text_.insert(text_.find_first_not_of(' ', line), guard_);
  }

  void OpenStep() {
    if (step_var_ >= 0) Line("const std::int64_t i{} = step;", step_var_);
  }

  void WriteSequence(std::size_t first, std::size_t end) {
    const Stage& leader = stages_[first];
    if (const Expr term = end == first + 1 ? RunningSumTerm(leader) : Expr()) return WriteRunningSum(leader, term);
    if (IsScan(first, end)) return WriteScan(first, end);
    auto& run = nests_->runs.back();
    run.steps = leader.vars[static_cast<std::size_t>(leader.along)].extent;
    run.reversed = leader.reversed;
    for (std::size_t s = first; s < end; ++s) {
      step_var_ = stages_[s].vars[static_cast<std::size_t>(stages_[s].along)].id;
      WriteStage(stages_[s]);
      step_var_ = -1;
    }
  }

  std::vector<IndexVar> Lanes(const Stage& stage) const {
    std::vector<IndexVar> vars;
    for (std::size_t d = 0; d < stage.vars.size(); ++d) {
      if (static_cast<int>(d) != stage.along) vars.push_back(stage.vars[d]);
    }
    return vars;
  }

  void OpenSteps(const Stage& stage) {
    const auto& var = stage.vars[static_cast<std::size_t>(stage.along)];
    if (stage.reversed)
      Line("for (std::int64_t {0} = {1}; {0} >= 0; --{0}) {{", IndexName(var), var.extent - 1);
    else
      Line("for (std::int64_t {0} = 0; {0} < {1}; ++{0}) {{", IndexName(var), var.extent);
    ++depth_;
  }

  void WriteScan(std::size_t first, std::size_t end) {
    const Stage& leader = stages_[first];
    const auto lanes = Lanes(leader);
    OpenResults(lanes);
    OpenSteps(leader);
    std::set<int> written;
    for (std::size_t s = first; s < end; ++s) written.insert(stages_[s].buffer);
    WriteStep(first, end);
    CloseLoops(2);
    Finish(written, Extent(lanes), SmallBlock(Extent(lanes)));
  }

  void WriteRunningSum(const Stage& stage, const Expr& term) {
    const auto lanes = Lanes(stage);
    Prepare(stage);
    OpenResults(lanes);
    Line("Sum<{}> sum;", real_);
    OpenSteps(stage);
    {
      Scope scope(*this, term);
      Line("sum.Add({});", EmitTerm(term));
    }
    {
      Scope scope(*this, stage.value);
      known_.insert({stage.value.get(), "sum.Get()"});
      WriteResult(stage, stage.value);
    }
    CloseLoops(2);
    Finish({stage.buffer}, Extent(lanes), SmallBlock(Extent(lanes)));
  }

  // Long work of few threads is spread over the multiprocessors.
  static int SmallBlock(std::int64_t count) { return count < kManyResults ? 32 : kThreads; }

  // --- Folds ---

  // The folds that are in no other.
  static std::vector<const ExprNode*> OuterFolds(const Expr& value) {
    std::vector<const ExprNode*> folds;
    std::unordered_set<const ExprNode*> seen;
    const auto walk = [&](const auto& self, const ExprNode& node) -> void {
      if (!seen.insert(&node).second) return;
      if (node.kind == Expr::Kind::kReduce) {
        folds.push_back(&node);
        return;
      }
      for (const auto& operand : node.operands) self(self, *operand);
    };
    walk(walk, *value);
    return folds;
  }

  static bool IsLargest(const ExprNode& e) { return e.reduce == ReduceOp::kMax || e.reduce == ReduceOp::kArgMax; }
  static bool IsExtreme(const ExprNode& e) {
    return (e.reduce == ReduceOp::kMax || e.reduce == ReduceOp::kMin) && e.type == ScalarType::kReal;
  }
  static bool HasPlainAccumulator(const ExprNode& e) {
    return e.reduce == ReduceOp::kProd || e.reduce == ReduceOp::kAny || e.reduce == ReduceOp::kAll;
  }

  std::string AccumulatorType(const ExprNode& e) const {
    const std::string type = FoldType(e);
    if (HasPlainAccumulator(e)) return type;
    return fmt::format("{}<{}>", e.reduce == ReduceOp::kSum ? "Sum" : IsExtreme(e) ? "Extreme" : "Best", type);
  }

  static std::string MergeText(const ExprNode& e) {
    switch (e.reduce) {
      case ReduceOp::kProd: return "[](auto a, auto b) { return a * b; }";
      case ReduceOp::kAny: return "[](auto a, auto b) { return Or(a, b); }";
      case ReduceOp::kAll: return "[](auto a, auto b) { return And(a, b); }";
      case ReduceOp::kSum: return "[](auto a, auto b) { a.Merge(b); return a; }";
      default: return fmt::format("[](auto a, auto b) {{ a.Merge(b, {}); return a; }}", IsLargest(e));
    }
  }

  std::string AccumulatorResult(const ExprNode& e, const std::string& name) { return FoldResult(e, name); }

  // Declares `name` and adds all terms from the loops that `open` opens; `at` is the term's number.
  template <class Open>
  void WriteFold(const ExprNode& e, const std::string& name, const std::string& at, const Open& open) {
    const std::string start = e.reduce == ReduceOp::kProd  ? "(1)"
                              : e.reduce == ReduceOp::kAny ? " = false"
                              : e.reduce == ReduceOp::kAll ? " = true"
                                                           : "";
    Line("{} {}{};", AccumulatorType(e), name, start);
    WriteTerms(e, name, at, open);
  }
  template <class Open>
  void WriteTerms(const ExprNode& e, const std::string& name, const std::string& at, const Open& open) {
    const std::string outer = std::exchange(shared_fold_, "");  // what is folded within is the thread's own
    const std::size_t loops = open();
    if (!WriteExactTerm(e, name)) {
      if (e.reduce == ReduceOp::kSum || HasPlainAccumulator(e)) {
        WriteFoldTerm(e, name);
      } else {
        Scope scope(*this, e.operands[0]);
        const std::string body = Emit(e.operands[0]);
        if (IsExtreme(e))
          Line("{}.Take({}, {});", name, body, IsLargest(e));
        else
          Line("{}.Offer({}, {}, {});", name, body, at, IsLargest(e));
      }
    }
    CloseLoops(loops);
    shared_fold_ = outer;
  }

  // By all threads of the block; shared_fold_ says which of how many workers each is. As a part, what comes of it is
  // merged with others' later.
  std::string WriteSharedFold(const ExprNode& e, bool part) {
    const std::string name = fmt::format("r{}", temporaries_++);
    const auto bar = shared_fold_.find('|');
    const std::string worker = shared_fold_.substr(0, bar), workers = shared_fold_.substr(bar + 1);
    const bool sum = e.reduce == ReduceOp::kSum && e.type == ScalarType::kReal;
    const ListedFold* listed = Listed(e);
    if (sum) {
      WriteSharedSum(e, name, listed, worker, workers);
    } else {
      WriteFold(e, name, "fold", [&]() -> std::size_t {
        if (listed != nullptr) {
          OpenList(e, *listed, name, fmt::format("{}|{}", worker, workers));
          return 1;
        }
        Line("for (std::int64_t fold = {}; fold < {}; fold += {}) {{", worker, Extent(e.over), workers);
        ++depth_;
        Indices(e.over, "fold");
        return 1;
      });
    }
    WriteUnsure(e, name, fmt::format("{}|{}", worker, workers));
    const std::string all = fmt::format("r{}", temporaries_++);
    Line("auto {} = OverBlock({}, {});", all, name, MergeText(e));
    if (!part) WriteScaling(e, all);
    return all;
  }

  // What a term adds, as a function, and a sum of all: an honest one takes its terms in order, whoever makes them.
  void WriteSharedSum(const ExprNode& e, const std::string& name, const ListedFold* listed, const std::string& worker,
                      const std::string& workers) {
    const std::string add = fmt::format("r{}", temporaries_++);
    if (listed != nullptr) WriteList(e, *listed, name);
    Line("{} {};", AccumulatorType(e), name);
    Line("const auto {} = [&](std::int64_t {}, auto& {}) {{", add, listed != nullptr ? "n" : "fold", name);
    ++depth_;
    WriteTerms(e, name, "fold", [&]() -> std::size_t {
      if (listed != nullptr) Line("const std::int64_t fold = {}_list.entries[n].term;", name);
      Indices(e.over, "fold");
      return 0;
    });
    --depth_;
    Line("}};");
    const std::string terms = listed != nullptr ? name + "_list.size" : std::to_string(Extent(e.over));
    Line("AddShared({}, {}, {}, {}, {});", name, worker, workers, terms, add);
  }

  std::string EmitReduce(const ExprNode& e) override {
    if (IsRanked(e)) return RankText(e);
    if (!shared_fold_.empty()) return AccumulatorResult(e, WriteSharedFold(e, false));
    const std::string name = fmt::format("r{}", temporaries_++);
    if (const ListedFold* listed = Listed(e)) {
      WriteFold(e, name, "fold", [&]() -> std::size_t {
        OpenList(e, *listed, name, "");
        return 1;
      });
      WriteUnsure(e, name, "");
      WriteScaling(e, name);
      return AccumulatorResult(e, name);
    }
    const bool counts = !HasPlainAccumulator(e) && e.reduce != ReduceOp::kSum && !IsExtreme(e);
    if (counts) Line("std::int64_t {}_at = 0;", name);
    WriteFold(e, name, name + "_at++", [&] {
      if (const auto range = RangeOf(e, [&](const Expr& of) { return IsExact(of); }))
        OpenRange(name + "_range", e.over[0], *range);
      else
        for (const auto& var : e.over) OpenLoop(var, false);
      return e.over.size();
    });
    WriteScaling(e, name);
    return AccumulatorResult(e, name);
  }

  CudaNests* nests_ = nullptr;
  std::map<int, int> inputs_, memories_;  // buffer -> index
  std::unordered_map<std::string, int> kernels_;
  std::string shared_fold_;  // "the number of a worker|how many there are" while folds are a whole block's
  std::string scratch_;      // the type of the parts that a kernel leaves or reads, empty if it does neither
  std::vector<ListMemory> listed_;
  std::string guard_;
  std::string comment_;  // what is being written
  TorchProducts products_;
  ProductUnits units_;  // of it
};

}  // namespace

std::int64_t CudaNests::Launch::Blocks(std::int64_t wanted) const {
  return std::clamp<std::int64_t>(by_blocks ? wanted : (wanted + threads - 1) / threads, 1, kMostBlocks);
}

std::string CudaNests::Kernel::Text() const {
  const std::string given =
      numbers > 0 ? fmt::format(", const hone::KernelNumbers<{}> numbers", numbers) : std::string();
  return fmt::format("{}template <class R>\n__global__ void __launch_bounds__(kMostThreads) {}({}{}) {{\n{}}}\n\n",
                     comment, name, parameters, given, body);
}

std::string CudaNests::Source(std::size_t first, std::size_t end) const {
  const ProductUnits units = first < end ? kernels[first].units : ProductUnits{unit};
  std::string source = standard;
  fmt::format_to(std::back_inserter(source),
                 "#define HONE_UNITS_ARE_SET\nconstexpr double kUnit = {:a};\nconstexpr double kOperandUnit = "
                 "{:a};\nconstexpr double kProductUnit = {:a};\nconstexpr unsigned kCutTerms = {};\nconstexpr double "
                 "kSmallest = {:a};\n\n",
                 unit, units.operand, units.product, units.cut_terms, smallest);
  source += head;
  for (std::size_t k = first; k < end; ++k) {
    HONE_CHECK(kernels[k].units == kernels[first].units, "kernels of one source have one roundoff");
    source += kernels[k].Text();
  }
  return source;
}

CudaNests WriteCudaNests(const Graph& graph, TorchProducts products, std::int64_t fewest_looks) {
  CudaNests nests;
  const Honesty honesty = HonestyOf(graph.problem());
  nests.honest = fmt::format("Honest<{}>", honesty.type);
  nests.unit = honesty.unit;
  nests.smallest = honesty.smallest;
  nests.standard = kDeviceStdText;
  nests.head = kNumbersText;
  nests.head += kCudaNestsText;
  nests.head += kCudaKeyListsText;
  nests.head += kCudaSortedRanksText;
  nests.head += kProductTilesText;
  CudaWriter(graph, products, fewest_looks).Write(nests);
  MergeKernels(nests);
  return nests;
}

}  // namespace hone
