// A thread has a pack of neighbours along the innermost index, and goes through the folds for all of them at once: what
// data choose is looked up once for a pack, and a row that is looked up is read a pack at a time. Several threads may
// share the outermost fold, and tell each other in the end.
#include <fmt/format.h>

#include <functional>
#include <map>
#include <optional>

#include "dsl/cuda/knobs.h"
#include "dsl/cuda/nest_element.h"
#include "dsl/knobs.h"
#include "dsl/shape/keyed_nest.h"
#include "dsl/way.h"
#include "expr/ranged_fold.h"

namespace hone::dsl::cuda_way_nest_rows {
namespace {

using Kind = Expr::Kind;

// A fold in a fold in ... an element: each level has one, whose value is kIt in what is around it.
struct NestedFolds {
  FlatElement element;
  std::vector<Expr> folds;  // outermost first, their bodies without the fold within
  std::int64_t pack = 1;    // neighbours that a thread can have
};

bool Folds(ReduceOp op) { return op == ReduceOp::kSum || op == ReduceOp::kMax || op == ReduceOp::kMin; }

std::optional<NestedFolds> NestedFoldsOf(const Kernel& kernel) {
  if (kernel.attributes.contains("sequence")) return std::nullopt;
  NestedFolds made{.element = MakeFlat(kernel, {}), .folds = {}, .pack = 1};
  // Takes the one fold out of an expression; null if there are several.
  bool one = true;
  const auto without = [&](const Expr& expr, Expr& fold) {
    const std::function<Expr(const Expr&)> replaced = [&](const Expr& e) -> Expr {
      if (e->kind == Kind::kReduce) {
        one &= !fold || fold.get() == e.get();
        fold = e;
        return Value(kIt, e->type);
      }
      std::vector<Expr> operands;
      for (const Expr& operand : e->operands) operands.push_back(replaced(operand));
      return operands.empty() ? e : WithOperands(e, std::move(operands));
    };
    return replaced(expr);
  };
  Expr fold;
  made.element.value = without(made.element.value, fold);
  while (fold) {
    Expr inner;
    const Expr body = without(fold->operands[0], inner);
    if (!Folds(fold->reduce) || body->type == ScalarType::kBool) return std::nullopt;
    made.folds.push_back(Reduce(fold->reduce, fold->over, body));
    fold = inner;
  }
  if (!one || made.folds.empty()) return std::nullopt;
  // A row of halves is read 16 bytes at a time, whatever they become.
  const Expr& body = made.folds.back()->operands[0];
  bool halves = false;
  Visit(body, [&](const ExprNode& node) {
    halves |= node.kind == Kind::kLoad && IsHalf(kernel.operand_types[static_cast<std::size_t>(node.buffer)]);
  });
  made.pack = NeighboursOf(kernel, made.element, body, halves && Bytes(kernel.target_type) == 4 ? 32 : 16);
  return made;
}

bool IsLongSum(const ExprNode& fold) {
  return fold.reduce == ReduceOp::kSum && fold.type == ScalarType::kReal && PointsOf(fold.over) > kLongSum;
}

class RowsWriter {
 public:
  RowsWriter(const Kernel& kernel, DeviceWriter& out)
      : kernel_(kernel), out_(out), nest_(*NestedFoldsOf(kernel)), split_(IntSetting(kernel, "split")) {}

