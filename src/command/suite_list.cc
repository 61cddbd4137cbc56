#include "command/suite_list.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string_view>

#include "base/files.h"
#include "base/sha256.h"
#include "problem/problem.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

// "level1/9_x" before "level1/10_x".
bool Before(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  while (i < a.size() && j < b.size()) {
    if (!digit(a[i]) || !digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    const auto number = [&](std::string_view text, std::size_t& at) {
      while (at + 1 < text.size() && text[at] == '0' && digit(text[at + 1])) ++at;
      const std::size_t begin = at;
      while (at < text.size() && digit(text[at])) ++at;
      return text.substr(begin, at - begin);
    };
    const std::string_view left = number(a, i), right = number(b, j);
    if (left.size() != right.size()) return left.size() < right.size();
    if (left != right) return left < right;
  }
  if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
  return a < b;
}

// Of a list, where it stands there: "line 3"; of a folder nothing.
struct Listing {
  SuiteProblem problem;
  std::string where = {};
};

bool Hidden(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with('.') || name.starts_with("__");
}

SuiteProblem ProblemAt(const fs::path& path, const fs::path& root) {
  SuiteProblem problem;
  problem.path = path.string();
  const fs::path below = path.lexically_normal().lexically_proximate(root.lexically_normal());
  // Of what lies elsewhere the folders above say nothing.
  const fs::path named = below.begin() != below.end() && *below.begin() == ".." ? path.filename() : below;
  problem.name = fs::path(named).replace_extension().generic_string();
  problem.group = named.has_parent_path() ? named.parent_path().generic_string()
                                          : fs::absolute(path).lexically_normal().parent_path().filename().string();
  return problem;
}

// The file that a problem.json was imported from; empty: it says none, or it cannot be read.
std::string SourceOf(const std::string& json) {
  const auto problem = LoadProblem(json);
  if (!problem) return "";
  const auto source = problem->provenance.find("source");
  return source == problem->provenance.end() ? "" : source->second;
}

// `hone import --shrink` writes its problem.json and the cut file side by side: they are one problem, the .json.
void LeaveOutSources(std::vector<SuiteProblem>& problems) {
  std::set<std::string> sources;
  for (const SuiteProblem& one : problems) {
    std::error_code ignored;
    fs::path file = one.path;
    if (file.extension() != ".json") continue;
    for (const char* kind : {".py", ".pt2"}) {
      file.replace_extension(kind);
      if (fs::exists(file, ignored) && fs::equivalent(SourceOf(one.path), file, ignored)) sources.insert(file.string());
    }
  }
  std::erase_if(problems, [&](const SuiteProblem& one) { return sources.contains(one.path); });
}

Result<std::vector<Listing>> OfFolder(const fs::path& folder) {
  std::vector<SuiteProblem> problems;
  std::error_code failed;
  for (auto it = fs::recursive_directory_iterator(folder, failed); !failed && it != fs::recursive_directory_iterator();
       it.increment(failed)) {
    if (Hidden(it->path())) {
      if (it->is_directory()) it.disable_recursion_pending();
      continue;
    }
    const fs::path kind = it->path().extension();
    if (it->is_regular_file() && (kind == ".py" || kind == ".json" || kind == ".pt2"))
      problems.push_back(ProblemAt(it->path(), folder));
  }
  if (failed) return Fail(ErrorKind::kIo, fmt::format("--suite {}: {}", folder.string(), failed.message()));
  std::sort(problems.begin(), problems.end(),
            [](const SuiteProblem& a, const SuiteProblem& b) { return Before(a.path, b.path); });
  LeaveOutSources(problems);
  std::vector<Listing> listed;
  for (SuiteProblem& problem : problems) listed.push_back({std::move(problem)});
  return listed;
}

Result<std::vector<Listing>> OfText(const std::string& text, const fs::path& folder) {
  std::vector<Listing> problems;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    line = line.substr(0, line.find('#'));
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
    line.erase(0, line.find_first_not_of(" \t"));
    if (!line.empty()) problems.push_back({ProblemAt(folder / line, folder), fmt::format(", line {}", number)});
  }
  return problems;
}

