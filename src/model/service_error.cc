#include "model/service_error.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/text.h"
#include "model/fields.h"

namespace hone {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongestMessage = 400;  // bytes of what a server says
constexpr std::chrono::milliseconds kLongestAsked = std::chrono::minutes(1);

// Money, and not pace: Anthropic's details.error_code, OpenAI's type and codes.
constexpr std::string_view kMoneyIsSpent[] = {"enforced_spend_limit_reached",
                                              "contract_spend_limit_reached",
                                              "insufficient_quota",
                                              "credit_balance_exhausted",
                                              "organization_spend_limit_exceeded",
                                              "project_spend_limit_exceeded",
                                              "billing_error"};
// What an error in the midst of a stream is called that would be 429 or 5xx before it.
constexpr std::string_view kPassing[] = {"overloaded_error",    "api_error",    "rate_limit_error", "timeout_error",
                                         "rate_limit_exceeded", "server_error", "slow_down",        "overloaded"};

// Codes are numbers with some servers.
std::string TextOf(const Json& json, const char* key) {
  const Json& field = Field(json, key);
  return field.is_null() || field.is_string() ? TextField(json, key) : JsonText(field);
}

std::string OneLine(std::string text) {
  text = Printable(std::move(text));
  for (char& c : text) c = c == '\n' || c == '\t' ? ' ' : c;
  if (text.size() > kLongestMessage) text = text.substr(0, kLongestMessage) + " ...";
  return text;
}

bool IsWordPart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool HasWord(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !IsWordPart(text[at - 1])) && (end == text.size() || !IsWordPart(text[end]))) return true;
  }
  return false;
}

std::optional<double> Number(const std::map<std::string, std::string>& headers, const std::string& name) {
  const auto found = headers.find(name);
  if (found == headers.end()) return std::nullopt;
  const std::string& text = found->second;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !(number >= 0)) return std::nullopt;
  return number;
}

// "Wed, 21 Oct 2026 07:28:00 GMT", from now.
std::optional<double> SecondsUntil(const std::string& date) {
  std::tm parts{};
  const char* end = strptime(date.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return std::max(0.0, std::difftime(timegm(&parts), std::time(nullptr)));
}

}  // namespace

ServiceError ReadServiceError(int status, const Json& error) {
  ServiceError read{.status = status};
  if (error.is_object()) {
    read.type = TextOf(error, "type");
    read.code = TextOf(error, "code");
    read.param = TextOf(error, "param");
    read.message = OneLine(TextOf(error, "message"));
    if (const std::string code = TextField(Field(error, "details"), "error_code"); !code.empty()) read.code = code;
  } else if (error.is_string()) {
    read.message = OneLine(error.get<std::string>());
  }
  return read;
}

ServiceError ServiceErrorIn(int status, std::string_view body) {
  const Json json = Json::parse(body, nullptr, false);
  if (json.is_object()) {
    ServiceError read = ReadServiceError(status, json.contains("error") ? json["error"] : json);
    if (read.message.empty()) read.message = OneLine(TextOf(json, "detail"));
    if (!read.message.empty()) return read;
  }
  return {.status = status, .message = OneLine(std::string(body.substr(0, kLongestMessage)))};
}

bool WorthAnotherTry(const ServiceError& error, const std::map<std::string, std::string>& headers) {
  const auto is = [](std::string_view word) { return [word](std::string_view known) { return known == word; }; };
  if (std::ranges::any_of(kMoneyIsSpent, is(error.code)) || std::ranges::any_of(kMoneyIsSpent, is(error.type)))
    return false;
  if (const auto says = headers.find("x-should-retry"); says != headers.end()) {
    if (says->second == "true") return true;
    if (says->second == "false") return false;
  }
  if (error.status == 200) {
    return std::ranges::any_of(kPassing, is(error.type)) || std::ranges::any_of(kPassing, is(error.code));
  }
  return error.status == 408 || error.status == 409 || error.status == 429 || error.status >= 500;
}

std::optional<std::chrono::milliseconds> AskedToWait(const std::map<std::string, std::string>& headers) {
  std::optional<double> ms = Number(headers, "retry-after-ms");
  if (!ms) {
    std::optional<double> seconds = Number(headers, "retry-after");
    if (const auto date = headers.find("retry-after"); !seconds && date != headers.end())
      seconds = SecondsUntil(date->second);
    if (seconds) ms = 1000 * *seconds;
  }
  if (!ms || *ms > static_cast<double>(kLongestAsked.count())) return std::nullopt;
  return std::chrono::milliseconds(static_cast<std::int64_t>(*ms));
}

bool Refuses(const ServiceError& error, std::string_view field) {
  if (error.status != 400 && error.status != 422) return false;
  if (!error.param.empty()) return error.param.substr(0, error.param.find('.')) == field;
  return HasWord(error.message, field);
}

}  // namespace hone
