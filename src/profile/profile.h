// A Profile: all that is known of one launch of a kernel, of one statement of a program, or of a whole candidate, as
// named facts. Each says where it is from and how far it is to be believed. What is not known has no fact: nobody
// guesses by writing 0. A plain value.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/facts.h"

namespace hone {

enum class FactSource : std::uint8_t {
  kCubin,     // read from the compiled kernel
  kObject,    // read from a module for the processor
  kLaunch,    // follows from the launch and the device's limits
  kAnalytic,  // follows from the problem, the plan and the device's ceilings
  kCounter,   // counted by the device
  kTiming,    // timed
};
std::string_view Name(FactSource source);  // "cubin"
std::optional<FactSource> ParseFactSource(std::string_view name);

struct Fact {
  std::string name;  // of the table in facts.h
  double value = 0;
  std::string word = {};  // in place of the value, of facts that are words
  FactSource source = FactSource::kAnalytic;
  double confidence = 1;  // 0 to 1; below 1 where it rests on an assumption
};

class Profile {
 public:
  Profile() = default;
  Profile(Scope of, std::string named) : scope(of), subject(std::move(named)) {}

  Scope scope = Scope::kLaunch;
  std::string subject;     // the kernel's name, the statement's target, the candidate's file
  std::string where = {};  // "/steps/2", "line 7"; empty: nowhere in particular

  // A name that the table does not have is a bug, as is a word for a number.
  void Set(std::string_view name, double value, FactSource source, double confidence = 1);
  void SetWord(std::string_view name, std::string_view word, FactSource source);
  const Fact* Find(std::string_view name) const;  // null: not known
  std::optional<double> Get(std::string_view name) const;
  std::string_view Word(std::string_view name) const;        // empty: not known
  const std::vector<Fact>& facts() const { return facts_; }  // in the order of the table

 private:
  void Put(Fact fact);
  std::vector<Fact> facts_;
};

// {"scope", "subject", "where", "facts": [{"name", "value", "unit", "source", "confidence"}]}
nlohmann::json ToJson(const Profile& profile);

}  // namespace hone
