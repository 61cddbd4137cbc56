// What a client can read: the pages, and what the run store holds of problems, runs and attempts.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "command/agent/surface.h"
#include "store/store.h"

namespace hone {
namespace {

constexpr std::string_view kScheme = "hone://";
constexpr char kJsonMime[] = "application/json", kPageMime[] = "text/markdown";
constexpr std::size_t kRunsListed = 50;
constexpr std::size_t kIdentityShown = 16;  // digits

// "runs/3fa2/attempts/7" in its parts.
std::vector<std::string> Parts(std::string_view path) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t slash = path.find('/');
    parts.emplace_back(path.substr(0, slash));
    if (slash == path.npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

bool AreHex(std::string_view digits) {
  return !digits.empty() && digits.find_first_not_of("0123456789abcdef") == digits.npos;
}

// Nothing was optimized yet: then there are none.
Result<std::vector<RunRecord>> RunsOf(const AgentDesk& desk) {
  std::error_code ignored;
  if (!std::filesystem::exists(desk.store, ignored)) return std::vector<RunRecord>();
  Store store = HONE_TRY(Store::OpenExisting(desk.store));
  return store.Runs();
}

Result<mcp::ResourceText> ReadProblem(const AgentDesk& desk, const std::string& identity) {
  for (const RunRecord& run : HONE_TRY(RunsOf(desk))) {
    if (!run.problem_identity.starts_with(identity)) continue;
    Store store = HONE_TRY(Store::OpenExisting(desk.store));
    return mcp::ResourceText{kJsonMime, HONE_TRY(store.Blob(run.problem_blob))};
  }
  return Fail(ErrorKind::kNotFound, fmt::format("no run is of a problem whose identity begins with {}", identity));
}

Result<mcp::ResourceText> ReadByVerb(const AgentDesk& desk, std::string_view name,
                                     const std::vector<std::string>& arguments, mcp::Call& call) {
  const Verb* verb = HONE_TRY(FindVerb(name));
  const VerbEnd end =
      HONE_TRY(RunVerb(desk.setting, *verb, arguments, {.cancelled = [&] { return call.cancelled(); }}));
  if (!end.answered()) return Fail(end.not_found ? ErrorKind::kNotFound : ErrorKind::kTool, end.message);
  return mcp::ResourceText{kJsonMime, end.document};
}

}  // namespace

std::string_view TitleOf(const Page& page) {
  std::string_view title = page.text.substr(0, page.text.find('\n'));
  title.remove_prefix(std::min(title.find_first_not_of("# "), title.size()));
  return title;
}

std::vector<mcp::Resource> ResourceTemplates() {
  return {{"hone://pages/{page}", "page", "A page of the documentation", kPageMime},
          {"hone://problems/{identity}", "problem",
           "A problem that some run is of, by the first digits of its identity", kJsonMime},
          {"hone://runs/{run}", "run", "A run with all its attempts, as hone show RUN --json has it", kJsonMime},
          {"hone://runs/{run}/attempts/{attempt}", "attempt",
           "An attempt by its number, or the best: verdict, times, findings, source", kJsonMime}};
}

Result<std::vector<mcp::Resource>> ListResources(AgentDesk& desk) {
  std::vector<mcp::Resource> all;
  for (const Page& page : AllPages())
    all.push_back(
        {fmt::format("hone://pages/{}", page.name), std::string(page.name), std::string(TitleOf(page)), kPageMime});
  all.push_back({"hone://runs", "runs", "All runs in the run store, newest first", kJsonMime});
  std::set<std::string> problems;
  std::size_t listed = 0;
  for (const RunRecord& run : HONE_TRY(RunsOf(desk))) {
    if (++listed > kRunsListed) break;
    all.push_back({fmt::format("hone://runs/{}", run.id), fmt::format("run {}", run.id),
                   fmt::format("{} on {}: {}", run.problem_name, run.target, Name(run.state)), kJsonMime});
    if (problems.insert(run.problem_identity).second) {
      all.push_back({fmt::format("hone://problems/{}", run.problem_identity.substr(0, kIdentityShown)),
                     fmt::format("problem {}", run.problem_name), "As problem.json", kJsonMime});
    }
  }
  return all;
}

Result<mcp::ResourceText> ReadResource(AgentDesk& desk, const std::string& uri, mcp::Call& call) {
  const auto none = [&] {
    return Fail(ErrorKind::kNotFound,
                fmt::format("there is no resource {}; resources/list and resources/templates/list "
                            "say what there is",
                            uri));
  };
  if (!uri.starts_with(kScheme)) return none();
  const std::vector<std::string> parts = Parts(std::string_view(uri).substr(kScheme.size()));
  if (parts[0] == "pages" && parts.size() == 2) {
    for (const Page& page : AllPages()) {
      if (page.name == parts[1]) return mcp::ResourceText{kPageMime, std::string(page.text)};
    }
    return none();
  }
  if (parts[0] == "problems" && parts.size() == 2 && AreHex(parts[1])) return ReadProblem(desk, parts[1]);
  if (parts[0] != "runs") return none();
  if (parts.size() == 1) return ReadByVerb(desk, "runs", {}, call);
  if (!AreHex(parts[1])) return none();
  if (parts.size() == 2) return ReadByVerb(desk, "show", {parts[1]}, call);
  const bool is_attempt = parts.size() == 4 && parts[2] == "attempts" &&
                          (parts[3] == "best" || parts[3].find_first_not_of("0123456789") == std::string::npos);
  return is_attempt && !parts[3].empty() ? ReadByVerb(desk, "show", {parts[1], parts[3]}, call) : none();
}

}  // namespace hone
