// What a server says when it does not answer, and what follows from it. Servers of all dialects say it alike:
// {"error": {"type", "code", "param", "message", "details": {"error_code"}}}, some with the message alone.
#pragma once

#include <chrono>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace hone {

struct ServiceError {
  int status = 0;  // of HTTP; 200: it came in the midst of a stream
  std::string type, code, param;
  std::string message;  // one line, for people
};

ServiceError ServiceErrorIn(int status, std::string_view body);          // of an answer's whole body
ServiceError ReadServiceError(int status, const nlohmann::json& error);  // the object behind "error"

// Whether the same question may be answered in a moment. Not where money is at its end, whatever the status: asking
// again would be refused again. `headers` as of HttpAnswer.
bool WorthAnotherTry(const ServiceError& error, const std::map<std::string, std::string>& headers);

// How long the server asks to be left alone; nothing: it does not say, or longer than a minute.
std::optional<std::chrono::milliseconds> AskedToWait(const std::map<std::string, std::string>& headers);

// Whether it refuses the field of the request that is called so.
bool Refuses(const ServiceError& error, std::string_view field);

}  // namespace hone
