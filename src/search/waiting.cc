#include "search/waiting.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/check.h"
#include "base/packed.h"

namespace hone {
namespace {

constexpr std::uint64_t kDropped = 1, kPromised = 2;

}  // namespace

CandidateKey CandidateKey::Of(const Candidate& candidate) { return OfIdentity(candidate.Identity()); }

CandidateKey CandidateKey::OfIdentity(std::string_view identity) {
  // What a damaged store says is no identity is nobody's.
  if (identity.size() < 32) return {};
  const auto part = [&](std::size_t from) {
    std::uint64_t bits = 0;
    std::from_chars(identity.data() + from, identity.data() + from + 16, bits, 16);
    return bits;
  };
  return {part(0), part(16)};
}

WaitingProposal::WaitingProposal(const Proposal& proposal, const CandidateKey& candidate, std::string_view base)
    : candidate_(candidate), predicted_us_(proposal.predicted_us) {
  const std::string_view text = proposal.candidate.text;
  const auto head =
      static_cast<std::size_t>(std::mismatch(base.begin(), base.end(), text.begin(), text.end()).first - base.begin());
  const std::string_view base_rest = base.substr(head), rest = text.substr(head);
  const auto tail = static_cast<std::size_t>(
      std::mismatch(base_rest.rbegin(), base_rest.rend(), rest.rbegin(), rest.rend()).first - base_rest.rbegin());
  std::uint64_t promised = 0;
  static_assert(sizeof promised == sizeof proposal.promised);
  std::memcpy(&promised, &proposal.promised, sizeof promised);
  std::string packed;
  Packer to(packed);
  to.Text(proposal.key);
  to.Number((static_cast<std::uint64_t>(proposal.candidate.kind) << 2U) | (promised != 0 ? kPromised : 0U) |
            (proposal.dropped ? kDropped : 0U));
  to.Number(head);
  to.Text(rest.substr(0, rest.size() - tail));
  to.Number(tail);
  to.Text(proposal.origin);
  to.Text(proposal.rule);
  if (promised != 0) to.Number(promised);
  to.Text(proposal.doubt);
  Keep(packed);
}

WaitingProposal::WaitingProposal(const CandidateKey& candidate, double predicted_us, std::string_view packed)
    : candidate_(candidate), predicted_us_(predicted_us) {
  Keep(packed);
}

void WaitingProposal::Keep(std::string_view packed) {
  std::string head;
  Packer(head).Number(packed.size());
  packed_ = std::make_unique_for_overwrite<char[]>(head.size() + packed.size());
  std::ranges::copy(packed, std::ranges::copy(head, packed_.get()).out);
}

std::string_view WaitingProposal::packed() const {
  std::size_t size = 0;
  const char* from = packed_.get();
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*from++);
    size |= static_cast<std::size_t>(byte & 0x7fU) << shift;
    if (byte < 0x80U) return {from, size};
  }
}

std::string_view WaitingProposal::key() const { return Unpacker(packed()).Text(); }

Proposal WaitingProposal::Whole(std::string_view base) const {
  Unpacker from(packed());
  Proposal proposal;
  proposal.predicted_us = predicted_us_;
  proposal.key = from.Text();
  const std::uint64_t kind_and_flags = from.Number();
  proposal.candidate.kind = static_cast<CandidateKind>(kind_and_flags >> 2U);
  proposal.dropped = (kind_and_flags & kDropped) != 0;
  const std::size_t head = from.Number();
  const std::string_view middle = from.Text();
  const std::size_t tail = from.Number();
  HONE_CHECK(head + tail <= base.size(), "a proposal that waits was packed beside another text");
  proposal.candidate.text.reserve(head + middle.size() + tail);
  proposal.candidate.text.append(base.substr(0, head)).append(middle).append(base.substr(base.size() - tail));
  proposal.origin = from.Text();
  proposal.rule = from.Text();
  const std::uint64_t promised = (kind_and_flags & kPromised) != 0 ? from.Number() : 0;
  std::memcpy(&proposal.promised, &promised, sizeof promised);
  proposal.doubt = from.Text();
  return proposal;
}

}  // namespace hone
