// Five or six kernels: what is in a list is counted, lists get their places in memory (in whichever order they come to
// it), terms go to their places, lists are put into order, and each element folds its own.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "dsl/cuda/knobs.h"
#include "dsl/cuda/nest_element.h"
#include "dsl/knobs.h"
#include "dsl/shape/keyed_nest.h"
#include "dsl/way.h"

namespace hone {
extern const std::string_view kListsText;  // dsl/cuda/lists.cuh
}

namespace hone::dsl::cuda_way_nest_lists {
namespace {

using Kind = Expr::Kind;

constexpr std::int64_t kMost = std::int64_t{1} << 30;  // lists, terms: they are counted in ints

std::int64_t ListsOf(const KeyedFold& fold) { return PointsOf(fold.others) * fold.index.extent; }
std::int64_t TermsOf(const KeyedFold& fold) { return PointsOf(fold.others) * PointsOf(fold.over); }

class ListsWriter {
 public:
  ListsWriter(const Kernel& kernel, DeviceWriter& out)
      : kernel_(kernel), out_(out), nest_(*KeyedNestOf(kernel)), fold_(nest_.fold) {}

  void Write() {
    if (ElementCount(kernel_.result) == 0) return;
    threads_ = IntSetting(kernel_, "block");
    const std::int64_t lists = ListsOf(fold_), terms = TermsOf(fold_);
    out_.Define(std::string(kListsText));
    counts_ = out_.Scratch("counts", DType::kI32, lists + 1);  // and how much of `listed` is given away
    begins_ = out_.Scratch("begins", DType::kI32, lists);
    places_ = out_.Scratch("places", DType::kI32, terms);
    listed_ = out_.Scratch("listed", DType::kI32, terms);
    Clear(lists + 1);
    if (terms > 0)
      Terms("counted",
            [&](const std::string& at, const std::string& list) {
              out_.Line(fmt::format("{}[{}] = atomicAdd(&{}[{}], 1);", places_, at, counts_, list));
            },
            {.scratch_writes = {counts_, places_}});
    Begin(lists);
    if (terms > 0)
      Terms("listed",
            [&](const std::string& at, const std::string& list) {
              out_.Line(fmt::format("{0}[{1}[{2}] + {3}[{4}]] = static_cast<int>({4} % {5});", listed_, begins_, list,
                                    places_, at, PointsOf(fold_.over)));
            },
            {.scratch_reads = {begins_, places_}, .scratch_writes = {listed_}});
    if (WordSetting(kernel_, "order") == "kept") Sort(lists);
    Elements();
  }

 private:
  void Launch(std::int64_t count, DeviceWriter::LaunchShape launch) {
    launch.grid_x = (count + threads_ - 1) / threads_;
    out_.Launch(launch);
  }

  void Clear(std::int64_t count) {
    out_.BeginKernel("clear", threads_);
    const std::string at = out_.OpenThreads("at", count);
    out_.Line(fmt::format("{}[{}] = 0;", counts_, at));
    Launch(count, {.scratch_writes = {counts_}});
  }

  // For each term: `write` writes a line of its number and its list.
  template <class Write>
  void Terms(const std::string& name, const Write& write, DeviceWriter::LaunchShape launch) {
    out_.BeginKernel(name, threads_);
    const std::string at = out_.OpenThreads("at", TermsOf(fold_));
    std::vector<IndexVar> indices = fold_.others;
    indices.insert(indices.end(), fold_.over.begin(), fold_.over.end());
    std::map<int, std::string> names;
    NamePlaces(out_, kernel_, indices, at, names);
    out_.Line(fmt::format("const long key = {};", ValueText(out_, kernel_, fold_.key, names)));
    out_.Line(fmt::format("if (key < 0 || key >= {}) return;", fold_.index.extent));
    write(at, ListText(names, "static_cast<int>(key)"));
    launch.reads = BuffersOf(kernel_, fold_.key);
    Launch(TermsOf(fold_), launch);
  }

  std::string ListText(const std::map<int, std::string>& names, const std::string& key) const {
    std::string list;
    for (const auto& other : fold_.others)
      list = list.empty() ? names.at(other.id) : fmt::format("({} * {} + {})", list, other.extent, names.at(other.id));
    return list.empty() ? key : fmt::format("{} * {} + {}", list, fold_.index.extent, key);
  }

  void Begin(std::int64_t lists) {
    out_.BeginKernel("begin", threads_);
    out_.Line(fmt::format("BeginLists<{}>({}, {}, {});", threads_, counts_, begins_, lists));
    Launch(lists, {.scratch_reads = {}, .scratch_writes = {counts_, begins_}});
  }

  // A warp a list.
  void Sort(std::int64_t lists) {
    out_.BeginKernel("sort", threads_);
    out_.Line(fmt::format("SortLists({}, {}, {}, {}, {});", counts_, begins_, listed_, places_, lists));
    Launch(lists * 32, {.scratch_reads = {counts_, begins_}, .scratch_writes = {listed_, places_}});
  }

