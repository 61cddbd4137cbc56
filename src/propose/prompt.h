// What somebody is asked who writes kernels as texts: the question in words, with all that helps to answer it, the most
// useful first, within a budget. No state; the same question gives the same text.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"
#include "model/ledger.h"
#include "propose/proposer.h"
#include "target/bound.h"
#include "target/device_model.h"

namespace hone {

struct Shelf;

// What a question shows.
enum class PromptView {
  kAll,     // the attempt, what was tried from it, what was refused, the fastest: for whoever does it all, or plans
  kCode,    // what was tried from it and from its siblings; the attempt itself comes with a plan
  kRepair,  // the attempt with the evidence against it, what it was made from, what else was made from that
};

// How long a question may be: a parameter of whoever asks so.
inline constexpr Parameter kQuestionTokens{.name = "tokens",
                                           .type = Parameter::Type::kInteger,
                                           .help = "how long a question may be, about",
                                           .otherwise = "8000",
                                           .at_least = 1000,
                                           .at_most = 1e6};

struct PromptSetting {
  const Graph& graph;
  const DeviceModel& machine;
  const Bound& bound;
  std::size_t tokens = 8000;   // at most, by estimate; the task, the form of an answer and the problem are always there
  std::string_view role = {};  // who is asked, in Markdown; empty: somebody who writes kernels
  std::string_view form = {};  // how an answer is written; empty: AnswerForm()
  PromptView view = PromptView::kAll;
  Advisers advisers = {};        // what is shown of findings
  const Shelf* shelf = nullptr;  // what goes in where there is room; null: nothing
  bool lookups = false;          // whoever is asked can look things up (propose/lookup.h)
  std::string_view digest = {};  // what earlier runs found out, DigestOf; shown where there is room
};

// Markdown, all three. What comes from candidates, compilers and profiles stands in fences that it cannot close.
//
// What is the same in all questions of a run: the task, the form of an answer, the problem.
std::string RenderBrief(const PromptSetting& setting);
// What is this question's. With the brief it keeps the budget.
std::string RenderQuestion(const Question& question, const PromptSetting& setting);
// Both.
std::string RenderPrompt(const Question& question, const PromptSetting& setting);

// What limits an accepted attempt and what costs it time, in words. Empty: nobody found anything.
std::string FindingsText(const Attempt& attempt, const Advisers& advisers = {});

// A winner in a line: "run 0a1b2c, softmax, program, 12.5 us, 3.20 times its baseline".
std::string Describe(const PastWinner& winner);

// A text in a fence that it cannot close, with a word behind its opening.
std::string FencedText(std::string_view word, std::string_view text);

}  // namespace hone
