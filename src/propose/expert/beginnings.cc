#include "propose/expert/beginnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <variant>

#include "analysis/zero_terms.h"
#include "dsl/cuda/attention_held.h"
#include "dsl/family.h"
#include "dsl/shape/matmul_shape.h"
#include "dsl/way.h"
#include "graph/trimmed.h"
#include "propose/expert/cost.h"
#include "propose/expert/first_groups.h"
#include "propose/expert/pieces.h"
#include "propose/expert/same_pieces.h"
#include "propose/expert/turned_norms.h"
#include "propose/expert/turned_streams.h"
#include "propose/expert/writer.h"

namespace hone::expert {
namespace {

// The ways to cut a graph, most fused first.
struct Cut {
  Fusion fusion;
  std::string_view words;
};
constexpr Cut kCuts[] = {
    {{.last = true}, "everything fused, images with their channels last"},
    {{}, "everything fused"},
    {{.rounded = true}, "everything fused, operands of products rounded first"},
    {{.weights = true}, "everything fused, numbers of few bits as they lie"},
    {{.parts = true}, "everything fused, rows of attention in parts"},
    {{.products = false}, "products apart"},
    {{.attention = false}, "attention in three kernels"},
    {{.norms = false, .attention = false, .products = false}, "statistics apart from what reads them"},
    {{.epilogues = false, .attention = false, .products = false}, "epilogues apart"},
    {{.maps = false, .epilogues = false, .norms = false, .attention = false, .products = false}, "one kernel a step"},
};

class Beginner {
 public:
  // `of_what`: said of all that it makes.
  Beginner(const Graph& graph, const DeviceModel& machine, std::string_view of_what = {})
      : graph_(graph), machine_(machine), of_what_(of_what), memory_(graph) {}

  std::vector<Beginning> Make(std::vector<std::string>* missing) {
    const auto pieces = PiecesOf(memory_);
    const std::vector<Piece> whole = Fuse(memory_, pieces, {});
    std::vector<std::vector<Piece>> known;  // of the cuts so far
    for (const Cut& cut : kCuts) {
      if (cut.fusion.weights && !HasWeights()) continue;
      if (cut.fusion.last && machine_.kind != DeviceKind::kCuda) continue;
      auto fused = cut.fusion == Fusion{} ? whole : Fuse(memory_, pieces, cut.fusion);
      if (cut.fusion.last && SamePieces(whole, fused)) continue;
      if (std::ranges::any_of(known, [&](const auto& other) { return SamePieces(other, fused); })) continue;
      Write(fused, cut);
      known.push_back(std::move(fused));
    }
    if (missing) std::ranges::move(missing_, std::back_inserter(*missing));
    return std::move(beginnings_);
  }

 private:
  // Whether products with numbers of few bits may be a kernel: on a processor those of reals of 8 bits, whose blocks
  // have scales; its nests would be none.
  bool HasWeights() const {
    const bool device = machine_.kind == DeviceKind::kCuda;
    return std::ranges::any_of(graph_.buffers(), [&](const auto& buffer) {
      return device ? IsStoredInFewBits(buffer.dtype) : IsFloat(buffer.dtype) && Bytes(buffer.dtype) == 1;
    });
  }

  // Numbers of few bits go into a product where its kernel reads them as they lie: another would make each again for
  // each row.
  static bool ReadsAsTheyLie(const dsl::KernelProgram& program) {
    return std::ranges::any_of(program.kernels, [](const dsl::Kernel& kernel) {
      if (kernel.way->name == "weights") return true;
      if (kernel.family->name == "attention") {
        return std::ranges::any_of(dsl::OperandsOf({kernel.inputs[1], kernel.inputs[2]}), [&](int o) {
          return dsl::IsHeldInEightBits(kernel.operand_types[static_cast<std::size_t>(o)]);
        });
      }
      const int a = kernel.family->multiplies ? dsl::OperandOf(kernel.inputs[0]) : -1;
      return a >= 0 && Bytes(kernel.operand_types[static_cast<std::size_t>(a)]) == 1;
    });
  }

