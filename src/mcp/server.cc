#include "mcp/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json_text.h"

namespace hone::mcp {
namespace {

using Json = nlohmann::json;

constexpr char kVersionKey[] = "io.modelcontextprotocol/protocolVersion";
constexpr char kCapabilitiesKey[] = "io.modelcontextprotocol/clientCapabilities";
constexpr char kServerKey[] = "io.modelcontextprotocol/serverInfo";

// How long a client may keep what does not change while we run.
constexpr int kForAnHourMs = 3'600'000;
// More lines a second than this serve nobody.
constexpr auto kProgressPace = std::chrono::milliseconds(100);

Json Versions() {
  Json versions = {kModernVersion};
  for (const auto version : kSessionVersions) versions.push_back(version);
  return versions;
}

Json DescribeTool(const Tool& tool) {
  return {{"name", tool.name},
          {"title", tool.title},
          {"description", tool.description},
          {"inputSchema", Json::parse(tool.input_schema)},
          {"annotations",
           {{"readOnlyHint", tool.effect == Effect::kReads},
            {"destructiveHint", tool.effect == Effect::kDestroys},
            {"openWorldHint", false}}}};
}

Json DescribeResource(const Resource& resource, const char* uri_key) {
  return {{uri_key, resource.uri},
          {"name", resource.name},
          {"description", resource.description},
          {"mimeType", resource.mime}};
}

Json DescribePrompt(const Prompt& prompt) {
  Json arguments = Json::array();
  for (const auto& one : prompt.arguments)
    arguments.push_back({{"name", one.name}, {"description", one.description}, {"required", one.required}});
  return {{"name", prompt.name}, {"description", prompt.description}, {"arguments", std::move(arguments)}};
}

Failure BadParams(std::string message) { return {.code = kInvalidParams, .message = std::move(message)}; }

// The text below a key of an object, or nothing.
const std::string* TextAt(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : found->get_ptr<const std::string*>();
}

// {name} becomes the argument of that name. What stands in an argument is not looked into.
std::string Filled(std::string_view text, const std::map<std::string, std::string, std::less<>>& arguments) {
  std::string filled;
  while (!text.empty()) {
    const std::size_t open = std::min(text.find('{'), text.size());
    filled += text.substr(0, open);
    text.remove_prefix(open);
    const std::size_t close = text.find('}');
    if (close == text.npos) break;
    const auto found = arguments.find(text.substr(1, close - 1));
    filled += found == arguments.end() ? std::string(text.substr(0, close + 1)) : found->second;
    text.remove_prefix(close + 1);
  }
  return filled + std::string(text);
}

}  // namespace

struct Server::Request {
  Message message;
  bool modern = false;
  int fresh_ms = -1;  // of a modern result that may be kept; < 0: it may not say
};

class Server::InFlight final : public Call {
 public:
  InFlight(Server& server, Request request) : server_(server), request_(std::move(request)) {
    const auto meta = request_.message.params->find("_meta");
    if (meta == request_.message.params->end() || !meta->is_object()) return;
    const auto token = meta->find("progressToken");
    if (token != meta->end() && (token->is_string() || token->is_number_integer())) token_ = *token;
  }
  ~InFlight() override {
    Cancel();
    if (thread_.joinable()) thread_.join();
  }

  void Start(Answer answer) {
    thread_ = std::thread([this, answer = std::move(answer)] {
      answer(request_, *this);
      done_ = true;
    });
  }

  const std::string& id() const { return request_.message.id; }
  bool done() const { return done_; }
  // From then on its id may be used again.
  bool answered() const { return answered_; }
  void Answered() { answered_ = true; }
  void Cancel() { cancelled_ = true; }

  bool cancelled() const override { return cancelled_; }
  void Progress(std::string_view line) override {
    const auto now = std::chrono::steady_clock::now();
    if (token_.is_null() || cancelled_ || (lines_ > 0 && now - last_ < kProgressPace)) return;
    last_ = now;
    server_.Write(NotificationLine("notifications/progress",
                                   {{"progressToken", token_}, {"progress", ++lines_}, {"message", line}}));
  }

