// The names of all facts that a profile may hold: what each means, in what unit. A rule asks for facts by these names,
// an outside tool reads them by these names, and docs/diagnosis.md lists them. To add one, add a row to the table in
// facts.cc and set it where it becomes known.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

// What a profile is of.
enum class Scope : std::uint8_t {
  kLaunch,     // one launch of a kernel, or a kernel whose launch is not known
  kStatement,  // one statement of a program of the kernel language
  kFunction,   // a function of a module for the processor
  kPlan,       // all of a candidate
};
std::string_view Name(Scope scope);  // "launch"

enum class FactUnit : std::uint8_t { kCount, kBytes, kShare, kMicroseconds, kFlops, kPerSecond, kRatio, kWord };
std::string_view Name(FactUnit unit);  // "bytes"; a share is 0 to 1

// What is counted together. Each set holds those before it: more facts, more runs of each kernel.
enum class CounterSet : std::uint8_t { kTriage, kStandard, kAll };
std::string_view Name(CounterSet set);  // "triage"
std::optional<CounterSet> ParseCounterSet(std::string_view name);

struct FactName {
  std::string_view name;
  FactUnit unit = FactUnit::kCount;
  std::string_view doc;           // one line
  std::string_view counter = {};  // the CUPTI metric that it is, on GH100; empty: it is no counter
  CounterSet set = CounterSet::kAll;
  // To the fact's unit: metrics are in nanoseconds and percent.
  double scale = 1;
  std::string_view over = {};  // the metric that it is divided by; empty: none
};

std::span<const FactName> AllFacts();
const FactName* FindFact(std::string_view name);  // null: there is none

// The metrics that the facts of a set are made of, each once.
std::vector<std::string> MetricsOf(CounterSet set);

}  // namespace hone