  void Write(const std::vector<Piece>& fused, const Cut& how) {
    const std::string cut = fmt::format("{}{}", how.words, of_what_);
    const bool device = machine_.kind == DeviceKind::kCuda;
    // First in TF32, where the contract allows it: it is faster, and of the largest problems only one is tried.
    std::string unwritten;
    auto program = WriteProgram(memory_, fused, machine_, device ? Products::kTf32 : Products::kF32, &unwritten);
    if (!program) return missing_.push_back(fmt::format("{}: no statement makes '{}'", cut, unwritten));
    const auto products = ProductsInTf32(*program);
    auto one = Checked(std::move(*program), fmt::format("{}{}", cut, products.empty() ? "" : ", products in TF32"));
    if (how.fusion.weights && (!one || !ReadsAsTheyLie(one->kernels))) return;
    auto in_f32 = one && !products.empty() ? InF32(*one, products, cut) : std::nullopt;
    if (one) AddInGroups(*one);
    if (one && how.fusion.last) {
      auto together = WithNeighbours(*one);
      Add(together ? std::move(together) : std::move(one));
    } else if (one && device) {
      AddWithNeighbours(std::move(*one));
    } else {
      Add(std::move(one));
    }
    if (!products.empty() && !in_f32) {
      auto other = WriteProgram(memory_, fused, machine_, Products::kF32);
      if (other) in_f32 = Checked(std::move(*other), cut);
    }
    Add(std::move(in_f32));
  }

  // What comes first of products found in groups of their columns, by the two that take the least time, if that is less
  // than without. Kernels more take their starts; a group takes its tile's end, while nothing is multiplied: 1000 x a
  // million products of 128 take 749 us in groups of 32, 458 in groups of 64 (docs/measured/cuda_workloads.md).
  void AddInGroups(const Beginning& one) {
    constexpr double kStartUs = 3, kGroupUs = 1.86e-5;
    constexpr std::size_t kMost = 2;
    const auto time = [&](const dsl::KernelProgram& kernels) {
      return Predict(kernels, machine_) + kStartUs * static_cast<double>(kernels.kernels.size());
    };
    std::vector<std::pair<double, Beginning>> faster;
    const double without_us = time(one.kernels);
    for (const std::int64_t group : kGroupsOfColumns) {
      auto program = WithFirstGroups(one.program, one.kernels, group);
      auto made =
          program ? Checked(std::move(*program), fmt::format("{}, the first found in groups of {}", one.words, group))
                  : std::nullopt;
      if (!made) continue;
      const auto groups = static_cast<double>(GroupsIn(made->kernels));
      const double time_us = time(made->kernels) + (machine_.kind == DeviceKind::kCuda ? kGroupUs * groups : 0);
      if (time_us < without_us) faster.emplace_back(time_us, std::move(*made));
    }
    std::ranges::stable_sort(faster, {}, &std::pair<double, Beginning>::first);
    if (faster.size() > kMost) faster.resize(kMost);
    for (auto& [_, made] : faster) Add(std::move(made));
  }

  // Of how many groups of columns its products keep one element each.
  static std::int64_t GroupsIn(const dsl::KernelProgram& kernels) {
    std::int64_t groups = 0;
    for (const dsl::Kernel& kernel : kernels.kernels) {
      const auto group = kernel.attributes.find("group");
      if (group != kernel.attributes.end() && group->second[0] > 0) groups += ElementCount(kernel.result);
    }
    return groups;
  }

  // The statements that are products in TF32.
  static std::vector<std::size_t> ProductsInTf32(const dsl::Program& program) {
    std::vector<std::size_t> products;
    for (std::size_t k = 0; k < program.statements.size(); ++k) {
      const auto& settings = program.statements[k].settings;
      const auto precision = settings.find("precision");
      if (precision != settings.end() && dsl::ToString(precision->second) == kInTf32) products.push_back(k);
    }
    return products;
  }

  // With these products as accurate as f32: what would be written so, if the checker takes it.
  std::optional<Beginning> InF32(const Beginning& one, std::span<const std::size_t> products,
                                 std::string_view words) const {
    dsl::Program program = one.program;
    for (const std::size_t k : products) program.statements[k].settings.erase("precision");
    return CheckedAgain(std::move(program), products, one.kernels, words);
  }

  // On a device.
  void AddWithNeighbours(Beginning one) {
    auto together = WithNeighbours(one);
    // First, as nothing is turned between them: a residual block takes 211 us so, 249 with channels first and 301 with
    // norms that do not know (docs/measured/cuda_workloads.md).
    auto turned = together ? WithTurnedNorms(together->program, together->kernels, machine_) : std::nullopt;
    if (turned) Add(Checked(std::move(*turned), together->words + ", norms too"));
    // Sums of images that products end with, where that moves fewer bytes.
    const Beginning& images = together ? *together : one;
    auto streams = WithTurnedStreams(images.program, images.kernels);
    auto ended = streams ? Checked(std::move(*streams), images.words + ", sums as products lie") : std::nullopt;
    if (ended && Predict(ended->kernels, machine_) < Predict(one.kernels, machine_)) Add(std::move(ended));
    Add(std::move(one));
    Add(std::move(together));
  }

