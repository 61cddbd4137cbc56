#include "base/dtype.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace hone {
namespace {

constexpr bool InOrder() {
  for (std::size_t i = 0; i < std::size(kDTypes); ++i) {
    if (static_cast<std::size_t>(kDTypes[i].dtype) != i) return false;
  }
  return std::size(kDTypes) == static_cast<std::size_t>(DType::kBool) + 1;
}
static_assert(InOrder(), "a row for each type, in the order of the enumeration");

}  // namespace

std::optional<DType> ParseDType(std::string_view name) {
  const auto* row =
      std::find_if(std::begin(kDTypes), std::end(kDTypes), [&](const auto& one) { return one.name == name; });
  return row == std::end(kDTypes) ? std::nullopt : std::optional(row->dtype);
}

std::string NamesOfDTypes() {
  std::string names;
  for (const auto& row : kDTypes) {
    if (!names.empty()) names += &row == std::end(kDTypes) - 1 ? " or " : ", ";
    names += row.name;
  }
  return names;
}

std::string ElementType(DType dtype) {
  const DTypeRow& row = RowOf(dtype);
  if (!IsSmallFloat(dtype)) return std::string(row.cpp);
  return fmt::format("hone::SmallFloat<{}, {}{}>", row.exponent, row.mantissa, row.infinity ? "" : ", false");
}

std::string DTypesJson() {
  auto rows = nlohmann::ordered_json::object();
  for (const DTypeRow& row : kDTypes) {
    rows[std::string(row.name)] = {
        {"torch", row.torch},       {"safetensors", row.safetensors}, {"bytes", row.bytes},      {"dlpack", row.dlpack},
        {"exponent", row.exponent}, {"mantissa", row.mantissa},       {"infinity", row.infinity}};
  }
  return rows.dump();
}

}  // namespace hone
