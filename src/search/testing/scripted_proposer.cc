#include "search/testing/scripted_proposer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "search/testing/scripted_space.h"

namespace hone::testing {
namespace {

constexpr std::array<std::string_view, 5> kKnobs = {"tile", "unroll", "width", "stages", "layout"};

Proposal Propose(const ScriptedPoint& point, std::string move) {
  return {.candidate = {.kind = CandidateKind::kProgram, .text = point.Text()},
          .origin = "scripted: " + move,
          .key = move,
          .predicted_us = static_cast<double>(point.PredictedNanoseconds()) / 1000};
}

void SortByPrediction(std::vector<Proposal>& proposals) {
  std::stable_sort(proposals.begin(), proposals.end(),
                   [](const Proposal& a, const Proposal& b) { return a.predicted_us < b.predicted_us; });
}

std::vector<Proposal> Start(Random random) {
  // One is drawn, so that a lost state of the generator shows in the signature.
  const int tile = static_cast<int>(random.Below(ScriptedPoint::kExtents[0]));
  std::vector<Proposal> proposals = {Propose({{1, 1, 0, 1, 0}}, "start simple"),
                                     Propose({{3, 1, 1, 0, 1}}, "start blocked"),
                                     Propose({{tile, 0, 0, 0, 0}}, "start anywhere")};
  SortByPrediction(proposals);
  return proposals;
}

std::vector<Proposal> Next(const Attempt& from, int turn) {
  std::vector<Proposal> proposals;
  ScriptedPoint point = ScriptedPoint::Parse(from.proposal.candidate.text).value_or(ScriptedPoint{});
  if (!from.accepted()) {
    if (turn > 0) return proposals;
    if (from.evaluation.verdict.outcome == Outcome::kWrongResult) {
      --point.knobs[2];
      proposals.push_back(Propose(point, "repair width"));
    } else if (point.knobs[0] > 1) {
      point.knobs[0] -= 2;
      proposals.push_back(Propose(point, "repair tile"));
    }
    return proposals;
  }
  if (turn > 1) return proposals;
  const int stride = turn + 1;
  for (std::size_t i = 0; i < kKnobs.size(); ++i) {
    for (const int step : {-stride, stride}) {
      ScriptedPoint moved = point;
      moved.knobs[i] += step;
      if (!moved.Valid()) continue;
      proposals.push_back(Propose(moved, fmt::format("{} {} -> {}", kKnobs[i], point.knobs[i], moved.knobs[i])));
      proposals.back().rule = kKnobs[i];
      proposals.back().promised = 0.1;
    }
  }
  SortByPrediction(proposals);
  return proposals;
}

// Two, each knob of either.
std::vector<Proposal> Cross(const Question& question) {
  const auto one = ScriptedPoint::Parse(question.from()->proposal.candidate.text);
  const auto other = ScriptedPoint::Parse(question.with()->proposal.candidate.text);
  std::vector<Proposal> proposals;
  if (!one || !other) return proposals;
  Random random = question.random;
  for (int child = 0; child < 2; ++child) {
    ScriptedPoint crossed = *one;
    for (std::size_t i = 0; i < kKnobs.size(); ++i) {
      if (random.Below(2) == 1) crossed.knobs[i] = other->knobs[i];
    }
    if (crossed == *one || crossed == *other) continue;
    if (!proposals.empty() && crossed.Text() == proposals.front().candidate.text) continue;
    proposals.push_back(Propose(crossed, fmt::format("cross {} {}", question.mate, child)));
  }
  SortByPrediction(proposals);
  return proposals;
}

}  // namespace

Result<Round> ScriptedProposer::Propose(const Question& question) {
  Round round;
  if (question.mate != 0) {
    round.proposals = Cross(question);
  } else if (const Attempt* from = question.from()) {
    round.proposals = Next(*from, question.turn);
  } else if (question.turn == 0) {
    round.proposals = Start(question.random);
  }
  return round;
}

}  // namespace hone::testing