 private:
  Server& server_;
  const Request request_;
  Json token_;
  int lines_ = 0;
  std::chrono::steady_clock::time_point last_;
  std::atomic<bool> cancelled_ = false, answered_ = false, done_ = false;
  std::thread thread_;
};

Server::Server(Catalogue catalogue, std::function<void(std::string_view)> write)
    : catalogue_(std::move(catalogue)), write_(std::move(write)) {}

Server::~Server() {
  for (const auto& one : in_flight_) one->Cancel();
}

void Server::Write(std::string_view line) {
  const MutexLock lock(write_mutex_);
  write_(line);
}

void Server::Succeed(const Request& request, Json result, InFlight* call) {
  if (call && call->cancelled()) return;
  if (call) call->Answered();
  if (request.modern) {
    result["resultType"] = "complete";
    result["_meta"][kServerKey] = {{"name", catalogue_.name}, {"version", catalogue_.version}};
    if (request.fresh_ms >= 0) {
      result["ttlMs"] = request.fresh_ms;
      result["cacheScope"] = "private";
    }
  }
  Write(ResultLine(request.message.id, result));
}

void Server::Refuse(const Request& request, const Failure& failure, InFlight* call) {
  if (call && call->cancelled()) return;
  if (call) call->Answered();
  Write(FailureLine(request.message.id, failure));
}

void Server::RefuseLongLine(std::size_t longest) {
  Write(FailureLine("", {.code = kInvalidRequest, .message = fmt::format("a message has at most {} bytes", longest)}));
}

void Server::Take(std::string_view line) {
  Reap();
  auto parsed = ParseMessage(line);
  if (const auto* refusal = std::get_if<Refusal>(&parsed)) return Write(FailureLine(refusal->id, refusal->failure));
  auto* message = std::get_if<Message>(&parsed);
  if (!message) return;
  if (message->id.empty()) {
    if (message->method == "notifications/cancelled") Cancel(*message->params);
    return;
  }
  Request request{.message = std::move(*message)};
  if (const auto failure = FindEra(request)) return Refuse(request, *failure);
  const auto same = std::any_of(in_flight_.begin(), in_flight_.end(),
                                [&](const auto& one) { return one->id() == request.message.id && !one->answered(); });
  if (same)
    return Refuse(request, {kInvalidRequest, fmt::format("a request with the id {} is in flight", request.message.id)});
  Dispatch(std::move(request));
}

std::optional<Failure> Server::FindEra(Request& request) {
  const Json& params = *request.message.params;
  const auto meta = params.find("_meta");
  const bool names = meta != params.end() && meta->is_object() && meta->contains(kVersionKey);
  if (!names) {
    if (request.message.method == "initialize" || request.message.method == "ping") return std::nullopt;
    if (in_session_ && request.message.method != "server/discover") return std::nullopt;
    return BadParams(fmt::format(
        "params._meta lacks \"{}\": name the protocol's version there, or begin with initialize", kVersionKey));
  }
  const std::string* version = TextAt(*meta, kVersionKey);
  if (!version) return BadParams(fmt::format("params._meta: \"{}\" has to be a text", kVersionKey));
  if (*version != kModernVersion) {
    return Failure{kUnsupportedVersion, "Unsupported protocol version",
                   Json{{"supported", Versions()}, {"requested", *version}}.dump()};
  }
  const auto capabilities = meta->find(kCapabilitiesKey);
  if (capabilities == meta->end() || !capabilities->is_object())
    return BadParams(fmt::format("params._meta lacks the object \"{}\"", kCapabilitiesKey));
  request.modern = true;
  return std::nullopt;
}

void Server::Dispatch(Request request) {
  const std::string& method = request.message.method;
  const Json capabilities = {{"tools", Json::object()}, {"resources", Json::object()}, {"prompts", Json::object()}};
  if (!request.modern && method == "initialize") {
    const std::string* wanted = TextAt(*request.message.params, "protocolVersion");
    if (!wanted) return Refuse(request, BadParams("initialize needs the text protocolVersion"));
    const auto known = std::find(std::begin(kSessionVersions), std::end(kSessionVersions), *wanted);
    in_session_ = true;
    return Succeed(request, {{"protocolVersion", known == std::end(kSessionVersions) ? kSessionVersions[0] : *known},
                             {"capabilities", capabilities},
                             {"serverInfo", {{"name", catalogue_.name}, {"version", catalogue_.version}}},
                             {"instructions", catalogue_.instructions}});
  }
  if (!request.modern && method == "ping") return Succeed(request, Json::object());
  if (request.modern && method == "server/discover") {
    request.fresh_ms = kForAnHourMs;
    return Succeed(
        request,
        {{"supportedVersions", Versions()}, {"capabilities", capabilities}, {"instructions", catalogue_.instructions}});
  }
  if (method == "tools/call") return CallTool(std::move(request));
  if (method == "resources/read") return ReadResource(std::move(request));
  if (method == "prompts/get") return GetPrompt(request);

  const bool is_list = method == "tools/list" || method == "prompts/list" || method == "resources/list" ||
                       method == "resources/templates/list";
  if (!is_list) return Refuse(request, {kMethodNotFound, fmt::format("there is no method {} here", method)});
  // Every list is one page, so that we never gave a cursor.
  if (request.message.params->contains("cursor")) return Refuse(request, BadParams("there is no such cursor"));
  request.fresh_ms = kForAnHourMs;
  Json list = Json::array();
  if (method == "tools/list") {
    for (const Tool& tool : catalogue_.tools) list.push_back(DescribeTool(tool));
    return Succeed(request, {{"tools", std::move(list)}});
  }
  if (method == "prompts/list") {
    for (const Prompt& prompt : catalogue_.prompts) list.push_back(DescribePrompt(prompt));
    return Succeed(request, {{"prompts", std::move(list)}});
  }
  if (method == "resources/templates/list") {
    for (const Resource& one : catalogue_.templates) list.push_back(DescribeResource(one, "uriTemplate"));
    return Succeed(request, {{"resourceTemplates", std::move(list)}});
  }
  request.fresh_ms = 0;
  Begin(std::move(request), [this](const Request& asked, InFlight& call) {
    const auto resources = catalogue_.resources(call);
    if (!resources) return Refuse(asked, {kInternalError, resources.error().message}, &call);
    Json there = Json::array();
    for (const Resource& one : *resources) there.push_back(DescribeResource(one, "uri"));
    Succeed(asked, {{"resources", std::move(there)}}, &call);
  });
}

void Server::CallTool(Request request) {
  const Json& params = *request.message.params;
  const std::string* name = TextAt(params, "name");
  if (!name) return Refuse(request, BadParams("tools/call needs the text name"));
  const auto tool = std::find_if(catalogue_.tools.begin(), catalogue_.tools.end(),
                                 [&](const Tool& one) { return one.name == *name; });
  if (tool == catalogue_.tools.end()) return Refuse(request, BadParams(fmt::format("there is no tool {}", *name)));
  if (params.contains("arguments") && !params["arguments"].is_object())
    return Refuse(request, BadParams("tools/call: arguments has to be an object"));
  Begin(std::move(request), [this, &called = *tool](const Request& asked, InFlight& call) {
    const ToolAnswer answer = called.run(asked.message.params->value("arguments", Json::object()), call);
    Json result = {{"content", Json::array()}, {"isError", answer.is_error}};
    Json document = Json::parse(answer.document, nullptr, false);
    if (document.is_object()) {
      // As text, too: what a model is shown of a result is often its text alone. Of an error that is its line.
      if (!answer.is_error || answer.text.empty()) {
        result["content"].push_back({{"type", "text"}, {"text", JsonText(document)}});
      }
      result["structuredContent"] = std::move(document);
    }
    if (!answer.text.empty() || result["content"].empty())
      result["content"].push_back({{"type", "text"}, {"text", answer.text}});
    Succeed(asked, std::move(result), &call);
  });
}

void Server::ReadResource(Request request) {
  if (!TextAt(*request.message.params, "uri")) return Refuse(request, BadParams("resources/read needs the text uri"));
  request.fresh_ms = 0;
  Begin(std::move(request), [this](const Request& asked, InFlight& call) {
    const std::string uri = asked.message.params->at("uri");
    const auto read = catalogue_.read(uri, call);
    if (read) {
      return Succeed(asked, {{"contents", {{{"uri", uri}, {"mimeType", read->mime}, {"text", read->text}}}}}, &call);
    }
    const bool absent = read.error().kind == ErrorKind::kNotFound || read.error().kind == ErrorKind::kUsage;
    const int code = !absent ? kInternalError : asked.modern ? kInvalidParams : kResourceNotFound;
    Refuse(asked, {code, read.error().message, JsonText(Json{{"uri", uri}})}, &call);
  });
}

void Server::GetPrompt(const Request& request) {
  const Json& params = *request.message.params;
  const std::string* name = TextAt(params, "name");
  if (!name) return Refuse(request, BadParams("prompts/get needs the text name"));
  const auto prompt = std::find_if(catalogue_.prompts.begin(), catalogue_.prompts.end(),
                                   [&](const Prompt& one) { return one.name == *name; });
  if (prompt == catalogue_.prompts.end())
    return Refuse(request, BadParams(fmt::format("there is no prompt {}", *name)));
  const auto given = params.find("arguments");
  std::map<std::string, std::string, std::less<>> values;
  for (const PromptArgument& argument : prompt->arguments) {
    const std::string* value = given != params.end() && given->is_object() ? TextAt(*given, argument.name) : nullptr;
    if (!value && argument.required)
      return Refuse(request, BadParams(fmt::format("the prompt {} needs the text {}: {}", *name, argument.name,
                                                   argument.description)));
    values[argument.name] = value ? *value : "";
  }
  Succeed(request, {{"description", prompt->description},
                    {"messages",
                     {{{"role", "user"}, {"content", {{"type", "text"}, {"text", Filled(prompt->text, values)}}}}}}});
}

void Server::Begin(Request request, Answer answer) {
  if (in_flight_.size() >= kMostInFlight) {
    return Refuse(request, {kInternalError, fmt::format("{} requests are in flight: wait for one to end, or cancel one",
                                                        in_flight_.size())});
  }
  in_flight_.push_back(std::make_unique<InFlight>(*this, std::move(request)));
  in_flight_.back()->Start(std::move(answer));
}

void Server::Cancel(const Json& params) {
  const auto id = params.find("requestId");
  if (id == params.end() || !(id->is_string() || id->is_number_integer())) return;
  const std::string wanted = JsonText(*id);
  for (const auto& one : in_flight_) {
    if (one->id() == wanted) one->Cancel();
  }
}

void Server::Reap() {
  std::erase_if(in_flight_, [](const auto& one) { return one->done(); });
}

}  // namespace hone::mcp
