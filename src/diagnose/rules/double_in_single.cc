// Arithmetic in f64 where no tensor has it: mostly a literal without an f, or a function of doubles.
#include <fmt/format.h>

#include <algorithm>

#include "diagnose/rule.h"

namespace hone::rule_double_in_single {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kCompute, Bottleneck::kMemory, Bottleneck::kLatency};
constexpr std::string_view kNeeds[] = {"double_share", "double_instructions", "conversion_share"};
constexpr std::string_view kUses[] = {"double_tensors"};

std::optional<Found> Check(const Facts& facts) {
  // Without a problem: what became f64 was converted.
  const auto tensors = facts.Maybe("double_tensors");
  if (tensors ? *tensors > 0 : facts["conversion_share"] <= 0) return std::nullopt;
  const double share = facts["double_share"], converted = facts["conversion_share"];
  // f64 at half the rate of f32, as on the largest devices; conversions by a unit that is eight times as slow.
  const double before = std::max(1 + share, 8 * converted);
  return Found{
      .lost = 1 - (1 - share - converted) / before,
      .evidence = fmt::format(
          "{:.0f} instruction{} in f64, {:.1f} % of those carried out, and {:.1f} % are conversions; no "
          "tensor holds f64",
          facts["double_instructions"], facts["double_instructions"] == 1 ? "" : "s", 100 * share, 100 * converted),
      .advice =
          "Write literals with an f (0.5f) and call the functions of floats (expf, sqrtf, fmaxf): one double makes "
          "its whole expression double."};
}

constexpr ExampleFact kLiteral[] = {{"double_share", 0.08}, {"double_instructions", 2}, {"conversion_share", 0.12}};
constexpr ExampleFact kKnown[] = {
    {"double_share", 0.08}, {"double_instructions", 8}, {"conversion_share", 0}, {"double_tensors", 0}};
constexpr ExampleFact kMeant[] = {
    {"double_share", 0.3}, {"double_instructions", 12}, {"conversion_share", 0.1}, {"double_tensors", 3}};
constexpr ExampleFact kAlone[] = {{"double_share", 0.3}, {"double_instructions", 12}, {"conversion_share", 0}};
constexpr ExampleFact kSingle[] = {{"double_share", 0}, {"double_instructions", 0}, {"conversion_share", 0.1}};
constexpr Example kFires[] = {{"x * 0.5 of a float", kLiteral}, {"a problem without doubles", kKnown}};
constexpr Example kSilent[] = {{"tensors of doubles", kMeant},
                               {"doubles from beginning to end, of an unknown problem", kAlone},
                               {"x * 0.5f", kSingle}};

}  // namespace

HONE_ROW(Rule){.name = "double_in_single",
               .title = "f64 arithmetic that no tensor asks for",
               .scope = Scope::kLaunch,
               .classes = kClasses,
               .needs = kNeeds,
               .uses = kUses,
               .threshold = {"double_share", Threshold::Side::kAbove, 0, "none is needed"},
               .check = Check,
               .fires = kFires,
               .silent = kSilent};

}  // namespace hone::rule_double_in_single