  void Write() {
    std::vector<IndexVar> indices = nest_.element.indices;
    along_ = indices.back();
    indices.back().extent /= nest_.pack;
    const std::int64_t threads = IntSetting(kernel_, "block"), count = PointsOf(indices) * split_;
    if (count == 0) return;
    out_.BeginKernel("rows", threads);
    // Threads that share a fold stay to the end.
    const std::string index = out_.index_type(), number = out_.Fresh("number"), at = out_.Fresh("at");
    out_.Line(fmt::format("const {0} {1} = static_cast<{0}>(blockIdx.x) * {2} + static_cast<int>(threadIdx.x);", index,
                          number, threads));
    const bool even = count % threads == 0;
    out_.Line(fmt::format("const {} {} = {}{};", index, at,
                          even ? number : fmt::format("min({}, static_cast<{}>({}))", number, index, count - 1),
                          split_ > 1 ? fmt::format(" / {}", split_) : ""));
    std::map<int, std::string> names;
    NamePlaces(out_, kernel_, indices, at, names);
    const std::string first = out_.Fresh("first");
    out_.Line(fmt::format("const {} {} = {} * {};", index, first, names.at(along_.id), nest_.pack));
    std::map<int, std::string> inside = names;
    inside[along_.id] = first;
    const std::string made = Fold(0, inside);
    if (split_ > 1) Share(made);
    std::string condition = even ? "" : fmt::format("{} < {}", number, count);
    if (split_ > 1) condition = fmt::format("{}{}{} % {} == 0", condition, even ? "" : " && ", number, split_);
    if (!condition.empty()) out_.Open(fmt::format("if ({})", condition));
    WriteNeighbours(out_, kernel_, nest_.element, names, nest_.pack, made);
    if (!condition.empty()) out_.Close();
    out_.Launch({.grid_x = (count + threads - 1) / threads,
                 .reads = OperandBuffers({&kernel_, 1}),
                 .writes = {kernel_.target}});
  }

 private:
  // Lines that fold, from level `level` on; the name of an array of what they made, one a neighbour.
  std::string Fold(std::size_t level, std::map<int, std::string> names) {
    const ExprNode& fold = *nest_.folds[level];
    const auto ranged = RangedFoldOf(fold);  // what data leave out is not looked at
    const Expr body = ranged ? ranged->body : fold.operands[0];
    const bool innermost = level + 1 == nest_.folds.size();
    const std::string made = out_.Fresh("made"), e = out_.Fresh("e"), type = out_.Type(body->type);
    Begin(fold, made);
    int loops = 0;
    std::string into = made;
    std::optional<PackedLoads> terms;
    std::string term;
    for (std::size_t d = 0; d < fold.over.size(); ++d) {
      const IndexVar& over = fold.over[d];
      const std::string k = out_.Fresh("k");
      const bool shares = level == 0 && d == 0 && split_ > 1;
      if (ranged && ranged->index.id == over.id) {
        std::string begin = Edge("begin", ranged->begin, names);
        std::string end = Edge("end", ranged->end, names);
        const std::int64_t step = shares ? split_ : 1;
        if (IsLongSum(fold)) {
          const std::string part_begin = out_.Fresh("k0"), part_end = out_.Fresh("part_end");
          out_.Open(fmt::format("for (int {0} = {1}; {0} < {2}; {0} += {3})", part_begin, begin, end, kLongSum * step));
          ++loops;
          out_.Line(fmt::format("const int {} = min({}, {} + {});", part_end, end, part_begin, kLongSum * step));
          into = out_.Fresh("part");
          Begin(fold, into);
          begin = part_begin;
          end = part_end;
        }
        names[over.id] = k;
        out_.Line("#pragma unroll 4");
        out_.Open(fmt::format("for (int {0} = {1}{2}; {0} < {3}; {0} += {4})", k, begin,
                              shares ? fmt::format(" + static_cast<int>(threadIdx.x % {})", split_) : "", end, step));
        ++loops;
        continue;
      }
      if (innermost && d + 1 == fold.over.size() && !shares) {
        // What lies side by side of the terms is read at once.
        if (const std::int64_t count = TermsAtOnce(body, over); count > 1) {
          const std::string begin = out_.Fresh("k0");
          if (count < over.extent) {
            out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; {0} += {2})", begin, over.extent, count));
            ++loops;
          }
          names[over.id] = count < over.extent ? begin : "0";
          terms.emplace(kernel_, over, count);
          terms->Write(out_, body, names);
          term = out_.Fresh("term");
          out_.Unroll();
          out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", term, count));
          ++loops;
          if (count < over.extent) {
            out_.Line(fmt::format("const int {} = {} + {};", k, begin, term));
            names[over.id] = k;
          } else {
            names[over.id] = term;
          }
          continue;
        }
        out_.Line("#pragma unroll 8");
      }
      names[over.id] = k;
      const std::string begin = shares ? fmt::format("static_cast<int>(threadIdx.x % {})", split_) : "0";
      out_.Open(fmt::format("for (int {0} = {1}; {0} < {2}; {0} += {3})", k, begin, over.extent, shares ? split_ : 1));
      ++loops;
    }
    const std::string within = innermost ? "" : Fold(level + 1, names);
    PackedLoads packs(kernel_, along_, nest_.pack);
    packs.Write(out_, body, names, terms ? &*terms : nullptr, term);
    Neighbours(e);
    std::map<int, std::string> at = names;
    const std::string place = out_.Fresh("place");
    out_.Line(fmt::format("const {} {} = {} + {};", out_.index_type(), place, names.at(along_.id), e));
    at[along_.id] = place;
    const std::string value = ValueText(out_, kernel_, body, at,
                                        {.made = innermost ? "" : fmt::format("{}[{}]", within, e),
                                         .packs = &packs,
                                         .neighbour = e,
                                         .terms = terms ? &*terms : nullptr,
                                         .term = term});
    out_.Line(fmt::format("{0}[{1}] = {2}::Of({0}[{1}], {3}({4}));", into, e, out_.How(fold.reduce), type, value));
    out_.Close();
    for (; loops > 0; --loops) {
      if (loops == 1 && into != made) {
        Neighbours(e);
        out_.Line(fmt::format("{0}[{1}] += {2}[{1}];", made, e, into));
        out_.Close();
      }
      out_.Close();
    }
    return made;
  }

