#include "search/tree.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/sha256.h"

namespace hone {

const TreeNode& Tree::node(int number) const {
  HONE_CHECK(number >= 0 && number <= attempts(), "a node that the tree does not have");
  return nodes_[static_cast<std::size_t>(number)];
}

TreeNode& Tree::at(int number) {
  HONE_CHECK(number >= 0 && number <= attempts(), "a change of a node that the tree does not have");
  return nodes_[static_cast<std::size_t>(number)];
}

void Tree::Ask(int number) {
  HONE_CHECK(!asked_, "a second question while one is not answered");
  HONE_CHECK(!node(number).exhausted, "a question about a node that is exhausted");
  asked_ = number;
}

void Tree::AddProposals(int number, int round, std::vector<Proposal> proposals) {
  TreeNode& node = at(number);
  ++node.rounds;
  if (asked_ == number) asked_.reset();
  // Not when all of them turn out to be known: the next round may still bring something new.
  if (proposals.empty()) node.exhausted = true;
  for (Proposal& proposal : proposals) {
    std::string identity = proposal.candidate.Identity();
    const auto same = [&](const WaitingProposal& other) { return other.identity == identity; };
    if (tried_.contains(identity) || std::any_of(node.waiting.begin(), node.waiting.end(), same)) continue;
    waits_at_[identity].push_back(number);
    node.waiting.push_back({std::move(proposal), std::move(identity), round});
  }
}

void Tree::Begin(const Attempt& attempt) {
  const std::string identity = attempt.proposal.candidate.Identity();
  if (const auto waits = waits_at_.find(identity); waits != waits_at_.end()) {
    for (const int number : waits->second) {
      std::erase_if(at(number).waiting, [&](const WaitingProposal& waiting) { return waiting.identity == identity; });
    }
    waits_at_.erase(waits);
  }
  tried_.insert(identity);
  ++at(attempt.parent).in_flight;
  flying_.push_back(attempt.parent);
}

void Tree::AddAttempt(Attempt attempt) {
  HONE_CHECK(attempt.number == attempts() + 1, "an attempt was added out of turn");
  HONE_CHECK(attempt.parent >= 0 && attempt.parent < attempt.number, "an attempt without a parent was added");
  TreeNode& parent = at(attempt.parent);
  HONE_CHECK(parent.in_flight > 0, "an attempt ended that was not begun");
  --parent.in_flight;
  flying_.erase(std::find(flying_.begin(), flying_.end(), attempt.parent));
  parent.children.push_back(attempt.number);
  const int number = attempt.number;
  nodes_.emplace_back().attempt = std::move(attempt);
  if (Value(number) <= 0) return;
  ranked_.insert(
      std::upper_bound(ranked_.begin(), ranked_.end(), number, [this](int a, int b) { return Value(a) < Value(b); }),
      number);
}

std::string Tree::Signature() const {
  std::string text;
  for (std::size_t i = 1; i < nodes_.size(); ++i) {
    const Attempt& attempt = nodes_[i].attempt;
    text +=
        fmt::format("{} {} {} {} {} {}\n", attempt.number, attempt.parent, attempt.proposal.key,
                    attempt.proposal.candidate.Identity(), Name(attempt.evaluation.verdict.outcome), attempt.time_us());
  }
  return Sha256(text).substr(0, 12);
}

}  // namespace hone
