// What somebody who writes texts answers to a question: candidates in fences, each with the idea behind it. The form is
// in AnswerForm, for prompts; whatever is not of this form is refused, with a line that says where and the mend.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "propose/proposer.h"

namespace hone {

inline constexpr std::size_t kLongestAnswer = 1u << 20;   // bytes
inline constexpr std::size_t kMostCandidates = 8;         // of one answer
inline constexpr std::size_t kLongestIdea = 200;          // bytes
inline constexpr std::string_view kNothingMore = "done";  // an answer that is this alone

// The candidates in their order; their keys are the ideas, their origins say who. Empty: there is nothing more to come.
// kUsage when the answer is malformed.
Result<std::vector<Proposal>> ParseAnswer(std::string_view answer, std::string_view who);

std::string AnswerForm();  // for people and models: how an answer is written

// The candidate's text without what does not change what it does: comments, spaces, the order of a plan's keys. Two
// candidates with equal ones need not both be tried.
std::string Normalised(const Candidate& candidate);

// Leaves out those that mean what an attempt was, or what stands before them.
void DropRepeats(std::vector<Proposal>& proposals, const Question& question);

}  // namespace hone