  // What pays where the neighbours have it too (Knob::with_neighbours), at all statements that can have it; its words
  // behind the others. Nothing if there is none.
  std::optional<Beginning> WithNeighbours(const Beginning& one) const {
    dsl::Program program = one.program;
    std::set<std::string> words;
    std::vector<std::size_t> changed;
    for (std::size_t k = 0; k < one.kernels.kernels.size(); ++k) {
      const dsl::Kernel& kernel = one.kernels.kernels[k];
      for (const dsl::Knob& knob : dsl::KnobsOf(kernel)) {
        if (!knob.with_neighbours) continue;
        const auto values = knob.values(kernel);
        if (values.size() < 2) continue;
        std::string word = dsl::ToString(values[1]);
        std::replace(word.begin(), word.end(), '_', ' ');
        words.insert(std::move(word));
        program.statements[k].settings[std::string(knob.name)] = values[1];
        if (changed.empty() || changed.back() != k) changed.push_back(k);
      }
    }
    if (words.empty()) return std::nullopt;
    GoOverChannels(one.kernels, &program, &changed);
    return CheckedAgain(std::move(program), changed, one.kernels,
                        fmt::format("{}, {}", one.words, fmt::join(words, ", ")));
  }

  // Depthwise convolutions of what others, which were changed, leave channels last: a kernel for planes would read
  // each element from another line.
  static void GoOverChannels(const dsl::KernelProgram& before, dsl::Program* program,
                             std::vector<std::size_t>* changed) {
    const auto lies_last = [&](const dsl::TermPtr& x) {
      return std::ranges::any_of(*changed, [&](std::size_t k) {
        const dsl::Statement& maker = program->statements[k];
        return maker.family == "conv" && x->kind == dsl::Term::Kind::kName && x->name == maker.target;
      });
    };
    std::vector<std::size_t> all = *changed;
    for (std::size_t k = 0; k < before.kernels.size(); ++k) {
      const dsl::Kernel& kernel = before.kernels[k];
      dsl::Statement& statement = program->statements[k];
      if (kernel.family->name != "conv" || kernel.way->name != "own" || !lies_last(statement.operands[0])) continue;
      const auto settings = statement.settings;
      statement.settings["path"] = {"channels"};
      std::vector<std::size_t> with = all;
      with.insert(std::ranges::lower_bound(with, k), k);
      if (std::holds_alternative<dsl::KernelProgram>(dsl::CheckSettings(*program, with, before))) {
        all = std::move(with);
      } else {
        statement.settings = settings;
      }
    }
    *changed = std::move(all);
  }

  // Nothing if the checker refuses it.
  std::optional<Beginning> Checked(dsl::Program program, std::string_view words) {
    auto checked = dsl::Check(program, &graph_.problem(), machine_);
    if (const auto* complaint = std::get_if<dsl::Complaint>(&checked))
      missing_.push_back(fmt::format("{}: {}", words, complaint->message));
    return Taken(std::move(program), std::move(checked), words);
  }
  // Likewise of one that has other settings in these statements than what was checked.
  static std::optional<Beginning> CheckedAgain(dsl::Program program, std::span<const std::size_t> changed,
                                               const dsl::KernelProgram& before, std::string_view words) {
    auto checked = dsl::CheckSettings(program, changed, before);
    return Taken(std::move(program), std::move(checked), words);
  }
  static std::optional<Beginning> Taken(dsl::Program program, std::variant<dsl::KernelProgram, dsl::Complaint> checked,
                                        std::string_view words) {
    auto* kernels = std::get_if<dsl::KernelProgram>(&checked);
    if (kernels == nullptr) return std::nullopt;
    return Beginning{std::move(program), std::move(*kernels), std::string(words)};
  }

  void Add(std::optional<Beginning> one) {
    if (one) beginnings_.push_back(std::move(*one));
  }

  const Graph& graph_;
  const DeviceModel& machine_;
  const std::string_view of_what_;
  const Memory memory_;
  std::vector<Beginning> beginnings_;
  std::vector<std::string> missing_;
};

}  // namespace

std::vector<Beginning> BeginningsIn(const Graph& graph, const DeviceModel& machine, std::vector<std::string>* missing) {
  auto beginnings = Beginner(graph, machine).Make(missing);
  const auto without = WithoutZeroTerms(graph);
  const auto trimmed = Trimmed(without ? *without : graph);
  if (!trimmed && !without) return beginnings;
  const std::string_view words = trimmed ? ", of what is read alone" : ", without terms that are zero";
  auto more = Beginner(trimmed ? *trimmed : *without, machine, words).Make(missing);
  std::ranges::move(more, std::back_inserter(beginnings));
  return beginnings;
}

}  // namespace hone::expert
