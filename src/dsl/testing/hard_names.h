// Programs under names that are hard to bear: tensors, lets and indices called what the text that we write for the
// program calls things of its own. Nothing of the text may change by it but the spelling of these names.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "candidate/plan.h"
#include "dsl/kernel.h"

namespace hone::dsl::testing {

// Words, and all other characters one by one; comments and blanks are gone.
inline std::vector<std::string_view> Tokens(std::string_view text) {
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  std::vector<std::string_view> tokens;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && in_word(text[end])) ++end;
    if (end == at) ++end;
    if (text.substr(at, 2) == "//")
      end = std::min(text.find('\n', at), text.size());
    else if (!std::isspace(static_cast<unsigned char>(text[at])))
      tokens.push_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

inline bool IsIdentifier(std::string_view token) {
  return std::isalpha(static_cast<unsigned char>(token[0])) || token[0] == '_';
}

// All names of a program that its text may hold.
inline std::vector<std::string*> NamesOf(KernelProgram& program) {
  std::vector<std::string*> names;
  for (auto& buffer : program.buffers) names.push_back(&buffer.name);
  for (auto& kernel : program.kernels) {
    for (auto& let : kernel.lets) names.push_back(&let.name);
    for (auto& [id, name] : kernel.index_names) names.push_back(&name);
  }
  return names;
}

// Whether the word is, or is made with, a name that a user gave.
inline bool IsOfUser(std::string_view word) {
  const std::string prefix = Spelled("");
  for (auto at = word.find(prefix); at != std::string_view::npos; at = word.find(prefix, at + 1)) {
    const bool begins = at == 0 || word[at - 1] == '_';
    const bool named = at + prefix.size() < word.size() && IsIdentifier(word.substr(at + prefix.size()));
    if (begins && named) return true;
  }
  return false;
}

// The identifiers of a text, each once, in an order of their own: what is ours, and the names that would make what is
// made with a user's name ("x_pack" of "t_x_pack").
inline std::vector<std::string> HardNames(std::string_view text) {
  std::set<std::string> names;
  for (const auto token : Tokens(text)) {
    if (!IsIdentifier(token)) continue;
    names.emplace(token);
    const std::string prefix = Spelled("");
    if (token.starts_with(prefix) && IsOfUser(token)) names.emplace(token.substr(prefix.size()));
  }
  return {names.begin(), names.end()};
}

// The program with its names, all but the one that `round` says, replaced by hard ones from `first` on, round and
// round.
inline KernelProgram Renamed(KernelProgram program, const std::vector<std::string>& hard, std::size_t round,
                             std::size_t& first) {
  const std::vector<std::string*> names = NamesOf(program);
  std::map<std::string, std::string> given;  // lets and indices of several statements may have one name: it stays one
  std::set<std::string> taken;
  if (names.size() > 1) {
    const std::string kept = *names[round % names.size()];
    given[kept] = kept;
    taken.insert(kept);
  }
  for (std::string* name : names) {
    if (const auto known = given.find(*name); known != given.end()) {
      *name = known->second;
      continue;
    }
    if (hard.empty()) continue;  // a text of nothing
    std::string fresh;
    for (std::size_t tried = 0; fresh.empty(); ++tried) {
      const std::string& next = hard[first++ % hard.size()];
      fresh = tried < hard.size() ? next : next + "_" + *name;
      if (!taken.insert(fresh).second) fresh.clear();
    }
    given[*name] = fresh;
    *name = fresh;
  }
  return program;
}

// The program under some names of its text: of every program others.
template <class Emit>
KernelProgram WithHardNames(const KernelProgram& program, const Emit& emit) {
  const std::string text = emit(program);
  std::size_t first = text.size();
  return Renamed(program, HardNames(text), text.size(), first);
}

// The first place where the texts differ by more than the names that users gave, in each function each for one other;
// or nothing.
inline std::string Difference(std::string_view plain, std::string_view hard) {
  const auto a = Tokens(plain), b = Tokens(hard);
  std::map<std::string_view, std::string_view> there, back;
  int depth = 0;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    bool same = i < a.size() && i < b.size();
    if (same && IsOfUser(a[i]) && IsOfUser(b[i]))
      same = there.emplace(a[i], b[i]).first->second == b[i] && back.emplace(b[i], a[i]).first->second == a[i];
    else
      same = same && a[i] == b[i];
    if (same) {
      const bool holds_functions = i > 0 && (a[i - 1] == "namespace" || a[i - 1] == "\"");  // extern "C" {
      if (a[i] == "{" && !holds_functions) ++depth;
      if (a[i] != "}") continue;
      depth = std::max(depth - 1, 0);
      if (depth == 0) there.clear(), back.clear();
      continue;
    }
    std::string shown;
    for (const auto& tokens : {a, b}) {
      shown += "\n ";
      for (std::size_t t = i < 20 ? 0 : i - 20; t < std::min(tokens.size(), i + 20); ++t)
        shown += (t == i ? " >>> " : " ") + std::string(tokens[t]);
    }
    return shown;
  }
  return "";
}

inline std::string CudaText(const KernelProgram& program) {
  std::string text;
  for (const auto& source : EmitCuda(program).sources) text += source.text;
  return text;
}

// That every identifier of the program's text can be the name of a tensor, a let or an index in it, and that no
// identifier of ours looks like a user's.
template <class Emit>
void ExpectNamesChangeNothing(const KernelProgram& program, const Emit& emit) {
  const std::string text = emit(program);
  KernelProgram copy = program;
  const auto names = NamesOf(copy);
  for (const auto token : Tokens(text)) {
    EXPECT_TRUE(!IsOfUser(token) || std::any_of(names.begin(), names.end(),
                                                [&](const std::string* name) {
                                                  return token.find(Spelled(*name)) != std::string_view::npos;
                                                }))
        << token << " looks like a name that a user gave";
  }
  const std::vector<std::string> hard = HardNames(text);
  std::size_t first = 0;
  for (std::size_t round = 0; !names.empty() && first < hard.size(); ++round) {
    const KernelProgram renamed = Renamed(program, hard, round, first);
    const std::string difference = Difference(text, emit(renamed));
    EXPECT_EQ(difference, "") << program.kernels[0].text;
    if (!difference.empty()) break;
  }
}

}  // namespace hone::dsl::testing
