// A warp, or a part of one, has an element: its lanes go along the fold together, pack by pack. For long folds of rows
// that data choose, of which there are too few for a thread each: the scores of what was wanted, a row of x times a row
// that is looked up.
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
  constexpr std::int64_t kPacks = 32, kPacksLookedUp = 8, kFew = 8192;
  const auto dot = OneFold(kernel);
  if (!dot || ListsPay(kernel) || AddsPay(kernel)) return std::nullopt;
  const bool looks_up = LooksUp(dot->fold->operands[0]);
  if (!looks_up && PointsOf(dot->element.indices) > kFew) return std::nullopt;
  const std::int64_t count = TermsInPacks(kernel, *dot->fold);
  if (count < 2 || dot->fold->over.back().extent < (looks_up ? kPacksLookedUp : kPacks) * count) return std::nullopt;
  return 0.4;
}

class DotsWriter {
 public:
  DotsWriter(const Kernel& kernel, DeviceWriter& out) : kernel_(kernel), out_(out), dot_(*OneFold(kernel)) {}

  void Write() {
    const ExprNode& fold = *dot_.fold;
    const Expr& body = fold.operands[0];
    const std::int64_t threads = IntSetting(kernel_, "block"), count = PointsOf(dot_.element.indices);
    lanes_ = IntSetting(kernel_, "lanes");
    const std::int64_t elements = threads / lanes_;  // of a block
    if (count == 0) return;
    out_.BeginKernel("dots", threads);
    const std::string index = out_.index_type(), at = out_.Fresh("at"), lane = out_.Fresh("lane");
    const std::string number =
        fmt::format("static_cast<{}>(blockIdx.x) * {} + static_cast<int>(threadIdx.x / {})", index, elements, lanes_);
    const bool beyond = count % elements != 0;
    std::string stores;
    if (!beyond || lanes_ == 32) {
      out_.Line(fmt::format("const {} {} = {};", index, at, number));
      if (beyond) out_.Line(fmt::format("if ({} >= {}) return;", at, count));
    } else {
      // A warp folds together: behind the last element it makes that again.
      const std::string wanted = out_.Fresh("wanted");
      out_.Line(fmt::format("const {} {} = {};", index, wanted, number));
      out_.Line(fmt::format("const {0} {1} = min({2}, static_cast<{0}>({3}));", index, at, wanted, count - 1));
      stores = fmt::format(" && {} == {}", at, wanted);
    }
    out_.Line(fmt::format("const int {} = threadIdx.x % {};", lane, lanes_));
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
    out_.Line(fmt::format("for (int {0} = {3}; {0} > 0; {0} /= 2) {1} = {2}::Of({1}, __shfl_xor_sync(~0u, {1}, {0}));",
                          step, made, how, lanes_ / 2));
    out_.Open(fmt::format("if ({} == 0{})", lane, stores));
    WriteElement(out_, kernel_, dot_.element, names, {.made = made});
    out_.Close();
    out_.Launch({.grid_x = (count + elements - 1) / elements,
                 .reads = OperandBuffers({&kernel_, 1}),
                 .writes = {kernel_.target}});
  }

 private:
  // The innermost fold: a pack a lane, then their next.
  void Along(const ExprNode& fold, std::map<int, std::string> names, const std::string& lane, const std::string& how,
             const std::string& type, const std::string& made) {
    const Expr& body = fold.operands[0];
    const IndexVar& along = fold.over.back();
    const std::int64_t count = TermsInPacks(kernel_, fold);
    const std::string first = out_.Fresh("first"), e = out_.Fresh("e"), k = out_.Fresh("k");
    out_.Line("#pragma unroll 4");
    out_.Open(fmt::format("for (int {0} = {1} * {2}; {0} < {3}; {0} += {4})", first, lane, count, along.extent,
                          lanes_ * count));
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
  std::int64_t lanes_ = 32;
};

std::vector<Setting> BlockValues(const Kernel&) { return {Whole(128), Whole(256), Whole(512)}; }

// No more than there are packs.
std::vector<Setting> LanesValues(const Kernel& kernel) {
  const auto dot = OneFold(kernel);
  const std::int64_t packs = dot->fold->over.back().extent / TermsInPacks(kernel, *dot->fold);
  std::int64_t lanes = 32;
  while (lanes > 4 && lanes > packs) lanes /= 2;
  std::vector<Setting> values = {Whole(lanes)};
  if (lanes > 4) values.push_back(Whole(lanes / 2));
  return values;
}
std::optional<std::string> CheckLanes(const Kernel&, const Setting& value) {
  const auto* lanes = std::get_if<std::int64_t>(&value.value);
  if (!lanes || (*lanes != 4 && *lanes != 8 && *lanes != 16 && *lanes != 32)) return "it is 4, 8, 16 or 32; try 32";
  return std::nullopt;
}

constexpr Knob kKnobs[] = {{"block", "threads of a block", BlockValues, CheckBlockThreads},
                           {"lanes", "threads that share an element", LanesValues, CheckLanes}};

}  // namespace

HONE_ROW(Way){
    .family = "nest",
    .name = "dots",
    .doc = "for long folds of rows: a warp, or a part of one, has an element, and reads rows by packs",
    .why_not = WhyNot,
    .cost = Cost,
    .knobs = kKnobs,
    .emit_cuda = [](const KernelProgram&, const Kernel& kernel, DeviceWriter& out) { DotsWriter(kernel, out).Write(); },
};

}  // namespace hone::dsl::cuda_way_nest_dots
