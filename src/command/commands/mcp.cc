// hone mcp: the verbs for a coding agent, by the Model Context Protocol on standard input and output.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/interrupt.h"
#include "command/agent/surface.h"
#include "command/command.h"
#include "mcp/stdio.h"

namespace hone::verb_mcp {
namespace {

constexpr Option kOptions[] = {{.name = "folder",
                                .value = "DIR",
                                .help = "where files go in and out, and what paths are relative to (default: here)",
                                .reads = true},
                               kStoreOption};

Result<Answer> RunIt(VerbCall& call) {
  const std::atomic<bool>& stop = call.CatchInterrupts();
  // Tools may begin processes anywhere; the store is the one that was meant here.
  std::error_code failure;
  const std::string store = std::filesystem::absolute(StorePath(call), failure).string();
  WorkFolder folder = HONE_TRY(WorkFolder::Open(call.Has("folder") ? call.Text("folder") : "."));
  if (chdir(folder.path().c_str()) != 0)
    return Fail(ErrorKind::kIo, fmt::format("--folder {}: {}", folder.path(), std::strerror(errno)));
  const VerbSetting setting = OwnSetting(store);
  AgentDesk desk{.setting = setting, .folder = std::move(folder), .store = store, .background = Background(setting)};
  HONE_TRY(mcp::Serve(MakeCatalogue(desk), STDIN_FILENO, STDOUT_FILENO, stop));
  return Answer::FromJsonText("", "");
}

}  // namespace

HONE_ROW(Verb){
    .name = "mcp",
    .doc = "Serve these verbs to a coding agent, by the Model Context Protocol",
    .group = VerbGroup::kMachine,
    .place = 7,
    .help =
        "Speaks on standard input and output, until the input ends. Each verb is a tool; beside them are\n"
        "tools for runs that take long, for files of one folder, and for the pages of the documentation.\n"
        "Versions 2026-07-28, 2025-11-25 and 2025-06-18. docs/agents.md is the guide for agents.\n"
        "\n"
        "  claude mcp add hone -- hone mcp --folder ~/kernels\n"
        "  codex mcp add hone -- hone mcp --folder ~/kernels\n"
        "\n"
        "Its files stay in the folder. The verbs do what they do for whoever types them: they read and\n"
        "write where this user may.\n",
    .options = kOptions,
    .json = "nothing: what it writes are messages of the protocol",
    .run = RunIt,
    .owns_output = true,
};

}  // namespace hone::verb_mcp
