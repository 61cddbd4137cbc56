// What somebody is asked who writes kernels as texts: the question in words, with all that helps to answer it, the most
// useful first, within a budget. No state; the same question gives the same text.
#pragma once

#include <string>

#include "graph/graph.h"
#include "model/ledger.h"
#include "propose/proposer.h"
#include "target/bound.h"
#include "target/device_model.h"

namespace hone {

struct PromptSetting {
  const Graph& graph;
  const DeviceModel& machine;
  const Bound& bound;
  std::size_t tokens = 8000;  // at most, by estimate; the task, the form of an answer and the problem are always there
};

// Markdown, all three. What comes from candidates, compilers and profiles stands in fences that it cannot close.
//
// What is the same in all questions of a run: the task, the form of an answer, the problem.
std::string RenderBrief(const PromptSetting& setting);
// What is this question's. With the brief it keeps the budget.
std::string RenderQuestion(const Question& question, const PromptSetting& setting);
// Both.
std::string RenderPrompt(const Question& question, const PromptSetting& setting);

}  // namespace hone
