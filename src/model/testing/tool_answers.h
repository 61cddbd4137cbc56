// What servers of each dialect say when a model answers with words or calls tools, and what went back to it: to the
// byte, as their protocols have it. Each answer took 120 tokens in and 30 out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/conversation.h"

namespace hone::testing {

// A whole answer of a server of that dialect, "openai-chat".
std::string TextAnswer(std::string_view dialect, const std::string& text);
// kCalls, or kLength where it was cut off.
std::string CallsAnswer(std::string_view dialect, const std::vector<ToolCall>& calls, Ending ending = Ending::kCalls);

// The results of calls in a request, in their order: "id: text".
std::vector<std::string> ResultsIn(std::string_view dialect, const std::string& body);

}  // namespace hone::testing
