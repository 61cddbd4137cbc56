#include "dsl/cuda/knobs.h"

#include "dsl/knobs.h"

namespace hone::dsl {

std::vector<Setting> BlockThreadsValues(const Kernel&) { return {Whole(256), Whole(512), Whole(128)}; }
std::optional<std::string> CheckBlockThreads(const Kernel&, const Setting& value) {
  const auto* threads = std::get_if<std::int64_t>(&value.value);
  if (!threads || *threads < 32 || *threads > 1024 || *threads % 32 != 0)
    return "it is a multiple of 32 up to 1024; try 256";
  return std::nullopt;
}

std::vector<Setting> PackValues(const Kernel&) { return {Whole(4), Whole(2), Whole(1)}; }
std::optional<std::string> CheckPack(const Kernel&, const Setting& value) {
  const auto* pack = std::get_if<std::int64_t>(&value.value);
  if (!pack || (*pack != 1 && *pack != 2 && *pack != 4 && *pack != 8)) return "it is 1, 2, 4 or 8; try 4";
  return std::nullopt;
}

}  // namespace hone::dsl
