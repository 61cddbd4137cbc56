#include "model/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

#include "base/json_text.h"
#include "model/dialect.h"
#include "model/exec_model.h"
#include "model/fields.h"
#include "model/http.h"
#include "model/key.h"
#include "model/refusals.h"

namespace hone {
namespace {

using Json = nlohmann::json;
using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds kFirstBackoff{500}, kLongestBackoff{8000};

// Doubled each time, less up to a quarter by chance, so that those who were refused together do not come together
// again.
Milliseconds Backoff(int tries) {
  const auto full = std::min<std::int64_t>(kFirstBackoff.count() << std::min(tries, 10), kLongestBackoff.count());
  const auto chance = std::chrono::steady_clock::now().time_since_epoch().count() % 1000;
  return Milliseconds(full - full * chance / 4000);
}

class ServedModel final : public Model {
 public:
  ServedModel(ModelEntry entry, Provider provider, Key key)
      : entry_(std::move(entry)),
        provider_(std::move(provider)),
        key_(std::move(key)),
        refusals_(Refusals::UsualPath(), provider_.name, entry_.model) {
    for (const auto& [name, value] : Droppable()) {
      if (refusals_.Has(name, value)) dropped_.insert(name);
    }
  }

  Asked Ask(const Conversation& conversation, const GoOn& go_on) override {
    // Whoever wants it to end says so until it does.
    interrupted_ = false;
    Asked asked;
    if (!std::exchange(said_, true)) SayDropped(asked.notes);
    for (int again = 0;;) {
      Tried tried = TryOnce(conversation, asked);
      if (tried.reply) {
        tried.reply->usage = asked.usage;
        asked.reply = std::move(tried.reply);
        return asked;
      }
      if (tried.refused && DropRefused(*tried.refused, asked.notes)) continue;
      if (!tried.passing || again == provider_.retries || interrupted_) {
        asked.reply = std::move(tried.reply);
        return asked;
      }
      if (!go_on(asked)) {
        const std::string why = tried.reply.error().message;
        asked.reply = Fail(ErrorKind::kSpent, fmt::format("the caps allow no other try: {}", why));
        return asked;
      }
      Wait(tried.wait.value_or(Backoff(again++)));
      if (interrupted_) {
        asked.reply = Fail(ErrorKind::kInterrupted, "interrupted while a model was asked");
        return asked;
      }
    }
  }

  void Interrupt() override {
    interrupted_ = true;
    http_.Interrupt();
  }

 private:
  struct Tried {
    Result<ModelReply> reply;
    std::optional<ServiceError> refused = {};  // the server said why not
    bool passing = false;                      // it may go well the next time
    std::optional<Milliseconds> wait = {};
  };

  Json RequestFor(const Conversation& conversation) const {
    Json request = provider_.dialect->request(conversation, entry_.model);
    for (const auto& [name, value] : entry_.parameters) request[name] = Json::parse(value, nullptr, false);
    for (const std::string& name : dropped_) request.erase(name);
    return request;
  }

  Tried TryOnce(const Conversation& conversation, Asked& asked) {
    ++asked.tries;
    const auto reader = provider_.dialect->reader();
    EventSplitter splitter;
    Result<void> read;
    const auto take = [&](std::string_view bytes) {
      for (const ServerEvent& event : splitter.Take(bytes)) {
        read = reader->Take(event);
        if (!read || reader->refused()) return false;
      }
      return true;
    };
    const auto answer = http_.Post({.url = provider_.url + std::string(provider_.dialect->path),
                                    .headers = provider_.dialect->headers(key_.ForHeader(), provider_.version),
                                    .body = JsonText(RequestFor(conversation)),
                                    .ca_file = provider_.ca_file,
                                    .silence = provider_.silence,
                                    .wall = provider_.wall},
                                   take);
    const bool began = answer && answer->status == 200;
    if (began || (!answer && http_.reached())) Count(reader->usage(), asked);
    if (!answer) return {.reply = Named(answer.error()), .passing = answer.error().kind != ErrorKind::kInterrupted};
    if (!began) return Refusal(ServiceErrorIn(answer->status, answer->body), answer->headers);
    if (const auto refused = reader->refused()) return Refusal(*refused, answer->headers);
    if (!read) return {.reply = Named(read.error()), .passing = true};
    Result<ModelReply> reply = reader->End();
    if (!reply) return {.reply = Named(reply.error()), .passing = true};
    Blot(*reply);
    return {.reply = std::move(reply)};
  }

