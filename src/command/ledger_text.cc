#include "command/ledger_text.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

namespace hone {
namespace {

using Json = nlohmann::json;

template <class T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

Json ToDocument(const Spending& spending) {
  return {{"calls", spending.calls},
          {"input_tokens", spending.input_tokens},
          {"cached_tokens", spending.cached_tokens},
          {"output_tokens", spending.output_tokens},
          {"estimated_tokens", spending.estimated_tokens},
          {"dollars", spending.dollars},
          {"unpriced", spending.unpriced},
          {"seconds", spending.seconds}};
}

Json ToDocument(const LedgerLine& line) {
  return {{"number", line.number},
          {"parent", line.purpose.parent},
          {"turn", line.purpose.turn},
          {"step", line.purpose.step},
          {"role", line.purpose.role},
          {"model", line.model},
          {"served", line.served},
          {"begun_ms", line.begun_ms},
          {"ended_ms", line.ended_ms == 0 ? Json(nullptr) : Json(line.ended_ms)},
          {"estimated_tokens", line.estimated_tokens},
          {"estimated_dollars", OrNull(line.estimated_dollars)},
          {"input_tokens", OrNull(line.usage.input_tokens)},
          {"cached_tokens", OrNull(line.usage.cached_tokens)},
          {"written_tokens", OrNull(line.usage.written_tokens)},
          {"output_tokens", OrNull(line.usage.output_tokens)},
          {"dollars", OrNull(line.dollars)},
          {"tries", line.tries},
          {"untold", line.untold},
          {"failure", line.failure}};
}

std::string LedgerTable(const std::vector<LedgerLine>& lines) {
  if (lines.empty()) return {};
  std::map<std::pair<std::string, std::string>, Spending> sums;
  Spending total;
  for (const LedgerLine& line : lines) {
    sums[{line.purpose.role, line.model}].Add(line);
    total.Add(line);
  }
  std::string text =
      fmt::format("\nlanguage models: {}\n{:<10} {:<16} {:>6} {:>10} {:>10} {:>10} {:>10} {:>10} {:>8}\n", Text(total),
                  "role", "model", "calls", "in", "of cache", "out", "estimated", "dollars", "seconds");
  for (const auto& [who, sum] : sums) {
    const std::string dollars =
        sum.unpriced == sum.calls ? "unknown" : fmt::format("{:.4f}{}", sum.dollars, sum.unpriced > 0 ? "+" : "");
    text += fmt::format("{:<10} {:<16} {:>6} {:>10} {:>10} {:>10} {:>10} {:>10} {:>8.1f}\n", who.first, who.second,
                        sum.calls, sum.input_tokens, sum.cached_tokens, sum.output_tokens, sum.estimated_tokens,
                        dollars, sum.seconds);
  }
  return text;
}

}  // namespace hone
