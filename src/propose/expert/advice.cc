#include "propose/expert/advice.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "dsl/kernel.h"

namespace hone::expert {
namespace {

// How far the alternative is from what it is now, where the move asks for it: 0 where it asks for any.
std::optional<double> Suits(const Move& move, const Alternative& alternative) {
  if (move.knob == "way" ? !alternative.chooses && alternative.knob != "way" : move.knob != alternative.knob)
    return std::nullopt;
  if (move.value.empty()) return 0;
  if (move.value != "more" && move.value != "less")
    return dsl::ToString(alternative.after) == move.value ? std::optional<double>(0) : std::nullopt;
  const auto before = alternative.before ? SizeOf(*alternative.before) : std::nullopt;
  const auto after = SizeOf(alternative.after);
  if (!before || !after || *after == *before || (*after > *before) != (move.value == "more")) return std::nullopt;
  return std::abs(std::log((1 + *after) / (1 + *before)));
}

struct Suited {
  std::size_t index = 0;
  double far = 0;
};

}  // namespace

double AsLikely(double promise, const Alternative& alternative) {
  const double slower = std::max(1.0, alternative.slower);
  return promise / (slower * slower);
}

std::optional<double> SizeOf(const dsl::Setting& setting) {
  if (const auto* whole = std::get_if<std::int64_t>(&setting.value)) return static_cast<double>(*whole);
  const auto* tuple = std::get_if<std::vector<std::int64_t>>(&setting.value);
  if (tuple == nullptr) return std::nullopt;
  double size = 1;
  for (const std::int64_t one : *tuple) size *= static_cast<double>(one);
  return size;
}

std::optional<std::size_t> StatementOf(std::string_view subject, const std::vector<std::string_view>& targets) {
  std::optional<std::size_t> best;
  // "relu", "t_relu_products", "_ZN12_GLOBAL__N_113Matmul_t_reluEPKf._omp_fn.0"
  const std::size_t mark = subject.starts_with("t_") ? 0 : subject.find("_t_");
  const std::string_view rest =
      mark == std::string_view::npos ? std::string_view() : subject.substr(mark + (mark == 0 ? 2 : 3));
  for (std::size_t k = 0; k < targets.size(); ++k) {
    if (targets[k] == subject) return k;
    if (!rest.starts_with(targets[k])) continue;
    const char next = rest.size() > targets[k].size() ? rest[targets[k].size()] : '.';
    const bool ends = next == '_' || std::isupper(static_cast<unsigned char>(next)) != 0 || next == '.';
    if (ends && (!best || targets[k].size() > targets[*best].size())) best = k;
  }
  return best;
}

std::vector<Promise> PromisesOf(const std::vector<Finding>& findings, const std::vector<Alternative>& alternatives,
                                const Parts& parts, const Learned& learned) {
  std::vector<Promise> promises(alternatives.size());
  std::vector<double> worth(alternatives.size(), 0);
  for (const Finding& finding : findings) {
    const auto of = StatementOf(finding.subject, parts.targets);
    for (std::size_t k = 0; k < parts.targets.size(); ++k) {
      if (of && *of != k) continue;
      // What comes later, of moves and of a move's values, is promised less, as it is likelier to have been tried.
      std::size_t place = 0;
      for (const Move& move : finding.moves) {
        std::vector<Suited> suited;
        for (std::size_t i = 0; i < alternatives.size(); ++i) {
          if (alternatives[i].statement != k) continue;
          if (const auto far = Suits(move, alternatives[i])) suited.push_back({i, *far});
        }
        if (suited.empty()) continue;
        ++place;
        std::stable_sort(suited.begin(), suited.end(), [](const Suited& a, const Suited& b) { return a.far < b.far; });
        for (std::size_t n = 0; n < suited.size(); ++n) {
          const double most = finding.lost * move.part * finding.confidence * parts.shares[k];
          const double share =
              AsLikely(most, alternatives[suited[n].index]) / static_cast<double>(place) / static_cast<double>(1 + n);
          const double now = share * FactorOf(learned, finding.rule);
          if (now <= worth[suited[n].index]) continue;
          worth[suited[n].index] = now;
          promises[suited[n].index] = {finding.rule, share};
        }
      }
    }
  }
  return promises;
}

}  // namespace hone::expert
