#include "model/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/date.h"
#include "base/json_text.h"
#include "base/record.h"

namespace hone {

template <SameAs<ToolCall> Of>
void Fields(Of& call, auto&& field) {
  field("id", call.id);
  field("name", call.name);
  field("arguments", call.arguments);
}

namespace {

using Json = nlohmann::json;

constexpr std::string_view kEndings[] = {"whole", "calls", "length", "refusal"};
std::string_view NameOfEnding(Ending ending) { return kEndings[static_cast<std::size_t>(ending)]; }
std::optional<Ending> ParseEnding(std::string_view name) { return ParseName<Ending>(kEndings, name); }

constexpr std::int64_t kOutputGuess = 4096;  // tokens of an answer, while none has come and the user set no limit
// What the limit of an answer's length is called in the dialects.
constexpr const char* kLimits[] = {"max_tokens", "max_completion_tokens", "max_output_tokens"};

std::int64_t InputEstimate(const Conversation& conversation) {
  std::size_t bytes = conversation.system.size();
  for (const TalkTurn& turn : conversation.turns) {
    bytes += turn.text.size() + turn.opaque.size();
    for (const ToolCall& call : turn.calls) bytes += call.name.size() + call.arguments.size();
  }
  for (const ModelTool& tool : conversation.tools)
    bytes += tool.name.size() + tool.description.size() + tool.parameters.size();
  return static_cast<std::int64_t>(bytes / kBytesOfToken) + 1;
}

std::string Thousands(std::int64_t number) {
  std::string text = std::to_string(number);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

}  // namespace

template <SameAs<ModelReply> Of>
void Fields(Of& reply, auto&& field) {
  field("text", reply.text);
  field("calls", reply.calls, kIfAny);
  field("ending", reply.ending, ByName<Ending>{NameOfEnding, ParseEnding});
  field("model", reply.model);
  field("opaque", reply.opaque);
}

std::string ToJson(const ModelReply& reply) {
  return ToRecord(reply).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<ModelReply> ParseReply(const std::string& json) {
  return FromRecord<ModelReply>(Json::parse(json, nullptr, false), "a model's reply");
}

std::optional<double> Dollars(const TokenUse& usage, const Price& price) {
  if (usage.dollars) return usage.dollars;
  if (!usage.input_tokens || !usage.output_tokens || !price.input || !price.output) return std::nullopt;
  const std::int64_t cached = usage.cached_tokens.value_or(0), written = usage.written_tokens.value_or(0);
  const std::int64_t plain = std::max<std::int64_t>(0, *usage.input_tokens - cached - written);
  constexpr double kPriced = 1e6;  // tokens
  return (static_cast<double>(plain) * *price.input +
          static_cast<double>(cached) * price.cached.value_or(*price.input) +
          static_cast<double>(written) * price.written.value_or(*price.input) +
          static_cast<double>(*usage.output_tokens) * *price.output) /
         kPriced;
}

void Spending::Add(const LedgerLine& line) {
  ++calls;
  input_tokens += line.usage.input_tokens.value_or(0);
  cached_tokens += line.usage.cached_tokens.value_or(0);
  output_tokens += line.usage.output_tokens.value_or(0);
  seconds += line.seconds();
  // What was killed, is in work, or broke off without a figure costs as much as it was thought to, for all that anybody
  // knows.
  const int unknown = line.untold + (line.ended_ms == 0 ? 1 : 0);
  estimated_tokens += unknown * line.estimated_tokens;
  const bool told = line.usage.input_tokens || line.usage.output_tokens || line.usage.dollars;
  const bool lost = (told && !line.dollars) || (unknown > 0 && !line.estimated_dollars);
  dollars += line.dollars.value_or(0) + unknown * line.estimated_dollars.value_or(0);
  if (lost) ++unpriced;
}

std::string Text(const Spending& spending) {
  std::string text = fmt::format("{} tokens", Thousands(spending.tokens()));
  if (spending.unpriced == spending.calls && spending.calls > 0) return text + ", dollars unknown";
  text += fmt::format(", {:.{}f} dollars", spending.dollars, spending.dollars > 0 && spending.dollars < 0.1 ? 4 : 2);
  if (spending.unpriced > 0) text += fmt::format(" and what {} calls cost, which is unknown", spending.unpriced);
  return text;
}

Ledger::Ledger(Caps caps, std::vector<LedgerLine> earlier, std::unique_ptr<LedgerKeeper> keeper)
    : caps_(caps), keeper_(std::move(keeper)), lines_(std::move(earlier)) {}

Spending Ledger::Total() const {
  const MutexLock lock(mutex_);
  Spending total;
  for (const LedgerLine& line : lines_) total.Add(line);
  return total;
}

Spending Ledger::Of(int parent, int turn) const {
  const MutexLock lock(mutex_);
  Spending sum;
  for (const LedgerLine& line : lines_) {
    if (line.purpose.parent == parent && line.purpose.turn == turn) sum.Add(line);
  }
  return sum;
}

std::optional<ModelReply> Ledger::Answered(const Purpose& purpose) const {
  const MutexLock lock(mutex_);
  for (const LedgerLine& line : lines_) {
    if (line.purpose != purpose || !line.answered()) continue;
    if (auto reply = ParseReply(line.reply)) return std::move(*reply);
  }
  return std::nullopt;
}

Result<void> Ledger::Keep(const LedgerLine& line) {
  if (keeper_) HONE_TRY(keeper_->Keep(line));
  const MutexLock lock(mutex_);
  if (static_cast<std::size_t>(line.number) > lines_.size()) {
    lines_.push_back(line);
  } else {
    lines_[static_cast<std::size_t>(line.number) - 1] = line;
  }
  return {};
}

bool Ledger::WithinCaps() const {
  const Spending spent = Total();
  return (caps_.tokens <= 0 || spent.tokens() <= caps_.tokens) &&
         (caps_.dollars <= 0 || spent.dollars <= caps_.dollars);
}

Result<LedgerLine> Ledger::Begin(const ModelEntry& entry, const Purpose& purpose, const Conversation& conversation) {
  LedgerLine line{.purpose = purpose, .model = entry.name, .begun_ms = UnixMilliseconds()};
  const std::int64_t input = InputEstimate(conversation);
  std::int64_t output = 0;
  {
    const MutexLock lock(mutex_);
    line.number = static_cast<int>(lines_.size()) + 1;
    for (const LedgerLine& earlier : lines_) {
      if (earlier.model == entry.name) output = std::max(output, earlier.usage.output_tokens.value_or(0));
    }
  }
  if (output == 0) output = kOutputGuess;
  for (const char* name : kLimits) {
    const auto set = entry.parameters.find(name);
    if (set == entry.parameters.end()) continue;
    const Json limit = Json::parse(set->second, nullptr, false);
    if (limit.is_number_integer()) output = limit.get<std::int64_t>();
  }
  line.estimated_tokens = input + output;
  line.estimated_dollars = Dollars({.input_tokens = input, .output_tokens = output}, entry.price);

  const Spending spent = Total();
  const auto too_much = [&](const std::string& cap, const std::string& estimate) {
    return Fail(ErrorKind::kSpent, fmt::format("{} are the cap and the next call of {} may take {}; {} are spent", cap,
                                               entry.name, estimate, Text(spent)));
  };
  if (caps_.tokens > 0 && spent.tokens() + line.estimated_tokens > caps_.tokens)
    return too_much(fmt::format("{} tokens", Thousands(caps_.tokens)), Thousands(line.estimated_tokens));
  if (caps_.dollars > 0 && !line.estimated_dollars)
    return Fail(ErrorKind::kUsage,
                fmt::format("dollars are capped and the models file has no price for {}", entry.name));
  if (caps_.dollars > 0 && spent.dollars + *line.estimated_dollars > caps_.dollars)
    return too_much(fmt::format("{:.4g} dollars", caps_.dollars), fmt::format("{:.4f}", *line.estimated_dollars));
  return line;
}

Result<ModelReply> Ledger::Ask(Model& model, const ModelEntry& entry, const Purpose& purpose,
                               const Conversation& conversation, std::vector<std::string>& notes) {
  if (auto known = Answered(purpose)) return std::move(*known);
  LedgerLine line = HONE_TRY(Begin(entry, purpose, conversation));
  HONE_TRY(Keep(line));
  const auto note = [&](const Asked& so_far) {
    line.usage = so_far.usage;
    line.dollars = Dollars(so_far.usage, entry.price);
    line.tries = so_far.tries;
    line.untold = so_far.untold;
  };
  Result<void> kept;
  Asked asked = model.Ask(conversation, [&](const Asked& so_far) {
    note(so_far);
    kept = Keep(line);
    return kept && WithinCaps();
  });
  HONE_TRY(std::move(kept));
  note(asked);
  line.ended_ms = UnixMilliseconds();
  if (asked.reply) {
    line.served = asked.reply->model;
    line.reply = ToJson(*asked.reply);
  } else {
    line.failure = asked.reply.error().message;
  }
  HONE_TRY(Keep(line));
  std::ranges::move(asked.notes, std::back_inserter(notes));
  return std::move(asked.reply);
}

}  // namespace hone
