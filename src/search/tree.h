// What a run has tried and what it could try next.
//
//   node 0, the root: no candidate; its proposals are the proposer's Start
//     |- 1  accepted 40 us     waiting: [tile 64 -> 128] [unroll 2 -> 4]
//     |    `- 3  accepted 31 us    not asked yet
//     `- 2  wrong_result           exhausted
//
// A node's index is its attempt's number. A candidate is tried once: a proposal whose candidate was tried elsewhere in
// the tree is dropped. Not thread-safe.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "propose/proposer.h"

namespace hone {

struct WaitingProposal {
  Proposal proposal;
  std::string identity;  // of its candidate
};

struct TreeNode {
  Attempt attempt;
  std::vector<int> children;
  std::vector<WaitingProposal> waiting;  // not tried yet, best predicted first
  int rounds = 0;                        // that the proposer was asked for
  bool exhausted = false;                // it has nothing more to propose from here
  // Something can be tried from here, or the proposer was not asked yet.
  bool open() const { return !waiting.empty() || !exhausted; }
};

class Tree {
 public:
  Tree();

  const std::vector<TreeNode>& nodes() const { return nodes_; }  // in the order of trying
  const TreeNode& node(int number) const;
  int attempts() const { return static_cast<int>(nodes_.size()) - 1; }

  // The accepted and timed attempts, fastest first; the earlier of two equal ones first.
  const std::vector<int>& ranked() const { return ranked_; }
  int best() const { return ranked_.empty() ? 0 : ranked_.front(); }
  double best_us() const { return node(best()).attempt.time_us(); }  // 0 = none

  // The answer to one more round. An empty one exhausts the node; the root has one round only.
  void AddProposals(int number, std::vector<Proposal> proposals);
  // A candidate that is in work: it waits nowhere any more, and is not taken up again.
  void Take(const std::string& identity);
  // The attempt with the next number; takes its candidate out of all that waits.
  void AddAttempt(Attempt attempt);

  // A fingerprint of what was tried from where and with which outcome and time: equal searches have equal ones.
  std::string Signature() const;

 private:
  std::vector<TreeNode> nodes_;
  std::vector<int> ranked_;
  std::set<std::string> tried_;  // identities
};

}  // namespace hone