Result<std::vector<Listing>> OfJson(const std::string& text, const std::string& path, const fs::path& folder) {
  const nlohmann::json list = nlohmann::json::parse(text, nullptr, false);
  if (list.is_object() && list.contains("hone_problem"))
    return Fail(ErrorKind::kUsage,
                fmt::format("--suite {0}: that is one problem, not a list of them: hone optimize {0}", path));
  const auto wrong = [&](std::size_t at) {
    return Fail(ErrorKind::kUsage,
                fmt::format("--suite {}: entry {} is neither a path nor an object with a path", path, at));
  };
  if (!list.is_array())
    return Fail(ErrorKind::kUsage, fmt::format("--suite {}: it is no JSON array of paths to problems", path));
  std::vector<Listing> problems;
  for (const auto& entry : list) {
    const auto word = [&](const char* key) {
      return entry.is_object() && entry.contains(key) && entry[key].is_string() ? entry[key].get<std::string>()
                                                                                : std::string();
    };
    const std::string where = entry.is_string() ? entry.get<std::string>() : word("path");
    if (where.empty()) return wrong(problems.size());
    SuiteProblem problem = ProblemAt(folder / where, folder);
    if (const std::string name = word("name"); !name.empty()) problem.name = name;
    if (const std::string group = word("group"); !group.empty()) problem.group = group;
    problems.push_back({std::move(problem), fmt::format(", entry {}", problems.size())});
  }
  return problems;
}

Result<std::vector<Listing>> Listed(const std::string& path) {
  const fs::path of_kernelbench = fs::path(path) / "KernelBench";
  if (fs::is_directory(of_kernelbench / "level1")) return OfFolder(of_kernelbench);
  if (fs::is_directory(path)) return OfFolder(path);
  const std::string text = HONE_TRY(ReadFile(path));
  const fs::path folder = fs::path(path).parent_path();
  return path.ends_with(".json") ? OfJson(text, path, folder) : OfText(text, folder);
}

// Files of values that a problem.json names lie beside it: elsewhere the same text may say something else.
std::string ContentOf(const fs::path& path, const std::string& sha256) {
  return path.extension() == ".json" ? fs::absolute(path).lexically_normal().parent_path().string() + " " + sha256
                                     : sha256;
}

bool Matches(const std::string& name, std::string_view patterns) {
  for (std::size_t begin = 0; begin <= patterns.size();) {
    const std::size_t end = std::min(patterns.find(',', begin), patterns.size());
    if (fnmatch(std::string(patterns.substr(begin, end - begin)).c_str(), name.c_str(), 0) == 0) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

Result<SuiteList> ListSuite(const std::string& path, std::string_view only) {
  std::vector<Listing> listed = HONE_TRY(Listed(path));
  if (listed.empty())
    return Fail(ErrorKind::kUsage, fmt::format("--suite {}: no problem is there; it takes a folder of .py and .json "
                                               "files, or a file with a path a line",
                                               path));
  if (!only.empty()) std::erase_if(listed, [&](const Listing& one) { return !Matches(one.problem.name, only); });
  if (listed.empty())
    return Fail(ErrorKind::kUsage,
                fmt::format("--only {}: no name in {} matches; names are as in the table: level1/*, say", only, path));
  SuiteList list;
  std::map<std::string, std::string> named;
  std::map<std::string, std::string> contents;  // to the name of whose it is
  for (auto& [problem, where] : listed) {
    auto content = Sha256OfFile(problem.path);
    if (!content) return Fail(ErrorKind::kUsage, fmt::format("--suite {}{}: {}", path, where, content.error().message));
    const auto [there, fresh] = named.emplace(problem.name, problem.path);
    if (!fresh)
      return Fail(ErrorKind::kUsage,
                  fmt::format("--suite {}: {} and {} have one name; a JSON list may give them others", path,
                              there->second, problem.path));
    const auto [same, first] = contents.emplace(ContentOf(problem.path, *content), problem.name);
    if (!first) {  // one run of both, which would count twice
      list.left_out.push_back(fmt::format("{} is the same problem as {} and left out", problem.name, same->second));
      continue;
    }
    problem.key = problem.name + " " + content->substr(0, 12);
    list.problems.push_back(std::move(problem));
  }
  return list;
}

}  // namespace hone
