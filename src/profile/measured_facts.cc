#include "profile/measured_facts.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

namespace hone {
namespace {

// A replay is not the run: the kernel is alone, its caches are as the replay before left them.
constexpr double kReplay = 0.8;

class Values {
 public:
  Values(std::span<const std::string> metrics, std::span<const double> values) : metrics_(metrics), values_(values) {}
  std::optional<double> operator[](std::string_view metric) const {
    const auto found = std::find(metrics_.begin(), metrics_.end(), metric);
    const auto at = static_cast<std::size_t>(found - metrics_.begin());
    if (at >= values_.size() || !std::isfinite(values_[at])) return std::nullopt;
    return values_[at];
  }

 private:
  std::span<const std::string> metrics_;
  std::span<const double> values_;
};

// Where both are known and the second is not 0.
std::optional<double> Share(const Profile& profile, std::string_view part, std::string_view whole) {
  const auto a = profile.Get(part), b = profile.Get(whole);
  if (!a || !b || *b <= 0) return std::nullopt;
  return *a / *b;
}

// What follows from several counters.
void AddDerived(Profile& launch) {
  const auto set = [&](std::string_view name, std::optional<double> value, double confidence = 1) {
    if (value) launch.Set(name, *value, FactSource::kCounter, confidence);
  };
  const auto load = launch.Get("load_sector_bytes"), store = launch.Get("store_sector_bytes");
  if (load || store) set("worst_sector_bytes", std::min(load.value_or(*store), store.value_or(*load)));
  set("conflict_share", Share(launch, "shared_conflicts", "shared_passes"));
  const auto hits = launch.Get("l2_hits"), misses = launch.Get("l2_misses");
  if (hits && misses && *hits + *misses > 0) set("l2_hit_share", *hits / (*hits + *misses));
  if (const auto busy = Share(launch, "busy_cycles", "cycles")) set("idle_share", std::max(0.0, 1 - *busy));
  const auto read = launch.Get("dram_read_bytes"), written = launch.Get("dram_write_bytes");
  const auto named = launch.Get("step_bytes");
  if (read && written && named && *named > 0) set("traffic_ratio", (*read + *written) / *named, kReplay);
}

}  // namespace

void AddCounterFacts(Profile& launch, std::span<const std::string> metrics, std::span<const double> values) {
  const Values counted(metrics, values);
  for (const FactName& fact : AllFacts()) {
    if (fact.counter.empty()) continue;
    auto value = counted[fact.counter];
    if (value && !fact.over.empty()) {
      const auto over = counted[fact.over];
      value = over && *over > 0 ? std::optional(*value / *over) : std::nullopt;
    }
    // Kernels without such accesses have none that use 0 bytes of a sector.
    if (value && *value <= 0 && fact.name.ends_with("_sector_bytes")) continue;
    if (value) launch.Set(fact.name, *value * fact.scale, FactSource::kCounter);
  }
  AddDerived(launch);
  if (const auto replay = launch.Get("replay_us"); replay && !launch.Find("time_us")) {
    launch.Set("time_us", *replay, FactSource::kCounter, kReplay);
    if (const auto ratio = Share(launch, "time_us", "bound_us"))
      launch.Set("time_ratio", *ratio, FactSource::kCounter, kReplay);
  }
}

void AddTime(Profile& profile, double us) {
  profile.Set("time_us", us, FactSource::kTiming);
  if (const auto ratio = Share(profile, "time_us", "bound_us")) profile.Set("time_ratio", *ratio, FactSource::kTiming);
}

void AddTimelineFacts(Profile& whole, std::span<const TimelinePart> parts) {
  if (parts.empty()) return;
  double end = parts.front().begin_us, gaps = 0, overlap = 0;
  for (const TimelinePart& part : parts) {
    gaps += std::max(0.0, part.begin_us - end);
    overlap += std::max(0.0, std::min(end, part.end_us) - part.begin_us);
    end = std::max(end, part.end_us);
  }
  const double span = end - parts.front().begin_us;
  AddTime(whole, span);
  whole.Set("gap_us", gaps, FactSource::kTiming);
  whole.Set("overlap_us", overlap, FactSource::kTiming);
  if (span > 0) whole.Set("gap_share", gaps / span, FactSource::kTiming);
  whole.Set("timed_parts", static_cast<double>(parts.size()), FactSource::kTiming);
}

}  // namespace hone
