#include "dsl/lower.h"

#include <utility>

namespace hone::dsl {

std::variant<KernelProgram, Complaint> Lower(std::string_view text, const Problem* problem, const DeviceModel& device) {
  auto parsed = Parse(text);
  if (auto* complaint = std::get_if<Complaint>(&parsed)) return std::move(*complaint);
  return Check(std::get<Program>(parsed), problem, device);
}

}  // namespace hone::dsl
