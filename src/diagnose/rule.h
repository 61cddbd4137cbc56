// A Rule looks at the facts of one profile and finds one kind of fault, or nothing. To add one, copy
// rules/vector_width.cc: one file is one rule, its name is the one in reports and in the run store. The row says
// everything: which facts it needs, above or below which threshold it looks closer, where that number is from, and
// facts on which it fires and on which it is silent, and which settings may mend it. rules_test.cc holds every rule to
// its examples; examples/gallery has kernels for those whose facts need no device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/row.h"
#include "diagnose/bottleneck.h"
#include "diagnose/finding.h"
#include "profile/profile.h"

namespace hone {

struct Rule;

// The facts that a rule may look at: those that it says it needs, which are all there, and those that it uses.
class Facts {
 public:
  Facts(const Rule& rule, const Profile& profile) : rule_(&rule), profile_(&profile) {}
  double operator[](std::string_view name) const;            // needed
  std::optional<double> Maybe(std::string_view name) const;  // used, where it is known
  std::string_view Word(std::string_view name) const;        // needed or used; empty: not known
  std::string_view subject() const { return profile_->subject; }

 private:
  const Rule* rule_;
  const Profile* profile_;
};

// What a rule found.
struct Found {
  double lost = 0;                              // share of the time, estimated; see Finding
  std::string evidence;                         // with numbers
  std::string advice;                           // names what the text has to change
  std::optional<std::vector<Move>> moves = {};  // some of the rule's; nothing: all of them
};

// A move that a rule may suggest, as Move; "*" is a value that follows from facts.
struct RuleMove {
  std::string_view knob, value = {};
};

// It looks closer where this fact is beyond this value.
struct Threshold {
  enum class Side : std::uint8_t { kAbove, kBelow };
  std::string_view fact;
  Side side = Side::kAbove;
  double value = 0;
  std::string_view source;  // of the value: a document, or our own measurement with device and date
};

struct ExampleFact {
  std::string_view name;
  double value = 0;
  std::string_view word = {};
};
struct Example {
  std::string_view what;
  std::span<const ExampleFact> facts;
};

struct Rule {
  std::string_view name;   // the file's
  std::string_view title;  // the fault in a few words
  Scope scope = Scope::kLaunch;
  std::span<const Bottleneck> classes;      // whose rule it is
  std::span<const std::string_view> needs;  // without all of these it is silent
  std::span<const std::string_view> uses = {};
  Threshold threshold;
  std::span<const RuleMove> moves = {};                         // first what is likelier to help
  std::span<const std::string_view> families = {};              // of the kernels that the moves are for; none: of all
  std::optional<Found> (*check)(const Facts& facts) = nullptr;  // what lies beyond the threshold may still be well
  std::span<const Example> fires, silent;                       // one of each at least
  bool leaves_out = false;  // its mend is to do without the step: all of its time may be saved
  bool sums_up = false;     // it says how much is lost and not to what: it ranks behind those that do
};

std::span<const Rule* const> AllRules();  // by name

// What the rule finds, without asking for the class; confidence is that of the facts it needs, the least.
std::optional<Finding> AskRule(const Rule& rule, const Profile& profile);
// The facts that it needs and the profile lacks.
std::vector<std::string_view> Lacking(const Rule& rule, const Profile& profile);

}  // namespace hone
