#include "judge/rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "judge/samples.h"

namespace hone {
namespace {

// A turn's median this much above the lower quartile of the quiet turns' was disturbed, whatever the machine says: it
// is what a headline may be off by. The quartile, since one turn may be lucky.
constexpr double kFarSlower = 1.3;
constexpr std::size_t kLeastCalm = 3;  // rounds, or all if there were fewer
// Half of the calls take this much longer than a tenth of them, or of the turns than the fastest: two machines were
// measured, not one.
constexpr double kFarApart = 2;
constexpr int kSamplesForSpread = 5;
// Another minute may have other clocks: a laptop's are a third lower once it is warm.
constexpr double kFarFromEarlier = 1.5;

std::string Microseconds(double us) { return fmt::format("{:.4g} us", us); }

std::optional<Interval> Divide(const Samples& over, const Samples& by) {
  if (!over.interval || !by.interval || by.interval->low <= 0) return std::nullopt;
  return Interval{over.interval->low / by.interval->high, over.interval->high / by.interval->low};
}

// A ratio is stated beside both medians, and must be what they say.
std::string Contradiction(double of_rounds, double of_calls) {
  if (of_rounds <= kFarSlower * of_calls && of_calls <= kFarSlower * of_rounds) return "";
  return fmt::format("round by round the ratio is {:.4g}, and {:.4g} of the medians of all calls", of_rounds, of_calls);
}

}  // namespace

void Turns::Add(int round, Turn times, bool quiet) { turns_.push_back({round, quiet, std::move(times)}); }

void Turns::DisturbSince(int round) {
  for (One& one : turns_) one.quiet &= one.round < round;
}

std::vector<Turns::Figure> Turns::Figures(bool dispatched) const {
  const auto calm = Calm();
  std::vector<Figure> figures;
  for (std::size_t i = 0; i < turns_.size(); ++i) {
    const Turn& times = turns_[i].times;
    const bool apart = dispatched && !times.dispatched_us.empty();
    figures.push_back({turns_[i].round, Median(apart ? times.dispatched_us : times.warm_us), calm[i]});
  }
  return figures;
}

std::vector<bool> Turns::Calm() const {
  std::vector<double> medians, quiet;
  for (const One& one : turns_) {
    medians.push_back(Median(one.times.warm_us));
    if (one.quiet) quiet.push_back(medians.back());
  }
  std::sort(quiet.begin(), quiet.end());
  double usual = quiet.empty() ? 0 : quiet[(quiet.size() - 1) / 4];
  // What stalls in most turns is not slow: nothing makes a turn faster than it is, so the fastest is the undisturbed.
  if (!quiet.empty() && usual > kFarApart * quiet.front()) usual = quiet.front();
  const double most = kFarSlower * usual;
  std::vector<bool> calm;
  for (std::size_t i = 0; i < turns_.size(); ++i) calm.push_back(turns_[i].quiet && medians[i] <= most);
  return calm;
}

std::size_t Turns::taken() const {
  std::size_t calls = 0;
  for (const One& one : turns_) calls += one.times.warm_us.size();
  return calls;
}

int Turns::calm() const {
  const auto calm = Calm();
  return static_cast<int>(std::count(calm.begin(), calm.end(), true));
}

bool Turns::CalmEnough() const { return static_cast<std::size_t>(calm()) >= std::min(kLeastCalm, turns_.size()); }

std::vector<double> Turns::Pooled(std::vector<double> Turn::* which) const {
  const auto calm = Calm();
  bool some = false;
  for (std::size_t i = 0; i < turns_.size(); ++i) some |= calm[i] && !(turns_[i].times.*which).empty();
  std::vector<double> pool;
  for (std::size_t i = 0; i < turns_.size(); ++i) {
    const auto& one = turns_[i].times.*which;
    if (calm[i] || !some) pool.insert(pool.end(), one.begin(), one.end());
  }
  return pool;
}

Samples Turns::Summarized(std::vector<double> Turn::* which) const { return Summarize(Pooled(which)); }

std::string Turns::Disturbance(double earlier_us) const {
  if (turns_.empty()) return "";
  if (!CalmEnough()) {
    const auto busy = std::count_if(turns_.begin(), turns_.end(), [](const One& one) { return !one.quiet; });
    if (busy > 0) return fmt::format("the machine was not quiet in {} of {} rounds", busy, turns_.size());
    const auto figures = Figures();
    const auto [least, most] =
        std::minmax_element(figures.begin(), figures.end(), [](const auto& a, const auto& b) { return a.us < b.us; });
    return fmt::format("its rounds took {} to {}", Microseconds(least->us), Microseconds(most->us));
  }
  const Samples warm = Warm();
  if (warm.count >= kSamplesForSpread && warm.median_us > kFarApart * warm.p10_us) {
    return fmt::format("half of its calls took more than {}, a tenth less than {}", Microseconds(warm.median_us),
                       Microseconds(warm.p10_us));
  }
  if (earlier_us > 0 && warm.median_us > kFarFromEarlier * earlier_us)
    return fmt::format("it took {}, and {} earlier", Microseconds(warm.median_us), Microseconds(earlier_us));
  return "";
}

Comparison Compare(const std::string& name, const Turns& baseline, const Turns& candidate, Dispatch dispatch,
                   double earlier_us) {
  const bool counted = dispatch == Dispatch::kCounted;
  Comparison comparison{.baseline = name, .baseline_warm = baseline.Warm()};
  if (const Samples cold = baseline.Cold(); cold.count > 0) comparison.baseline_cold = cold;
  if (const Samples as_is = baseline.Dispatched(); as_is.count > 0) {
    comparison.baseline_hidden = comparison.baseline_warm;
    comparison.baseline_dispatched = as_is;
    if (counted) comparison.baseline_warm = as_is;
  }
  std::map<int, Turns::Figure> ours;
  for (const Turns::Figure& one : candidate.Figures()) ours[one.round] = one;
  std::vector<double> ratios;
  std::size_t common = 0;
  for (const Turns::Figure& one : baseline.Figures(counted)) {
    const auto beside = ours.find(one.round);
    if (beside == ours.end()) continue;
    ++common;
    if (one.calm && beside->second.calm) ratios.push_back(one.us / beside->second.us);
  }
  comparison.rounds = static_cast<int>(ratios.size());
  comparison.disturbed = candidate.Disturbance();
  if (comparison.disturbed.empty()) {
    comparison.disturbed = baseline.Disturbance(earlier_us);
    if (!comparison.disturbed.empty()) comparison.disturbed = fmt::format("{}: {}", name, comparison.disturbed);
  }
  if (comparison.disturbed.empty() && ratios.size() < std::min(kLeastCalm, common))
    comparison.disturbed = fmt::format("in {} of {} rounds one of the two was", common - ratios.size(), common);
  if (!comparison.disturbed.empty()) return comparison;
  const Samples warm = candidate.Warm();
  const double of_calls = comparison.baseline_warm.median_us / warm.median_us;
  if (ratios.empty()) {
    comparison.speedup = of_calls;
    comparison.interval = Divide(comparison.baseline_warm, warm);
    return comparison;
  }
  const double of_rounds = Median(ratios);
  comparison.disturbed = Contradiction(of_rounds, of_calls);
  if (!comparison.disturbed.empty()) return comparison;
  comparison.speedup = of_rounds;
  comparison.interval = MedianInterval(ratios);
  return comparison;
}

Comparison CompareKnown(const std::string& name, const KnownBaseline& known, const Turns& candidate,
                        Dispatch dispatch) {
  Comparison comparison{
      .baseline = name, .baseline_warm = known.warm, .baseline_cold = known.cold, .measured_on = known.measured_on};
  if (known.dispatched) {
    comparison.baseline_hidden = known.warm;
    comparison.baseline_dispatched = known.dispatched;
    if (dispatch == Dispatch::kCounted) comparison.baseline_warm = *known.dispatched;
  }
  comparison.disturbed = candidate.Disturbance();
  if (!comparison.disturbed.empty()) return comparison;
  const Samples warm = candidate.Warm();
  comparison.speedup = comparison.baseline_warm.median_us / warm.median_us;
  comparison.interval = Divide(comparison.baseline_warm, warm);
  return comparison;
}

}  // namespace hone
