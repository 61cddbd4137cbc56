// hone index: the index of a tree of sources, for search-code, read-code and find-symbol.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "command/code_index_option.h"
#include "command/command.h"
#include "index/build_index.h"

namespace hone::verb_index {
namespace {

constexpr Positional kPositionals[] = {
    {.name = "folder", .help = "the tree: CUTLASS's include folder, or any other", .reads = true}};
constexpr Option kOptions[] = {
    {.name = "name", .value = "NAME", .help = "what the index is called (default: the folder's own name)"},
    {.name = "output",
     .letter = 'o',
     .value = "FILE",
     .help = "its file (default: indexes/NAME.sqlite beside the run store)"},
    kStoreOption};

// A name is a file's: no way to another folder.
Result<std::string> NameOf(VerbCall& call) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  std::string name =
      call.Has("name") ? call.Text("name") : fs::canonical(call.Text("folder"), ignored).filename().string();
  if (name.empty() || name.starts_with('.') || name.find('/') != name.npos)
    return Fail(ErrorKind::kUsage, fmt::format("--name '{}': a name has no / and begins with no dot", name));
  return name;
}

Result<Answer> RunIt(VerbCall& call) {
  const std::string path = call.Has("output") ? call.Text("output") : IndexPathOf(call, HONE_TRY(NameOf(call)));
  const auto begun = std::chrono::steady_clock::now();
  const IndexReport report = HONE_TRY(
      BuildIndex(call.Text("folder"), path,
                 {.interrupted = &call.CatchInterrupts(), .stage = [&](std::string_view at) { call.Stage(at); }}));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  std::error_code ignored;
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path, ignored));
  const PassedOver& passed = report.passed;
  std::string text = fmt::format(
      "{}: {} files, {:.1f} MB, {} symbols, in {:.2f} s\n"
      "  index    {}, {:.1f} MB\n"
      "  changed  {} new, {} changed, {} gone\n",
      report.root, report.files, static_cast<double>(report.bytes) / 1e6, report.symbols, seconds, path,
      static_cast<double>(size) / 1e6, report.added, report.changed, report.removed);
  if (passed.links + passed.binary + passed.large + passed.unreadable > 0)
    text += fmt::format("  left out {} links, {} binary, {} above {} MiB, {} that cannot be read\n", passed.links,
                        passed.binary, passed.large, kLargestSource >> 20, passed.unreadable);
  return Answer({{"index", path},
                 {"root", report.root},
                 {"files", report.files},
                 {"bytes", report.bytes},
                 {"symbols", report.symbols},
                 {"index_bytes", size},
                 {"added", report.added},
                 {"changed", report.changed},
                 {"removed", report.removed},
                 {"left_out",
                  {{"links", passed.links},
                   {"binary", passed.binary},
                   {"large", passed.large},
                   {"unreadable", passed.unreadable}}},
                 {"seconds", seconds}},
                text);
}

}  // namespace

HONE_ROW(Verb){
    .name = "index",
    .doc = "Index a tree of sources, such as CUTLASS, so that it can be searched",
    .group = VerbGroup::kCode,
    .place = 1,
    .help =
        "The index holds the texts and what they define: types, functions, kernels, aliases, macros of C++\n"
        "and CUDA C++, classes and functions of Python, programs of .hk. It is read without a compiler:\n"
        "what macros make, functions without a body and variables are found as text alone. The same\n"
        "command again reads anew what has changed. Links are not followed; binary files, those above\n"
        "4 MiB and folders of version control are left out. It is whole or as before, also after a kill.\n"
        "\n"
        "  hone index cutlass/include --name cutlass\n"
        "  hone search-code \"warpgroup wait\"\n"
        "  hone find-symbol cute::Layout\n"
        "  hone read-code cute/layout.hpp 100-180\n",
    .positionals = kPositionals,
    .options = kOptions,
    .json =
        "index (its file), root, files, bytes (of their texts), symbols, index_bytes, added, changed, removed\n"
        "(files), left_out: links, binary, large, unreadable (files); seconds.",
    .run = RunIt,
};

}  // namespace hone::verb_index
