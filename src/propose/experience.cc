#include "propose/experience.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "dsl/program.h"
#include "propose/expert/advice.h"
#include "propose/expert/cost.h"
#include "propose/expert/lesson.h"

namespace hone {
namespace {

constexpr double kHelped = 0.01;  // of ln(time before / time after): less is what measuring again may bring

}  // namespace

std::vector<std::string> KindsOf(const Lesson& lesson) {
  if (lesson.family == kStart) return {std::string(kStart), fmt::format("start {}: {}", lesson.before, lesson.after)};
  const auto before = expert::SizeOf(expert::ReadSetting(lesson.before));
  const auto after = expert::SizeOf(expert::ReadSetting(lesson.after));
  const std::string_view way = before && after && *before != *after ? (*after > *before ? "more" : "less") : "";
  const std::string general = fmt::format("{}.{}", lesson.family, lesson.knob);
  std::vector<std::string> kinds;
  if (!way.empty()) kinds.push_back(fmt::format("{}:{}", general, way));
  kinds.push_back(fmt::format("{}={}", general, lesson.after));
  kinds.push_back(fmt::format("{}={}>{} {} 2^{}", general, lesson.before, lesson.after, lesson.dtype, lesson.size));
  if (!lesson.limit.empty()) kinds.push_back(fmt::format("{} limited by {}", kinds.back(), lesson.limit));
  return kinds;
}

void Lesson::End(double before_us, double after_us) {
  refused = before_us <= 0 || after_us <= 0;
  gain = refused ? kRefusedGain : std::log(before_us / after_us);
}

void Experience::Add(const Lesson& lesson, double weight) {
  const double gain = std::clamp(lesson.refused ? kRefusedGain : lesson.gain, kRefusedGain, -kRefusedGain);
  for (const std::string& kind : KindsOf(lesson)) {
    Tally& tally = kinds_[kind];
    tally.lessons += weight;
    if (lesson.refused) tally.refused += weight;
    tally.shares_squared += weight * lesson.share * lesson.share;
    tally.brought += weight * lesson.share * gain;
    if (gain > kHelped) tally.helped += weight;
  }
}

double Experience::Expect(const Lesson& lesson, double own) const {
  if (lesson.share <= 0) return own;
  double each = own / lesson.share;  // of a kernel that takes all of the time
  for (const std::string& kind : KindsOf(lesson)) {
    const auto found = kinds_.find(kind);
    if (found == kinds_.end()) continue;
    each = (found->second.brought + kGrantedLessons * each) / (found->second.shares_squared + kGrantedLessons);
  }
  return each * lesson.share;
}

std::optional<std::string> Experience::WhyDoomed(const Lesson& lesson) const {
  for (const std::string& kind : KindsOf(lesson)) {
    const auto found = kind.find('>') == kind.npos ? kinds_.end() : kinds_.find(kind);
    if (found == kinds_.end()) continue;
    const Tally& tally = found->second;
    if (tally.lessons >= kDoomed && tally.refused >= tally.lessons)
      return fmt::format("all {:.0f} of {} were refused", tally.lessons, kind);
  }
  return std::nullopt;
}

std::optional<Lesson> ChangeBetween(const std::string& before, const std::string& after, const Problem& problem,
                                    const DeviceModel& machine) {
  const auto parsed_before = dsl::Parse(before), parsed_after = dsl::Parse(after);
  const auto* one = std::get_if<dsl::Program>(&parsed_before);
  const auto* other = std::get_if<dsl::Program>(&parsed_after);
  if (one == nullptr || other == nullptr || one->statements.size() != other->statements.size()) return std::nullopt;
  dsl::Program same_settings = *other;
  std::optional<std::size_t> at;
  std::string knob;
  for (std::size_t k = 0; k < one->statements.size(); ++k) {
    const auto &old = one->statements[k].settings, &now = other->statements[k].settings;
    same_settings.statements[k].settings = old;
    std::set<std::string> knobs;
    for (const auto& [name, value] : old) knobs.insert(name);
    for (const auto& [name, value] : now) knobs.insert(name);
    for (const std::string& name : knobs) {
      const auto was = old.find(name), is = now.find(name);
      if (was != old.end() && is != now.end() && was->second == is->second) continue;
      if (at) return std::nullopt;
      at = k;
      knob = name;
    }
  }
  if (!at || dsl::Print(same_settings) != dsl::Print(*one)) return std::nullopt;
  const auto checked = dsl::Check(*one, &problem, machine);
  const auto* kernels = std::get_if<dsl::KernelProgram>(&checked);
  if (kernels == nullptr) return std::nullopt;
  const auto text = [&](const dsl::Program& program) {
    const auto& settings = program.statements[*at].settings;
    const auto found = settings.find(knob);
    return found == settings.end() ? std::string() : dsl::ToString(found->second);
  };
  Lesson lesson = expert::LessonAt(kernels->kernels[*at], knob);
  lesson.before = text(*one);
  lesson.after = text(*other);
  const std::vector<double> times = expert::PredictKernels(*kernels, machine);
  double total = 0;
  for (const double time : times) total += time;
  lesson.share = total > 0 ? times[*at] / total : 1;
  return lesson;
}

double PredictedUs(const std::string& program, const Problem& problem, const DeviceModel& machine) {
  const auto parsed = dsl::Parse(program);
  const auto* known = std::get_if<dsl::Program>(&parsed);
  if (known == nullptr) return 0;
  const auto checked = dsl::Check(*known, &problem, machine);
  const auto* kernels = std::get_if<dsl::KernelProgram>(&checked);
  return kernels == nullptr ? 0 : expert::Predict(*kernels, machine);
}

std::optional<Lesson> StartOf(const std::string& program, const std::string& cut) {
  const auto parsed = dsl::Parse(program);
  const auto* known = std::get_if<dsl::Program>(&parsed);
  if (known == nullptr) return std::nullopt;
  std::set<std::string> families;
  for (const dsl::Statement& statement : known->statements) families.insert(statement.family);
  return Lesson{.family = std::string(kStart),
                .knob = "cut",
                .before = fmt::format("{}", fmt::join(families, "+")),
                .after = cut};
}

}  // namespace hone