  // An array of what a fold begins with, one a neighbour.
  void Begin(const ExprNode& fold, const std::string& made) {
    const ScalarType type = fold.operands[0]->type;
    const std::string e = out_.Fresh("e");
    out_.Line(fmt::format("{} {}[{}];", out_.Type(type), made, nest_.pack));
    Neighbours(e);
    out_.Line(fmt::format("{}[{}] = {};", made, e, out_.Neutral(fold.reduce, type)));
    out_.Close();
  }

  // A constant that says where a range begins or ends.
  std::string Edge(const std::string& hint, const Expr& edge, const std::map<int, std::string>& names) {
    const std::string text = ValueText(out_, kernel_, edge, names, {}), name = out_.Fresh(hint);
    out_.Line(fmt::format("const int {} = static_cast<int>({});", name, text));
    return name;
  }

  void Neighbours(const std::string& e) {
    out_.Unroll();
    out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", e, nest_.pack));
  }

  // How many terms along the index one load of 16 bytes has, of some operand.
  std::int64_t TermsAtOnce(const Expr& body, const IndexVar& over) const {
    for (std::int64_t count = 16; count > 1; count /= 2) {
      if (over.extent % count != 0) continue;
      bool fits = false;
      Visit(body, [&](const ExprNode& node) {
        if (node.kind != Kind::kLoad || node.operands.size() != 1 || node.may_miss) return;
        const LinearForm form = LinearOf(node.operands[0]);
        const auto bytes =
            static_cast<std::int64_t>(Bytes(kernel_.operand_types[static_cast<std::size_t>(node.buffer)]));
        fits |= form.rest.empty() && form.sum.of(over.id) == 1 && form.sum.of(along_.id) == 0 && bytes * count <= 16;
      });
      if (fits) return count;
    }
    return 1;
  }

