// What a run has tried, what is in work, and what it could try next.
//
//   node 0, the root: no candidate; its proposals are what to begin with
//     |- 1  accepted 40 us     waiting: [tile 64 -> 128] [unroll 2 -> 4]     in flight: [stages 2 -> 3]
//     |    `- 3  accepted 31 us    asked: the proposer is at work on it
//     `- 2  wrong_result           exhausted
//
// A node's index is its attempt's number. A candidate is tried once: a proposal whose candidate was tried elsewhere in
// the tree is dropped. Not thread-safe; but attempts never change nor move, so that a thread may read those it was
// given while the tree grows.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/box.h"
#include "propose/proposer.h"
#include "search/candidate_index.h"
#include "search/ranking.h"
#include "search/waiting.h"

namespace hone {

struct TreeNode {
  Attempt attempt;
  std::vector<int> children;
  std::vector<WaitingProposal> waiting;  // not tried yet, best predicted first; crossings before all else
  Seldom<std::vector<int>> mates;        // that the proposer was asked to cross it with
  int in_flight = 0;                     // of its proposals: chosen, and their verdicts not known
  int rounds = 0;                        // that it has had
  bool exhausted = false;                // the proposer has nothing more from here

  Proposal Offered(const WaitingProposal& one) const { return one.Whole(attempt.proposal.candidate.text); }
};

class Tree {
 public:
  Tree() : nodes_(1), values_(1) {}

  const std::deque<TreeNode>& nodes() const { return nodes_; }  // in the order of trying
  const TreeNode& node(int number) const;
  int attempts() const { return static_cast<int>(nodes_.size()) - 1; }

  // The attempts that were accepted and timed, the fastest first; the earlier of two equal ones first.
  const Ranking& ranked() const { return ranked_; }
  int best() const { return ranked_.empty() ? 0 : ranked_.front(); }
  double best_us() const { return Value(best()); }  // 0 = none

  // Speed of light of the problem, 0 = not known, or time is not what is made small.
  double bound_us() const { return bound_us_; }
  void SetBound(double us) { bound_us_ = us; }

  // What a search goes by, smaller is better: microseconds; 0 = not known.
  double Value(int number) const { return values_[static_cast<std::size_t>(number)]; }

  // Whether an attempt that was accepted is worth being improved. Of those slower than the best by more than kReach one
  // move had to gain more than the built-in expert ever predicts of one (30 %), and a team of agents, which predicts
  // nothing, would think about them for nothing.
  static constexpr double kReach = 1.4;
  bool InReach(int number) const { return Value(number) <= kReach * Value(best()); }

  // What a strategy may select: a proposal waits there, or the proposer is free and may have one.
  bool Open(const TreeNode& node) const { return !node.waiting.empty() || (!node.exhausted && !asked_); }
  // The parents of what is in flight, one for each, in no order.
  const std::vector<int>& flying() const { return flying_; }
  // The nodes whose proposals or children changed, in the order of the changes, some of them more than once. It only
  // grows: whoever keeps something of a branch looks at what is new.
  const std::vector<int>& touched() const { return touched_; }
  // The node that the proposer is asked about right now.
  std::optional<int> asked() const { return asked_; }

  void Ask(int number, int mate = 0);
  // The answer for the node that was asked, or for any other. An empty one exhausts it, unless it is about a crossing.
  void AddProposals(int number, int round, const std::vector<Proposal>& proposals, int mate = 0);
  // The same with what of them was neither tried nor waits here, as the proposals that were added last. `none`: the
  // answer was empty.
  void AddWaiting(int number, std::vector<WaitingProposal> fresh, bool none, int mate = 0);
  // The question was taken back.
  void Unask() { asked_.reset(); }
  // The candidate is in work: it waits nowhere any more, and is not taken up again.
  void Begin(int parent, const CandidateKey& candidate);
  void Begin(const Attempt& attempt) { Begin(attempt.parent, CandidateKey::Of(attempt.proposal.candidate)); }
  // It waits nowhere any more, is not taken up again, and was never tried.
  void Drop(const CandidateKey& candidate) { Take(candidate); }
  // The attempt with the next number, which was begun, has ended.
  void AddAttempt(Attempt attempt);

  // A fingerprint of what was tried from where and with which outcome and time: equal searches have equal ones.
  std::string Signature() const;

 private:
  TreeNode& at(int number);
  void Take(const CandidateKey& candidate);
  void Touch(int number) {
    if (touched_.empty() || touched_.back() != number) touched_.push_back(number);
  }

  std::deque<TreeNode> nodes_;  // one that grows without moving what is there
  std::vector<double> values_;  // of the nodes: apart, since strategies compare many of them
  Ranking ranked_;
  std::vector<int> flying_;
  std::vector<int> touched_;
  std::optional<int> asked_;
  double bound_us_ = 0;
  CandidateIndex candidates_;
};

}  // namespace hone
