// What a program prints that asks a model for us: an agent's command line. One file of formats/ is one such form; its
// name is the one that the models file takes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/row.h"
#include "model/conversation.h"

namespace hone {

struct ExecFormat {
  std::string_view name;  // "claude-json"
  std::string_view doc;   // one line: who prints so
  // Of all that it printed. kIo, and why: it says itself that it failed, or it is no such output.
  Result<ModelReply> (*read)(const std::string& output) = nullptr;
  // Where it says in this form why it failed.
  enum class Complains { kOnOutput, kOnErrors } complains = Complains::kOnOutput;
};

std::span<const ExecFormat* const> AllExecFormats();      // sorted by file name
const ExecFormat* FindExecFormat(std::string_view name);  // null: there is none of that name

}  // namespace hone