  // What the threads of a fold have made, put together.
  void Share(const std::string& made) {
    const ExprNode& fold = *nest_.folds[0];
    const std::string e = out_.Fresh("e"), step = out_.Fresh("step");
    out_.Unroll();
    out_.Open(fmt::format("for (int {0} = {1}; {0} > 0; {0} /= 2)", step, split_ / 2));
    Neighbours(e);
    out_.Line(fmt::format("{0}[{1}] = {2}::Of({0}[{1}], __shfl_xor_sync(~0u, {0}[{1}], {3}));", made, e,
                          out_.How(fold.reduce), step));
    out_.Close();
    out_.Close();
  }

  const Kernel& kernel_;
  DeviceWriter& out_;
  const NestedFolds nest_;
  const std::int64_t split_;
  IndexVar along_;
};

std::optional<std::string> WhyNot(const Kernel& kernel) {
  const auto nest = NestedFoldsOf(kernel);
  if (!nest) return "it is no sum, maximum or minimum, or has several side by side";
  if (nest->pack < 2) return "what is folded does not lie in packs along the innermost index";
  for (const Expr& fold : nest->folds) {
    // Those of a range that data say are summed in parts here.
    const bool in_parts = fold->over.size() == 1 && RangedFoldOf(*fold);
    if (IsLongSum(*fold) && !in_parts)
      return fmt::format("a sum of {} reals would be as far off as they are many: {} at most", PointsOf(fold->over),
                         kLongSum);
  }
  return std::nullopt;
}

std::optional<double> Cost(const Kernel& kernel) {
  const auto nest = NestedFoldsOf(kernel);
  if (!nest || ListsPay(kernel) || !LooksUp(nest->folds.back()->operands[0])) return std::nullopt;
  return 0.5;
}

// Threads that share a fold, where there are few others.
std::vector<Setting> SplitValues(const Kernel& kernel) {
  const auto nest = NestedFoldsOf(kernel);
  const std::int64_t threads = PointsOf(nest->element.indices) / nest->pack, terms = nest->folds[0]->over[0].extent;
  // With more, their rows drive each other out of the first-level cache: 16 tables of 256 rows of 32 halves for 10000
  // x 128 looks at each took 119 us with 80000 threads in blocks of 128 (split 2), 157 in blocks of 512 and 243 with
  // 320000 (split 8), on an H200, 2026-11-23.
  constexpr std::int64_t kOfMultiprocessor = 512;
  std::int64_t split = 1;
  while (split < 32 && split * 4 <= terms && threads * split < kernel.device->multiprocessors * kOfMultiprocessor)
    split *= 2;
  std::vector<Setting> values = {Whole(split)};
  if (split > 1) values.push_back(Whole(split / 2));
  if (split < 32 && split * 2 <= terms) values.push_back(Whole(split * 2));
  return values;
}
std::optional<std::string> CheckSplit(const Kernel&, const Setting& value) {
  const auto* split = std::get_if<std::int64_t>(&value.value);
  if (!split || *split < 1 || *split > 32 || (*split & (*split - 1)) != 0)
    return "it is a power of two up to 32; try 1";
  return std::nullopt;
}

std::vector<Setting> BlockValues(const Kernel&) { return {Whole(128), Whole(256), Whole(512)}; }

constexpr Knob kKnobs[] = {
    {"block", "threads of a block", BlockValues, CheckBlockThreads},
    {"split", "threads that share the outermost fold of a pack", SplitValues, CheckSplit},
};

}  // namespace

HONE_ROW(Way){
    .family = "nest",
    .name = "rows",
    .doc = "for folds of rows that data choose: a thread has a pack of neighbours, and reads rows by packs",
    .why_not = WhyNot,
    .cost = Cost,
    .knobs = kKnobs,
    .emit_cuda = [](const KernelProgram&, const Kernel& kernel, DeviceWriter& out) { RowsWriter(kernel, out).Write(); },
};

}  // namespace hone::dsl::cuda_way_nest_rows