  void Elements() {
    std::vector<IndexVar> indices = nest_.element.indices;
    // What picks the list is one for all neighbours, or they would not be a thread's.
    const bool own_lists = indices.empty() || indices.back().id == fold_.index.id ||
                           std::any_of(fold_.others.begin(), fold_.others.end(),
                                       [&](const IndexVar& other) { return other.id == indices.back().id; });
    const std::int64_t pack = own_lists ? 1 : NeighboursOf(kernel_, nest_.element, fold_.term);
    if (pack > 1) indices.back().extent /= pack;
    const std::int64_t count = PointsOf(indices);
    out_.BeginKernel("elements", threads_);
    const std::string at = out_.OpenThreads("at", count);
    std::map<int, std::string> names;
    NamePlaces(out_, kernel_, indices, at, names);
    const ScalarType type = fold_.term->type;
    const std::string list = out_.Fresh("list"), begin = out_.Fresh("begin"), end = out_.Fresh("end"),
                      made = out_.Fresh("made"), term = out_.Fresh("term"), next = out_.Fresh("next"),
                      e = out_.Fresh("e");
    out_.Line(fmt::format("const int {} = {};", list, ListText(names, names.at(fold_.index.id))));
    out_.Line(fmt::format("const int {0} = {1}[{2}], {3} = {0} + {4}[{2}];", begin, begins_, list, end, counts_));
    // What stands for terms of others counts where there are such.
    const std::string neutral = out_.Neutral(fold_.op, type), how = out_.How(fold_.op);
    const std::string stands = ValueText(out_, kernel_, fold_.neutral, {});
    out_.Line(fmt::format("{} {}[{}];", out_.Type(type), made, pack));
    out_.Unroll();
    out_.Line(
        fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {2}[{0}] = {3};", e, pack, made,
                    fold_.op == ReduceOp::kSum || fold_.op == ReduceOp::kAny
                        ? neutral
                        : fmt::format("{} - {} == {} ? {} : {}", end, begin, PointsOf(fold_.over), neutral, stands)));
    out_.Open(fmt::format("for (int {0} = {1}; {0} < {2}; ++{0})", next, begin, end));
    out_.Line(fmt::format("const int {} = {}[{}];", term, listed_, next));
    std::map<int, std::string> inside = names;
    NamePlaces(out_, kernel_, fold_.over, term, inside);
    if (pack > 1) {
      const std::string first = out_.Fresh("first");
      out_.Line(fmt::format("const {} {} = {} * {};", out_.index_type(), first, names.at(indices.back().id), pack));
      inside[indices.back().id] = first;
    }
    PackedLoads packs(kernel_, nest_.element.indices.empty() ? IndexVar{} : nest_.element.indices.back(), pack);
    if (pack > 1) {
      packs.Write(out_, fold_.term, inside);
      out_.Unroll();
      out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", e, pack));
      const std::string place = out_.Fresh("place");
      out_.Line(fmt::format("const {} {} = {} + {};", out_.index_type(), place, inside.at(indices.back().id), e));
      inside[indices.back().id] = place;
    }
    const std::string value = ValueText(out_, kernel_, fold_.term, inside, {.packs = &packs, .neighbour = e});
    out_.Line(
        fmt::format("{0}[{3}] = {1}::Of({0}[{3}], {2}({4}));", made, how, out_.Type(type), pack > 1 ? e : "0", value));
    if (pack > 1) out_.Close();
    out_.Close();
    if (pack > 1)
      WriteNeighbours(out_, kernel_, nest_.element, names, pack, made);
    else
      WriteElement(out_, kernel_, nest_.element, names, {.made = made + "[0]"});
    Launch(count, {.reads = OperandBuffers({&kernel_, 1}),
                   .writes = {kernel_.target},
                   .scratch_reads = {counts_, begins_, listed_}});
  }

  const Kernel& kernel_;
  DeviceWriter& out_;
  const KeyedNest nest_;
  const KeyedFold& fold_;
  std::int64_t threads_ = 256;
  std::string counts_, begins_, places_, listed_;
};

std::optional<std::string> WhyNot(const Kernel& kernel) {
  const auto nest = KeyedNestOf(kernel);
  if (!nest) return "it has no fold, or more than one, of terms that are taken where a key out of data is an index";
  if (ListsOf(nest->fold) >= kMost || TermsOf(nest->fold) >= kMost) return "there are too many terms to be listed";
  return std::nullopt;
}

constexpr Knob kKnobs[] = {
    kBlockThreadsKnob,
    {"order", "of an element's terms: kept, as they are written, the same each time; any, as they come",
     [](const Kernel&) { return std::vector{Word("kept"), Word("any")}; },
     [](const Kernel&, const Setting& value) { return CheckWord(value, {"kept", "any"}); }},
};

}  // namespace

HONE_ROW(Way){
    .family = "nest",
    .name = "lists",
    .doc = "for terms that go where a key says (scatters): each element folds the list of its own",
    .why_not = WhyNot,
    .cost = [](const Kernel& kernel) { return ListsPay(kernel) ? std::optional<double>(1) : std::nullopt; },
    .looks = LooksByKeys,
    .knobs = kKnobs,
    .emit_cuda = [](const KernelProgram&, const Kernel& kernel,
                    DeviceWriter& out) { ListsWriter(kernel, out).Write(); },
};

}  // namespace hone::dsl::cuda_way_nest_lists
