// What a run takes from earlier ones when it begins, and what it leaves to later ones: between the run store's rows and
// a proposer's values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "propose/recalled.h"
#include "search/loop.h"
#include "store/store.h"

namespace hone {

// What is known of these pieces on the run's target and machine: of each the program of which it was the largest share;
// and what was tried with these families, and with programs to begin with, on the target. A lesson counts half of what
// it did after kHalfLifeDays, kOtherVersion of it where another version of hone learnt it, kOtherMachine on another
// machine.
inline constexpr double kHalfLifeDays = 90, kOtherVersion = 0.5, kOtherMachine = 0.25;
Result<Recalled> Recall(Store& store, const RunRecord& run, const Beginnings& beginnings, const std::string& version);

// The lesson of a row, and how much it counts for a run on that machine by that version of hone, 0 to 1.
Lesson LessonFrom(const LessonRecord& record);
double WeightOf(const LessonRecord& lesson, const std::string& machine, const std::string& version);

// What is known for tables of searches on that machine, over all problems: of lessons alone.
Experience ExperienceFrom(const std::vector<LessonRecord>& lessons, const std::string& target,
                          const std::string& machine, const std::string& version);

// What a proposal changes of the attempt that it is from, or begins with where that is null: nothing where it is not
// one thing of the expert's.
std::optional<Lesson> LessonOf(const Proposal& proposal, const Attempt* from, const Problem& problem,
                               const DeviceModel& machine);

// Keeps what was tried in this session of the run, won or lost.
Result<void> RememberLessons(Store& store, const SearchOutcome& outcome, const Problem& problem,
                             const DeviceModel& machine, const std::string& version);

// Keeps the winner's pieces (PiecesOfProgram), if it was confirmed. `version`: hone's.
Result<void> Remember(Store& store, const SearchOutcome& outcome, const std::map<std::string, ProvenPiece>& pieces,
                      const std::string& version);

}  // namespace hone
