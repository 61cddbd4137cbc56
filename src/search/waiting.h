// A proposal that was not tried yet, as a tree keeps it. There may be dozens of them for each attempt, variants of one
// text mostly: so a text is kept as what differs from that of the attempt that it improves on, and what no strategy
// goes by in one piece of memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "propose/proposer.h"

namespace hone {

// The first 128 bits of a candidate's identity: enough to tell candidates apart, and a tenth of the memory of its text.
struct CandidateKey {
  static CandidateKey Of(const Candidate& candidate);
  static CandidateKey OfIdentity(std::string_view identity);  // Candidate::Identity
  bool operator==(const CandidateKey&) const = default;
  std::uint64_t high = 0, low = 0;
};

class WaitingProposal {
 public:
  // `base`: the text that the proposal's is likely to be like.
  WaitingProposal(const Proposal& proposal, const CandidateKey& candidate, std::string_view base);
  // One that was packed() before, beside the same base.
  WaitingProposal(const CandidateKey& candidate, double predicted_us, std::string_view packed);

  std::string_view key() const;                 // Proposal::key
  Proposal Whole(std::string_view base) const;  // the same base
  const CandidateKey& candidate() const { return candidate_; }
  double predicted_us() const { return predicted_us_; }  // 0 = none
  std::string_view packed() const;                       // all the rest, as bytes

  int round = 0;  // of the run, that brought it
  int mate = 0;   // that the node was crossed with; 0 = none

 private:
  void Keep(std::string_view packed);
  CandidateKey candidate_;
  double predicted_us_;
  std::unique_ptr<char[]> packed_;  // the rest: their size, then as base/packed.h packs them
};

}  // namespace hone
