// The verbs as an MCP server has them: each listed verb is a tool, by its row; beside them what a client needs that has
// no shell: long runs, files of one folder, the pages of the documentation.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "command/agent/background.h"
#include "command/agent/files.h"
#include "command/agent/verb_process.h"
#include "command/command.h"
#include "mcp/server.h"

namespace hone {

// A page of docs/, compiled in. The list is in this folder's CMakeLists.txt.
struct Page {
  std::string_view name;
  std::string_view text;
};
std::span<const Page> AllPages();
std::string_view TitleOf(const Page& page);  // its first line

// What the tools work with. Outlives the server.
struct AgentDesk {
  VerbSetting setting;
  WorkFolder folder;
  std::string store;  // path of the run store
  Background background;
};

mcp::Catalogue MakeCatalogue(AgentDesk& desk);

// Its parts.
std::vector<mcp::Tool> VerbTools(AgentDesk& desk);
std::vector<mcp::Tool> RunTools(AgentDesk& desk);
std::vector<mcp::Tool> FolderTools(AgentDesk& desk);
std::vector<mcp::Prompt> AgentPrompts();
std::vector<mcp::Resource> ResourceTemplates();
// Fail where the run store does.
Result<std::vector<mcp::Resource>> ListResources(AgentDesk& desk);
Result<mcp::ResourceText> ReadResource(AgentDesk& desk, const std::string& uri, mcp::Call& call);

std::string ToolName(const Verb& verb);  // search-code is search_code there, as tools are called
// What a verb's end is to a client: its document, and in words what exit code 1 means of this verb.
mcp::ToolAnswer AnswerOf(const Verb& verb, const VerbEnd& end);
mcp::ToolAnswer AnswerOf(const Error& error);

}  // namespace hone
