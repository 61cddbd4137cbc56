#include "propose/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/text.h"

namespace hone {
namespace {

constexpr double kOfTitle = 8;  // mentions in a text that one in the title is worth

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

// As a word of its own, or a part of one that _ joins.
int Mentions(std::string_view text, std::string_view word) {
  int mentions = 0;
  const auto letter = [&](std::size_t at) {
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at]));
  };
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + word.size()))
    mentions += !(at > 0 && letter(at - 1)) && !letter(at + word.size());
  return mentions;
}

}  // namespace

std::vector<PageSection> SectionsOf(std::string_view page) {
  std::vector<PageSection> sections;
  std::size_t section = page.npos;
  bool fenced = false;
  const auto end = [&](std::size_t at) {
    if (section != page.npos) sections.back().text = page.substr(section, at - section);
  };
  for (std::size_t begin = 0; begin < page.size();) {
    const std::size_t newline = std::min(page.find('\n', begin), page.size());
    const std::string_view line = page.substr(begin, newline - begin);
    if (line.starts_with("```")) fenced = !fenced;
    if (!fenced && line.starts_with('#')) {
      end(begin);
      section = begin;
      const std::size_t title = std::min(line.find_first_not_of("# "), line.size());
      sections.push_back({line.substr(title), {}});
    }
    begin = newline + 1;
  }
  end(page.size());
  return sections;
}

Result<std::string> SectionNamed(std::string_view page, const std::string& title) {
  std::vector<std::string_view> titles;
  for (const PageSection& section : SectionsOf(page)) {
    if (section.title == title) return std::string(section.text);
    titles.push_back(section.title);
  }
  if (!title.empty())
    return Fail(ErrorKind::kUsage,
                fmt::format("the page has no section '{}'{}", title.substr(0, 60), DidYouMean(title, titles)));
  std::string text = "The sections of the page:\n";
  for (const std::string_view one : titles) text += fmt::format("- {}\n", one);
  return text;
}

std::vector<PageSection> Relevant(const std::vector<PageSection>& sections, const std::vector<std::string>& words) {
  std::vector<double> scores(sections.size());
  std::vector<std::string> texts;
  for (const PageSection& section : sections) texts.push_back(Lower(section.text));
  for (const std::string& word : words) {
    const std::string lower = Lower(word);
    if (lower.size() < 2) continue;
    std::vector<double> mentions(sections.size());
    double having = 0;
    for (std::size_t i = 0; i < sections.size(); ++i) {
      mentions[i] = Mentions(texts[i], lower) + kOfTitle * Mentions(Lower(sections[i].title), lower);
      having += mentions[i] > 0;
    }
    for (std::size_t i = 0; i < sections.size(); ++i)
      scores[i] += std::log1p(mentions[i]) * std::log1p(static_cast<double>(sections.size()) / std::max(having, 1.0));
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (scores[i] > 0) order.push_back(i);
  }
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return scores[i]; });
  std::vector<PageSection> relevant;
  for (const std::size_t i : order) relevant.push_back(sections[i]);
  return relevant;
}

}  // namespace hone
