// A table of a space: what a proposer offers where, what came of every candidate that was measured, and what each of
// these took. With it a search that took minutes is made again in milliseconds (search/recorded.h). A file of JSON
// lines, made by `hone record`:
//
//   {"hone_table": 1, "problem": "softmax", "machine": ..., "recorded": "2026-11-23", ...}
//   {"candidate": "3f2a9c0011223344", "outcome": "accepted", "warm_us": 31.2, ..., "seconds": 1.4}
//   {"turn": 0, "seconds": 0.01, "offers": [{"candidate": "3f2a9c0011223344", "key": "tile_n=256", ...}]}
//   {"from": "3f2a9c0011223344", "turn": 0, "seconds": 0.02, "offers": [...]}
//
// The first line is the head. Candidates are named by the first 16 digits of their identities; their texts are not
// kept. What was offered and never measured is only counted. Plain values; safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "propose/experience.h"
#include "search/tree.h"
#include "store/store.h"
#include "verdict/verdict.h"

namespace hone {

struct TableHead {
  std::string problem, target, machine, processor;
  std::string proposer, search;  // who offered, and the strategy that chose what was measured
  std::string recorded;          // the day, "2026-11-23"
  std::string stop;              // why it went no further
  double bound_us = 0;           // 0 = not known
};

struct TableCandidate {
  std::string name;
  Outcome outcome = Outcome::kInvalid;
  std::string reason;                // one line; empty when accepted
  double warm_us = 0;                // of one that was accepted and timed, as Timing::LikelyUs says
  std::optional<Interval> interval;  // 95 %, of the warm median; nothing: it was disturbed
  double seconds = 0;                // that trying it took: compiled, judged, timed
};

struct TableOffer {
  std::string candidate;
  std::string key;  // as of Proposal
  double predicted_us = 0;
  std::optional<Lesson> lesson = {};  // what it changes, without what came of it; nothing: not known, or not one thing
};

struct TableRound {
  std::string from;  // what it improves on; empty = what to begin with
  int turn = 0;
  double seconds = 0;              // that the answer took
  int unmeasured = 0;              // so many more were offered
  std::vector<TableOffer> offers;  // best predicted first
};

struct SpaceTable {
  TableHead head;
  std::vector<TableCandidate> candidates;  // in the order of measuring
  std::vector<TableRound> rounds;          // in the order of the answers
  double best_us = 0;                      // the fastest of all, 0 = nothing was accepted
};

// How a candidate is called in tables, and how what came of it stands there; it took so many seconds to try.
std::string TableName(const Candidate& candidate);
TableCandidate MeasuredAs(std::string name, const Evaluation& evaluation, double seconds);

std::string ToLines(const SpaceTable& table);
// kCorrupt with the line that is wrong; `name` is what it is called there. Candidates alone, without any round, are no
// space to search in, but may be what was measured (search/measured.h).
enum class Rounds : std::uint8_t { kNeeded, kOptional };
Result<SpaceTable> ReadTable(std::string_view lines, const std::string& name, Rounds rounds = Rounds::kNeeded);

// Of a run that has ended. The processor is left to the caller: the store knows the machine's id. `describe` says what
// a proposal changes (search/remember.h); empty: nobody does.
using DescribeOffer = std::function<std::optional<Lesson>(const Proposal& proposal, const Attempt* from)>;
Result<SpaceTable> TableOf(Store& store, const RunRecord& run, const DescribeOffer& describe = {});

// What was tried in it, with what came of it: each thing once, from where it was first offered.
std::vector<Lesson> LessonsOf(const SpaceTable& table);

}  // namespace hone
