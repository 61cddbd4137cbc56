#include "dsl/way.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dsl/knobs.h"
#include "dsl/shape/matmul_shape.h"
#include "dsl/shape/updated_rows.h"

namespace hone::dsl {
namespace {

std::optional<std::string> WhyNot(const Way& way, const Kernel& kernel) {
  if (kernel.family->multiplies && !way.wholes && kernel.inputs[0]->type == ScalarType::kInt)
    return "it multiplies reals: write real(x) around whole numbers";
  if (!kernel.family->rotation.empty() && !way.rotates && RotationOf(kernel) > 0)
    return "it has no two columns of a pair at hand: the tiles of bf16, f16 and f32x3 of a CUDA device rotate";
  if (kernel.family->takes_indices && !way.reads_rows && UpdatedRowOf(kernel) > 1)
    return "it may have written what is still to be read of the row that it updates";
  return way.why_not ? way.why_not(kernel) : std::nullopt;
}

const Way* NamedWay(const std::vector<const Way*>& ways, const Setting& choice) {
  const auto* name = std::get_if<std::string>(&choice.value);
  const auto found = std::find_if(ways.begin(), ways.end(), [&](const Way* way) { return name && way->name == *name; });
  return found == ways.end() ? nullptr : *found;
}

// Those that can make the kernel and are worth it, the best first; where none is worth it, the first that can.
std::vector<const Way*> WaysFor(const Kernel& kernel) {
  const auto all = WaysOf(*kernel.family, kernel.device->kind);
  std::vector<std::pair<double, const Way*>> worth;
  for (const Way* way : all) {
    if (const auto cost = CostOf(*way, kernel)) worth.emplace_back(*cost, way);
  }
  std::stable_sort(worth.begin(), worth.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const Way*> ways;
  for (const auto& [cost, way] : worth) ways.push_back(way);
  if (!ways.empty()) return ways;
  const auto any = std::find_if(all.begin(), all.end(), [&](const Way* way) { return !WhyNot(*way, kernel); });
  if (any != all.end()) ways.push_back(*any);
  return ways;
}

std::vector<Setting> ChoiceValues(const Kernel& kernel) {
  std::vector<Setting> values;
  for (const Way* way : WaysFor(kernel)) values.push_back({.value = std::string(way->name), .at = {}});
  return values;
}

std::optional<std::string> CheckChoice(const Kernel& kernel, const Setting& choice) {
  const auto ways = WaysOf(*kernel.family, kernel.device->kind);
  const Way* way = NamedWay(ways, choice);
  std::string why;
  if (way) {
    const auto reason = WhyNot(*way, kernel);
    if (!reason) return std::nullopt;
    why = *reason;
  } else {
    std::vector<std::string_view> names;
    for (const Way* one : ways) names.push_back(one->name);
    why = fmt::format("it is one of {}", fmt::join(names, ", "));
  }
  const auto best = WaysFor(kernel);
  return best.empty() ? why : fmt::format("{}; try {}", why, best[0]->name);
}

}  // namespace

std::vector<const Way*> WaysOf(const Family& family, DeviceKind device) {
  std::vector<const Way*> ways;
  for (const Way* way : device == DeviceKind::kCpu ? AllCpuWays() : AllCudaWays()) {
    if (way->family == family.name) ways.push_back(way);
  }
  return ways;
}

std::optional<double> CostOf(const Way& way, const Kernel& kernel) {
  if (WhyNot(way, kernel)) return std::nullopt;
  return way.cost ? way.cost(kernel) : 1;
}

double LooksOf(const Kernel& kernel) {
  return kernel.way != nullptr && kernel.way->looks != nullptr ? kernel.way->looks(kernel) : SpaceCount(kernel);
}

double SlowerBy(const Setting& choice, const Kernel& kernel) {
  const Way* other = NamedWay(WaysOf(*kernel.family, kernel.device->kind), choice);
  if (other == nullptr || kernel.way == nullptr) return 1;
  const auto now = CostOf(*kernel.way, kernel), then = CostOf(*other, kernel);
  return now && then && *now > 0 ? *then / *now : 1;
}

std::string_view ChoiceOf(const Family& family, DeviceKind device) {
  if (WaysOf(family, device).size() < 2) return {};
  return device == DeviceKind::kCpu ? family.cpu_choice : family.cuda_choice;
}

std::optional<std::string> ChooseWay(Kernel& kernel) {
  const auto ways = WaysOf(*kernel.family, kernel.device->kind);
  const std::string choice(ChoiceOf(*kernel.family, kernel.device->kind));
  if (const auto given = kernel.settings.find(choice); given != kernel.settings.end()) {
    if (auto why = CheckChoice(kernel, given->second))
      return fmt::format("'{}' {}: {}", choice, ToString(given->second), *why);
    kernel.way = NamedWay(ways, given->second);
    return std::nullopt;
  }
  if (ways.empty()) {
    return fmt::format("'{}' has no kernel for {} yet", kernel.family->name,
                       kernel.device->kind == DeviceKind::kCpu ? "processors" : "CUDA devices");
  }
  const auto best = WaysFor(kernel);
  if (best.empty()) {
    std::vector<std::string> reasons;
    for (const Way* way : ways) {
      std::string why = *WhyNot(*way, kernel);
      if (std::find(reasons.begin(), reasons.end(), why) == reasons.end()) reasons.push_back(std::move(why));
    }
    return fmt::format("'{}' has no kernel for this: {}", kernel.family->name, fmt::join(reasons, "; "));
  }
  kernel.way = best[0];
  if (!choice.empty()) kernel.settings[choice] = {.value = std::string(best[0]->name), .at = {}};
  return std::nullopt;
}

void FillSettings(Kernel& kernel) {
  for (const Knob& knob : kernel.way->knobs) {
    const std::string name(knob.name);
    if (knob.saves_energy || kernel.settings.contains(name)) continue;
    const auto values = knob.values(kernel);
    if (!values.empty()) kernel.settings[name] = values[0];
  }
}

std::vector<Knob> KnobsOf(const Kernel& kernel) {
  std::vector<Knob> knobs;
  const std::string_view choice = ChoiceOf(*kernel.family, kernel.device->kind);
  if (!choice.empty()) knobs.push_back({choice, "which kernel computes it", ChoiceValues, CheckChoice});
  knobs.insert(knobs.end(), kernel.way->knobs.begin(), kernel.way->knobs.end());
  return knobs;
}

std::vector<KnobRow> KnobRows(const Family& family, DeviceKind device) {
  const auto ways = WaysOf(family, device);
  std::vector<KnobRow> rows;
  if (const auto choice = ChoiceOf(family, device); !choice.empty()) {
    std::string doc;
    for (const Way* way : ways) doc += fmt::format("{}{}: {}", doc.empty() ? "" : "; ", way->name, way->doc);
    rows.push_back({std::string(choice), std::move(doc)});
  }
  // One that some ways alone have says so.
  std::vector<std::pair<KnobRow, std::vector<std::string_view>>> found;
  for (const Way* way : ways) {
    for (const Knob& knob : way->knobs) {
      auto row = std::find_if(found.begin(), found.end(), [&](const auto& other) {
        return other.first.name == knob.name && other.first.doc == knob.doc;
      });
      if (row == found.end()) row = found.insert(found.end(), {{std::string(knob.name), std::string(knob.doc)}, {}});
      row->second.push_back(way->name);
    }
  }
  for (auto& [row, of] : found) {
    if (of.size() < ways.size()) row.doc = fmt::format("{} ({})", row.doc, fmt::join(of, ", "));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace hone::dsl
