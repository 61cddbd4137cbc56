// The names of all facts that a profile may hold: what each means, in what unit. A rule asks for facts by these names,
// an outside tool reads them by these names, and docs/diagnosis.md lists them. To add one, add a row to the table in
// facts.cc and set it where it becomes known.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

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

struct FactName {
  std::string_view name;
  FactUnit unit = FactUnit::kCount;
  std::string_view doc;           // one line
  std::string_view counter = {};  // the CUPTI metric that it is, on GH100; empty: it is no counter
};

std::span<const FactName> AllFacts();
const FactName* FindFact(std::string_view name);  // null: there is none

}  // namespace hone
