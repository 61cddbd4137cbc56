// Why a candidate takes as long as it does: each of its profiles is classed, the rules of the class are asked, and what
// they find is ranked by the time that it costs. The same profiles give the same findings in the same order. No device,
// no clock; safe from any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/rule.h"

namespace hone {

// More than these are no help to anybody.
inline constexpr std::size_t kMostFindings = 5;

struct SilentRule {
  std::string_view rule;
  std::vector<std::string_view> lacks;  // facts
};

// Of one profile.
struct Subject {
  Profile profile;
  Classification classification;
  std::vector<Finding> findings;   // of all rules of the class, best first
  std::vector<SilentRule> silent;  // that had to say nothing for want of facts
};

struct Diagnosis {
  std::vector<Subject> subjects;  // in the order of the profiles
  std::vector<Finding> findings;  // of all of them, best first: kMostFindings at most
  std::size_t left_out = 0;       // beyond these
};

Diagnosis Diagnose(std::vector<Profile> profiles, std::span<const Rule* const> rules = AllRules());

// Takes findings in that others made of the same profiles; their subjects are known.
void AddFindings(Diagnosis& diagnosis, std::vector<Finding> findings);

// "findings" and "diagnosis" of a document, and the same for people.
nlohmann::json ToJson(const Diagnosis& diagnosis);
std::string Describe(const Diagnosis& diagnosis);
std::string Describe(const std::vector<Finding>& findings);  // numbered; empty without any

}  // namespace hone