  // A try whose usage is not known may have cost something all the same: it reached the server.
  static void Count(const TokenUse& usage, Asked& asked) {
    if (!usage.input_tokens && !usage.output_tokens) ++asked.untold;
    AddCount(asked.usage.input_tokens, usage.input_tokens);
    AddCount(asked.usage.cached_tokens, usage.cached_tokens);
    AddCount(asked.usage.written_tokens, usage.written_tokens);
    AddCount(asked.usage.output_tokens, usage.output_tokens);
    if (usage.dollars) asked.usage.dollars = asked.usage.dollars.value_or(0) + *usage.dollars;
  }

  Tried Refusal(const ServiceError& error, const std::map<std::string, std::string>& headers) const {
    std::string why = error.message.empty() ? error.type : error.message;
    if (!error.code.empty() && why.find(error.code) == why.npos) why += fmt::format(" ({})", error.code);
    std::string mend;
    if (error.status == 401 || error.status == 403)
      mend = fmt::format("; see the key of provider {} in the models file", provider_.name);
    if (error.status == 404) mend = fmt::format("; see url and model of {} in the models file", entry_.name);
    if (error.status == 413) mend = "; shorter questions: tokens=N behind the proposer's name";
    const bool passing = WorthAnotherTry(error, headers);
    const bool theirs = passing || error.status >= 500 || error.status == 200;
    return {.reply = Named({.kind = theirs ? ErrorKind::kIo : ErrorKind::kUsage,
                            .message = fmt::format("it was refused with {}: {}{}", error.status, why, mend),
                            .where = {}}),
            .refused = error,
            .passing = passing,
            .wait = AskedToWait(headers)};
  }

  tl::unexpected<Error> Named(Error error) const {
    error.message =
        key_.Blot(fmt::format("model {} ({} by {}): {}", entry_.name, entry_.model, provider_.name, error.message));
    return tl::unexpected<Error>(std::move(error));
  }

  // What comes back ends in the store and in prompts.
  void Blot(ModelReply& reply) const {
    reply.text = key_.Blot(std::move(reply.text));
    reply.model = key_.Blot(std::move(reply.model));
    for (ToolCall& call : reply.calls) call.arguments = key_.Blot(std::move(call.arguments));
  }

  // One field fewer, from now on; false when it was not about one of the user's parameters.
  bool DropRefused(const ServiceError& error, std::vector<std::string>& notes) {
    for (const auto& [name, value] : Droppable()) {
      if (dropped_.contains(name) || !Refuses(error, name)) continue;
      dropped_.insert(name);
      notes.push_back(key_.Blot(
          fmt::format("model {} refuses {}, which is left out from now on: {}", entry_.name, name, error.message)));
      if (const auto kept = refusals_.Add(name, value); !kept)
        notes.push_back(fmt::format("that is forgotten when this ends: {}", kept.error().message));
      return true;
    }
    return false;
  }

  // What a request can do without: fields that hone adds, and the user's parameters, with their values as JSON.
  std::map<std::string, std::string> Droppable() const {
    std::map<std::string, std::string> droppable;
    for (const std::string_view name : provider_.dialect->spare) droppable.emplace(name, "");
    for (const auto& [name, value] : entry_.parameters) {
      if (std::ranges::find(provider_.dialect->needed, name) == provider_.dialect->needed.end())
        droppable[name] = value;
    }
    return droppable;
  }

  // Once, before anything else is noted.
  void SayDropped(std::vector<std::string>& notes) const {
    for (const auto& [name, value] : entry_.parameters) {
      if (!dropped_.contains(name)) continue;
      notes.push_back(
          fmt::format("model {} refused {} = {} before, which is left out; another value is sent, and this one when it "
                      "is deleted from {}",
                      entry_.name, name, value, refusals_.path()));
    }
  }

  void Wait(Milliseconds span) const {
    const auto until = std::chrono::steady_clock::now() + span;
    while (!interrupted_ && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::min(Milliseconds(20), span));
  }

  const ModelEntry entry_;
  const Provider provider_;
  const Key key_;
  HttpCaller http_;
  Refusals refusals_;
  std::set<std::string> dropped_;  // fields that the server refused
  bool said_ = false;              // which were dropped in earlier sessions
  std::atomic<bool> interrupted_ = false;
};

}  // namespace

Result<std::unique_ptr<Model>> OpenModel(const ModelsFile& file, std::string_view name) {
  const ModelEntry entry = HONE_TRY(file.Find(name));
  const Provider& provider = file.ProviderOf(entry);
  if (provider.dialect == nullptr) return MakeExecModel(entry, provider);
  Result<Key> key = !provider.key_env.empty()    ? Key::FromEnvironment(provider.key_env)
                    : !provider.key_file.empty() ? Key::FromFile(provider.key_file)
                                                 : Key();
  if (!key) return Rethrow(std::move(key).error(), fmt::format("model {}: provider {}: ", name, provider.name));
  return std::make_unique<ServedModel>(entry, provider, std::move(*key));
}

}  // namespace hone
