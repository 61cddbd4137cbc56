// A page of the documentation in its sections, for those who have room for some of them. No state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hone {

// The pages of docs/ about the kernel language, plans, and what makes kernels fast on Hopper.
extern const std::string_view kLanguagePage, kPlanPage, kHopperPage;

struct PageSection {
  std::string_view title;  // "attention", without its #
  std::string_view text;   // from its heading up to the next one; part of the page
};
// In their order. What looks like a heading in a fence is none.
std::vector<PageSection> SectionsOf(std::string_view page);
// The section with that title; without one, the list of titles. kUsage, and what it may have meant, if there is none.
Result<std::string> SectionNamed(std::string_view page, const std::string& title);

// Those that have any of the words, the one that has most of them first: words in a title count for more, and words
// that many sections have for less. Letters' cases are one. Equal ones stay in their order.
std::vector<PageSection> Relevant(const std::vector<PageSection>& sections, const std::vector<std::string>& words);

}  // namespace hone
