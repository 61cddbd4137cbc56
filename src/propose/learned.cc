#include "propose/learned.h"

#include <algorithm>

#include "base/record.h"
#include "propose/proposer.h"

namespace hone {

template <SameAs<Kept> Of>
void Fields(Of& kept, auto&& field) {
  field("moved", kept.moved);
  field("promised", kept.promised);
  field("brought", kept.brought);
}

namespace {

// So many moves of a rule that kept their promises are taken for granted: after as many that brought nothing its
// promises count half. A choice, not a measurement.
constexpr double kGranted = 4;
// A rule that never brought anything is still asked now and then.
constexpr double kLeast = 0.02;

struct All {
  Learned rules;
};

template <SameAs<All> Of>
void Fields(Of& all, auto&& field) {
  field("rules", all.rules);
}

}  // namespace

void Kept::Add(double promise, double gain) {
  ++moved;
  promised += promise;
  brought += std::max(0.0, gain);  // what made it slower is not taken
}

double Kept::Factor() const {
  if (moved == 0 || promised <= 0) return 1;
  const double granted = kGranted * promised / static_cast<double>(moved);
  return std::max(kLeast, (brought + granted) / (promised + granted));
}

double FactorOf(const Learned& learned, std::string_view rule) {
  const auto found = learned.find(rule);
  return found == learned.end() ? 1 : found->second.Factor();
}

double Brought(const Attempt& attempt, const Attempt& parent) {
  if (attempt.time_us() <= 0 || parent.time_us() <= 0) return 0;
  return 1 - attempt.time_us() / parent.time_us();
}

std::string ToJson(const Learned& learned) { return ToRecord(All{learned})["rules"].dump(); }

Result<Learned> ParseLearned(const std::string& json) {
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  return HONE_TRY(FromRecord<All>({{"rules", parsed}}, "what a run of ours learned: " + json)).rules;
}

}  // namespace hone
