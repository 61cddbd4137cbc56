#include "search/tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

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

void Tree::Ask(int number, int mate) {
  HONE_CHECK(!asked_, "a second question while one is not answered");
  HONE_CHECK(mate != 0 || !node(number).exhausted, "a question about a node that is exhausted");
  asked_ = number;
}

void Tree::AddProposals(int number, int round, const std::vector<Proposal>& proposals, int mate) {
  const TreeNode& node = at(number);
  std::vector<WaitingProposal> fresh;
  for (const Proposal& proposal : proposals) {
    const CandidateKey key = CandidateKey::Of(proposal.candidate);
    const auto same = [&](const WaitingProposal& other) { return other.candidate() == key; };
    if (candidates_.Tried(key) || std::ranges::any_of(node.waiting, same) || std::ranges::any_of(fresh, same)) continue;
    WaitingProposal& waiting = fresh.emplace_back(proposal, key, node.attempt.proposal.candidate.text);
    waiting.round = round;
    waiting.mate = mate;
  }
  AddWaiting(number, std::move(fresh), proposals.empty(), mate);
}

void Tree::AddWaiting(int number, std::vector<WaitingProposal> fresh, bool none, int mate) {
  TreeNode& node = at(number);
  ++node.rounds;
  Touch(number);
  if (asked_ == number) asked_.reset();
  if (mate != 0) node.mates->push_back(mate);
  // Not when all of them turn out to be known: the next round may still bring something new.
  if (none && mate == 0) node.exhausted = true;
  for (const WaitingProposal& one : fresh) candidates_.Wait(one.candidate(), number);
  if (node.waiting.empty()) {
    node.waiting = std::move(fresh);
    return;
  }
  std::ranges::move(fresh, std::inserter(node.waiting, mate != 0 ? node.waiting.begin() : node.waiting.end()));
}

void Tree::Take(const CandidateKey& key) {
  candidates_.Take(key, [&](int number) {
    Touch(number);
    std::vector<WaitingProposal>& waiting = at(number).waiting;
    std::erase_if(waiting, [&](const WaitingProposal& one) { return one.candidate() == key; });
    waiting.shrink_to_fit();
  });
}

void Tree::Begin(int parent, const CandidateKey& candidate) {
  Take(candidate);
  ++at(parent).in_flight;
  Touch(parent);
  flying_.push_back(parent);
}

void Tree::AddAttempt(Attempt attempt) {
  HONE_CHECK(attempt.number == attempts() + 1, "an attempt was added out of turn");
  HONE_CHECK(attempt.parent >= 0 && attempt.parent < attempt.number, "an attempt without a parent was added");
  TreeNode& parent = at(attempt.parent);
  HONE_CHECK(parent.in_flight > 0, "an attempt ended that was not begun");
  --parent.in_flight;
  flying_.erase(std::find(flying_.begin(), flying_.end(), attempt.parent));
  parent.children.push_back(attempt.number);
  Touch(attempt.parent);
  const int number = attempt.number;
  values_.push_back(attempt.time_us());
  nodes_.emplace_back().attempt = std::move(attempt);
  if (Value(number) <= 0) return;
  ranked_.Insert(number, [this](int a, int b) { return Value(a) < Value(b); });
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
