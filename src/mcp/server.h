// A server of the Model Context Protocol: tools to call, resources to read, prompts to begin with. It knows what a
// message means and nothing of what the tools do, nor of where lines come from (stdio.h).
//
//   line --> Take --> parsed --> era? --> answered at once                  (lists, prompts, handshakes)
//                                  '----> a thread of its own --> answered  (tool calls, resources)
//                                           ^ cancelled by notifications/cancelled, or when the server goes
//
// Both eras of the protocol, by what a request says: `_meta` names version 2026-07-28, and each request stands alone;
// or `initialize` began a session of 2025-11-25 or 2025-06-18. One process may be asked in both.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "mcp/message.h"

namespace hone::mcp {

// One call of a tool while it runs; its thread's. May be cancelled at any time: look often, and then end within
// seconds. What is answered to a cancelled call goes nowhere.
class Call {
 public:
  virtual ~Call() = default;
  virtual bool cancelled() const = 0;
  // Says how far it is to a client that asked to be told; one line.
  virtual void Progress(std::string_view line) = 0;
};

struct ToolAnswer {
  std::string document;   // JSON: an object; empty: none
  std::string text;       // for a reader, beside the document; empty: none
  bool is_error = false;  // the tool could not do it: the text says why, and the mend
};

// Hints for a client that asks its user before it calls.
enum class Effect { kReads, kWrites, kDestroys };

struct Tool {
  std::string name;          // letters, digits, _ . -; at most 128
  std::string title;         // a line for people
  std::string description;   // for a model
  std::string input_schema;  // JSON Schema of an object, as JSON
  Effect effect = Effect::kWrites;
  std::function<ToolAnswer(const nlohmann::json& arguments, Call& call)> run;  // from several threads at once
};

// Something to read, or with {names} in its URI a pattern of such.
struct Resource {
  std::string uri;
  std::string name;
  std::string description;
  std::string mime;
};

struct ResourceText {
  std::string mime;
  std::string text;
};

struct PromptArgument {
  std::string name;
  std::string description;
  bool required = true;
};

struct Prompt {
  std::string name;
  std::string description;
  std::vector<PromptArgument> arguments;
  std::string text;  // {name} stands for the argument's value
};

// What a server offers. The functions are called from threads of the server's.
struct Catalogue {
  std::string name, version, instructions;
  std::vector<Tool> tools;
  std::vector<Prompt> prompts;
  std::vector<Resource> templates;
  std::function<Result<std::vector<Resource>>(Call& call)> resources;
  std::function<Result<ResourceText>(const std::string& uri, Call& call)> read;  // kNotFound: there is none
};

inline constexpr std::string_view kModernVersion = "2026-07-28";
inline constexpr std::string_view kSessionVersions[] = {"2025-11-25", "2025-06-18"};  // newest first
inline constexpr std::size_t kMostInFlight = 32;                                      // requests; more are refused

class Server {
 public:
  // `write` gets one line without its end at a time, from any thread, never two at once.
  Server(Catalogue catalogue, std::function<void(std::string_view line)> write);
  ~Server();  // cancels what is in flight and waits for its end
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void Take(std::string_view line);  // from one thread
  void RefuseLongLine(std::size_t longest);

 private:
  struct Request;  // one that was taken, with its era
  class InFlight;  // one that has a thread
  using Answer = std::function<void(const Request& request, InFlight& call)>;

  // Sets the era. A failure: the request is of none.
  std::optional<Failure> FindEra(Request& request);
  void Dispatch(Request request);
  void Begin(Request request, Answer answer);
  void Cancel(const nlohmann::json& params);
  void Reap();  // threads that are done

  void CallTool(Request request);
  void ReadResource(Request request);
  void GetPrompt(const Request& request);

  void Write(std::string_view line);
  // What every result of an era has is added here.
  void Succeed(const Request& request, nlohmann::json result, InFlight* call = nullptr);
  void Refuse(const Request& request, const Failure& failure, InFlight* call = nullptr);

  const Catalogue catalogue_;
  Mutex write_mutex_;
  const std::function<void(std::string_view)> write_ HONE_GUARDED_BY(write_mutex_);
  bool in_session_ = false;                         // initialize was asked
  std::list<std::unique_ptr<InFlight>> in_flight_;  // of the thread that takes
};

}  // namespace hone::mcp
