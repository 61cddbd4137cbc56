#include "search/move_priors.h"

#include <algorithm>

namespace hone {
namespace {

// Where the name of the knob begins in "y.vector=64".
std::size_t KnobBegin(std::string_view key) {
  const std::size_t end = std::min(key.find('='), key.size());
  const std::size_t dot = key.rfind('.', end);
  return dot == std::string_view::npos || dot > end ? 0 : dot + 1;
}

}  // namespace

std::string KnobOf(std::string_view key) {
  const std::size_t begin = KnobBegin(key), end = std::min(key.find('='), key.size());
  return std::string(key.substr(begin, end - begin));
}

MovePriors::MovePriors(const Experience& experience) {
  for (const auto& [kind, tally] : experience.kinds()) {
    // Of the kinds that a lesson is of, the one that says the knob and the value, and no more: "softmax.vector=64".
    if (kind.find('=') == kind.npos || kind.find('>') != kind.npos || kind.starts_with(kStart)) continue;
    for (const std::string& name : {KnobOf(kind), kind.substr(KnobBegin(kind))}) {
      Prior& prior = known_[name];
      prior.tried += tally.lessons;
      prior.helped += tally.helped;
    }
  }
}

MovePriors::Prior MovePriors::Prior::AtMost(double most) const {
  return tried <= most ? *this : Prior{most, helped * most / tried};
}

MovePriors::Prior MovePriors::OfKnob(std::string_view key) const {
  const auto found = known_.find(KnobOf(key));
  return found == known_.end() ? Prior() : found->second;
}

MovePriors::Prior MovePriors::OfValue(std::string_view key) const {
  const auto found = known_.find(key.substr(KnobBegin(key)));
  return found == known_.end() ? Prior() : found->second;
}

}  // namespace hone
