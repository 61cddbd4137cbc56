#include "search/tree.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/sha256.h"

namespace hone {

Tree::Tree() : nodes_(1) {}

const TreeNode& Tree::node(int number) const {
  HONE_CHECK(number >= 0 && number <= attempts(), "a node that the tree does not have");
  return nodes_[static_cast<std::size_t>(number)];
}

void Tree::AddProposals(int number, std::vector<Proposal> proposals) {
  HONE_CHECK(number >= 0 && number <= attempts(), "proposals for a node that the tree does not have");
  TreeNode& node = nodes_[static_cast<std::size_t>(number)];
  ++node.rounds;
  // Not when all of them turn out to be known: the next round may still bring something new.
  if (proposals.empty() || number == 0) node.exhausted = true;
  for (Proposal& proposal : proposals) {
    std::string identity = proposal.candidate.Identity();
    const auto same = [&](const WaitingProposal& other) { return other.identity == identity; };
    if (tried_.contains(identity) || std::any_of(node.waiting.begin(), node.waiting.end(), same)) continue;
    node.waiting.push_back({std::move(proposal), std::move(identity)});
  }
}

void Tree::Take(const std::string& identity) {
  for (TreeNode& node : nodes_) {
    std::erase_if(node.waiting, [&](const WaitingProposal& waiting) { return waiting.identity == identity; });
  }
  tried_.insert(identity);
}

void Tree::AddAttempt(Attempt attempt) {
  HONE_CHECK(attempt.number == attempts() + 1, "an attempt was added out of turn");
  HONE_CHECK(attempt.parent >= 0 && attempt.parent < attempt.number, "an attempt without a parent was added");
  const int number = attempt.number;
  Take(attempt.proposal.candidate.Identity());
  nodes_[static_cast<std::size_t>(attempt.parent)].children.push_back(number);
  const double time_us = attempt.time_us();
  nodes_.emplace_back().attempt = std::move(attempt);
  if (time_us > 0) {
    const auto slower = [&](int other) { return node(other).attempt.time_us() > time_us; };
    ranked_.insert(std::find_if(ranked_.begin(), ranked_.end(), slower), number);
  }
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
