#include "dsl/lower.h"

#include <utility>

namespace hone::dsl {

std::variant<KernelProgram, Complaint> Lower(std::string_view text, const Problem* problem, const Limits& limits) {
  auto parsed = Parse(text);
  if (auto* complaint = std::get_if<Complaint>(&parsed)) return std::move(*complaint);
  return Check(std::get<Program>(parsed), problem, limits);
}

}  // namespace hone::dsl
