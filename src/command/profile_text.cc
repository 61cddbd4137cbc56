#include "command/profile_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

namespace hone {
namespace {

constexpr std::size_t kColumns = 5, kColumnWidth = 13;
constexpr double kClose = 0.02;      // two ways of counting agree
constexpr double kRounded = 0.0051;  // by ncu's tables
constexpr std::size_t kLongestName = 60;

bool IsMeasured(const Fact& fact) { return fact.source == FactSource::kCounter || fact.source == FactSource::kTiming; }

// A share as percent, bytes as they are read best.
std::string WithUnit(const Fact& fact, FactUnit unit) {
  if (unit == FactUnit::kShare) return fmt::format("{:.1f} %", 100 * fact.value);
  if (unit == FactUnit::kMicroseconds) return fmt::format("{:.4g} us", fact.value);
  const char* kSteps[] = {"", " k", " M", " G", " T"};
  double value = fact.value;
  std::size_t step = 0;
  for (; std::abs(value) >= 1e4 && step + 1 < std::size(kSteps); ++step) value /= 1e3;
  return fmt::format("{:.4g}{}{}", value, kSteps[step], unit == FactUnit::kBytes ? (step == 0 ? " B" : "B") : "");
}

std::string Short(const std::string& name) {
  return name.size() <= kLongestName ? name : name.substr(0, kLongestName - 3) + "...";
}

}  // namespace

Answer DoesNotCompile(const std::string& path, const Unprofiled& wrong) {
  const std::string where = wrong.where.empty() ? "" : wrong.where + ": ";
  return Answer({{"compiles", false}, {"where", wrong.where}, {"message", wrong.message}, {"log", wrong.log}},
                fmt::format("{}: {}{}\n{}", path, where, wrong.message, wrong.log), ExitCode::kNo);
}

std::string DescribeMeasured(std::span<const Subject> subjects) {
  std::vector<const Profile*> launches;
  for (const Subject& subject : subjects) {
    const auto& facts = subject.profile.facts();
    if (subject.profile.scope == Scope::kLaunch && std::any_of(facts.begin(), facts.end(), IsMeasured))
      launches.push_back(&subject.profile);
  }
  std::string text;
  for (std::size_t first = 0; first < launches.size(); first += kColumns) {
    const auto here = std::span(launches).subspan(first, std::min(kColumns, launches.size() - first));
    if (!text.empty()) text += '\n';
    std::string heads = fmt::format("{:20}", "");
    for (std::size_t i = 0; i < here.size(); ++i) {
      const std::string number = fmt::format("[{}]", first + i + 1);
      text += fmt::format("{} {}{}{}\n", number, Short(here[i]->subject), here[i]->where.empty() ? "" : ", ",
                          here[i]->where);
      heads += fmt::format("{:>{}}", number, kColumnWidth);
    }
    text += heads + '\n';
    for (const FactName& name : AllFacts()) {
      std::string line = fmt::format("{:20}", name.name);
      bool any = false;
      for (const Profile* profile : here) {
        const Fact* fact = profile->Find(name.name);
        const bool has = fact != nullptr && IsMeasured(*fact);
        any = any || has;
        line += fmt::format("{:>{}}", has ? WithUnit(*fact, name.unit) : "", kColumnWidth);
      }
      if (any) text += fmt::format("{}  {}\n", line, name.doc);
    }
  }
  return text;
}

std::string DescribeCounted(std::span<const CountedFacts> counted) {
  std::vector<Subject> subjects;
  for (const CountedFacts& one : counted) {
    Subject& subject = subjects.emplace_back();
    subject.profile = Profile(Scope::kLaunch, one.subject);
    subject.profile.where = one.where;
    for (const auto& [name, value] : one.facts) {
      const FactName* known = FindFact(name);  // the store may be of another version
      if (known != nullptr && known->unit != FactUnit::kWord) subject.profile.Set(name, value, FactSource::kCounter);
    }
  }
  return DescribeMeasured(subjects);
}

std::string DescribeTimeline(const ProfiledReport& report) {
  if (report.timeline.empty()) return "";
  double end = report.timeline.front().begin_us, gaps = 0;
  std::string lines;
  for (const TimelineEvent& event : report.timeline) {
    const double gap = event.begin_us - end;
    gaps += std::max(0.0, gap);
    const std::string what = event.kind == EventKind::kKernel ? Short(event.name) : std::string(Name(event.kind));
    lines += fmt::format("{:10.2f} {:10.2f} {:>8}  {}{}\n", event.begin_us, event.end_us - event.begin_us,
                         gap == 0 ? "" : fmt::format("{:+.2f}", gap), what,
                         event.step < 0 ? "" : fmt::format(", /steps/{}", event.step));
    end = std::max(end, event.end_us);
  }
  return fmt::format("one run, {}: {:.4g} us, of which the device does nothing for {:.3g} us\n{:>10} {:>10} {:>8}\n{}",
                     report.as_graph ? "asked for as one CUDA graph" : "launch by launch", end, gaps, "from us",
                     "takes us", "gap us", lines);
}

double ComparedCount::apart() const {
  const double difference = std::abs(counted - oracle) - kRounded;
  if (difference <= 0) return 0;
  return oracle == 0 ? HUGE_VAL : difference / std::abs(oracle);
}

std::vector<ComparedCount> Compare(const ProfiledReport& counted, const ProfiledReport& oracle) {
  std::vector<ComparedCount> rows;
  if (counted.kernels.size() != oracle.kernels.size()) return rows;
  for (std::size_t m = 0; m < counted.metrics.size(); ++m) {
    const auto found = std::find(oracle.metrics.begin(), oracle.metrics.end(), counted.metrics[m]);
    if (found == oracle.metrics.end()) continue;
    const auto other = static_cast<std::size_t>(found - oracle.metrics.begin());
    for (std::size_t k = 0; k < counted.kernels.size(); ++k) {
      const double ours = counted.kernels[k].values[m], theirs = oracle.kernels[k].values[other];
      if (std::isfinite(ours) && std::isfinite(theirs))
        rows.push_back({counted.metrics[m], counted.kernels[k].name, ours, theirs});
    }
  }
  return rows;
}

nlohmann::json ToJson(std::span<const ComparedCount> rows) {
  nlohmann::json json = nlohmann::json::array();
  for (const ComparedCount& row : rows) {
    json.push_back({{"metric", row.metric},
                    {"kernel", row.kernel},
                    {"counted", row.counted},
                    {"oracle", row.oracle},
                    {"apart", std::isfinite(row.apart()) ? nlohmann::json(row.apart()) : nlohmann::json()}});
  }
  return json;
}

std::string Describe(std::span<const ComparedCount> rows) {
  std::map<std::string, std::vector<double>> by_metric;
  for (const ComparedCount& row : rows) by_metric[row.metric].push_back(row.apart());
  std::string text;
  std::size_t close = 0;
  for (auto& [metric, apart] : by_metric) {
    std::sort(apart.begin(), apart.end());
    const double most = apart.back();
    close += most <= kClose;
    text += fmt::format("  {:8.2f} % {:8.2f} %  {}\n", 100 * most, 100 * apart[apart.size() / 2], metric);
  }
  return fmt::format("CUPTI beside ncu: {} of {} metrics within {:.0f} % on every kernel; at most, in the middle:\n{}",
                     close, by_metric.size(), 100 * kClose, text);
}

}  // namespace hone
