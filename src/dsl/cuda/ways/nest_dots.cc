// A warp has an element: its lanes go along the fold together, pack by pack. For long folds of rows that data choose,
// of which there are too few for a thread each: the scores of what was wanted, a row of x times a row that is looked
// up.
#include <fmt/format.h>

#include <map>
#include <optional>

#include "dsl/cuda/knobs.h"
#include "dsl/cuda/nest_element.h"
#include "dsl/knobs.h"
#include "dsl/shape/keyed_nest.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_nest_dots {
namespace {

std::optional<std::string> WhyNot(const Kernel& kernel) {
  const auto dot = OneFold(kernel);
  const ReduceOp op = dot ? dot->fold->reduce : ReduceOp::kAny;
  if (op != ReduceOp::kSum && op != ReduceOp::kMax && op != ReduceOp::kMin)
    return "it is no sum, maximum or minimum, or has several";
  if (dot->fold->operands[0]->type == ScalarType::kBool) return "it folds no numbers";
  if (TermsInPacks(kernel, *dot->fold) < 2) return "what is folded does not lie in packs along the folded index";
  return std::nullopt;
}

// Where a warp has packs enough, and other ways would have to read a number at a time, or leave most of the device
// without work.
std::optional<double> Cost(const Kernel& kernel) {
  constexpr std::int64_t kPacks = 32, kFew = 8192;
  const auto dot = OneFold(kernel);
  if (!dot || ListsPay(kernel)) return std::nullopt;
  if (!LooksUp(dot->fold->operands[0]) && PointsOf(dot->element.indices) > kFew) return std::nullopt;
  const std::int64_t count = TermsInPacks(kernel, *dot->fold);
  if (count < 2 || dot->fold->over.back().extent < kPacks * count) return std::nullopt;
  return 0.4;
}

class DotsWriter {
 public:
  DotsWriter(const Kernel& kernel, DeviceWriter& out) : kernel_(kernel), out_(out), dot_(*OneFold(kernel)) {}

  void Write() {
    const ExprNode& fold = *dot_.fold;
    const Expr& body = fold.operands[0];
    const std::int64_t threads = IntSetting(kernel_, "block"), count = PointsOf(dot_.element.indices);
    if (count == 0) return;
    out_.BeginKernel("dots", threads);
    const std::string index = out_.index_type(), at = out_.Fresh("at"), lane = out_.Fresh("lane");
    out_.Line(fmt::format("const {0} {1} = static_cast<{0}>(blockIdx.x) * {2} + static_cast<int>(threadIdx.x / 32);",
                          index, at, threads / 32));
    if (count % (threads / 32) != 0) out_.Line(fmt::format("if ({} >= {}) return;", at, count));
    out_.Line(fmt::format("const int {} = threadIdx.x % 32;", lane));
    std::map<int, std::string> names;
    NamePlaces(out_, kernel_, dot_.element.indices, at, names);
    const std::string type = out_.Type(body->type), how = out_.How(fold.reduce), made = out_.Fresh("made");
    out_.Line(fmt::format("{} {} = {};", type, made, out_.Neutral(fold.reduce, body->type)));
    std::map<int, std::string> inside = names;
    for (std::size_t d = 0; d + 1 < fold.over.size(); ++d) {
      const std::string k = out_.Fresh("k");
      out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", k, fold.over[d].extent));
      inside[fold.over[d].id] = k;
    }
    Along(fold, inside, lane, how, type, made);
    for (std::size_t d = 0; d + 1 < fold.over.size(); ++d) out_.Close();
    const std::string step = out_.Fresh("step");
    out_.Unroll();
    out_.Line(fmt::format("for (int {0} = 16; {0} > 0; {0} /= 2) {1} = {2}::Of({1}, __shfl_xor_sync(~0u, {1}, {0}));",
                          step, made, how));
    out_.Open(fmt::format("if ({} == 0)", lane));
    WriteElement(out_, kernel_, dot_.element, names, {.made = made});
    out_.Close();
    out_.Launch({.grid_x = (count * 32 + threads - 1) / threads,
                 .reads = OperandBuffers({&kernel_, 1}),
                 .writes = {kernel_.target}});
  }

 private:
  // The innermost fold: a pack a lane, then the warp's next.
  void Along(const ExprNode& fold, std::map<int, std::string> names, const std::string& lane, const std::string& how,
             const std::string& type, const std::string& made) {
    const Expr& body = fold.operands[0];
    const IndexVar& along = fold.over.back();
    const std::int64_t count = TermsInPacks(kernel_, fold);
    const std::string first = out_.Fresh("first"), e = out_.Fresh("e"), k = out_.Fresh("k");
    out_.Line("#pragma unroll 4");
    out_.Open(
        fmt::format("for (int {0} = {1} * {2}; {0} < {3}; {0} += {4})", first, lane, count, along.extent, 32 * count));
    names[along.id] = first;
    PackedLoads packs(kernel_, along, count);
    packs.Write(out_, body, names);
    out_.Unroll();
    out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", e, count));
    out_.Line(fmt::format("const int {} = {} + {};", k, first, e));
    names[along.id] = k;
    const std::string value = ValueText(out_, kernel_, body, names, {.packs = &packs, .neighbour = e});
    out_.Line(fmt::format("{0} = {1}::Of({0}, {2}({3}));", made, how, type, value));
    out_.Close();
    out_.Close();
  }

  const Kernel& kernel_;
  DeviceWriter& out_;
  const FoldedElement dot_;
};

std::vector<Setting> BlockValues(const Kernel&) { return {Whole(128), Whole(256), Whole(512)}; }

constexpr Knob kKnobs[] = {{"block", "threads of a block", BlockValues, CheckBlockThreads}};

}  // namespace

HONE_ROW(Way){
    .family = "nest",
    .name = "dots",
    .doc = "for long folds of rows: a warp has an element, and reads rows by packs",
    .why_not = WhyNot,
    .cost = Cost,
    .knobs = kKnobs,
    .emit_cuda = [](const KernelProgram&, const Kernel& kernel, DeviceWriter& out) { DotsWriter(kernel, out).Write(); },
};

}  // namespace hone::dsl::cuda_way_nest_dots
