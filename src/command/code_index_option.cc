#include "command/code_index_option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "propose/lookup.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".sqlite";

fs::path IndexFolder(const VerbCall& call) { return fs::path(StorePath(call)).parent_path() / "indexes"; }

}  // namespace

std::string IndexPathOf(const VerbCall& call, std::string_view name) {
  return (IndexFolder(call) / fmt::format("{}{}", name, kSuffix)).string();
}

Result<std::optional<std::string>> IndexPath(const VerbCall& call) {
  const std::string given = call.Text("index");
  if (given.ends_with(kSuffix) || given.find('/') != given.npos) return given;
  if (!given.empty()) return IndexPathOf(call, given);
  std::vector<std::string> names;
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(IndexFolder(call), failure)) {
    if (entry.path().extension() == kSuffix) names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  if (names.empty()) return std::nullopt;
  if (names.size() > 1)
    return Fail(ErrorKind::kUsage,
                fmt::format("there are several code indexes; --index says which: {}", fmt::join(names, ", ")));
  return IndexPathOf(call, names.front());
}

Result<std::string> IndexFor(const VerbCall& call, const ChosenProposers& proposers) {
  if (proposers.Take(kLookupTokens.name)) return HONE_TRY(IndexPath(call)).value_or("");
  if (!call.Has("index")) return std::string();
  return Fail(
      ErrorKind::kUsage,
      fmt::format("--index is of proposers that language models speak for; {} looks nothing up", proposers.Identity()));
}

int LimitOf(const VerbCall& call) { return static_cast<int>(std::min<std::int64_t>(call.Int("limit"), kMostHits)); }

Result<CodeIndex> OpenIndex(const VerbCall& call) {
  const auto path = HONE_TRY(IndexPath(call));
  if (!path)
    return Fail(ErrorKind::kNotFound,
                fmt::format("there is no code index in {}; `hone index DIR` makes one", IndexFolder(call).string()));
  return CodeIndex::Open(*path);
}

}  // namespace hone
