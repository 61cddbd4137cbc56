#include "diagnose/raw.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone {
namespace {

constexpr double kMost = 0.3;  // propose/expert/expert.cc's, of one change

constexpr RawRow kRows[] = {
    {"spill_share", "tile"},
    {"local_share", "tile"},
    {"wide_access_share", "pack"},
    {"load_share", "pack"},
    {"tensor_share", "tile"},
    {"integer_share", "unroll"},
    {"predicated_share", "block"},
    {"loop_barrier_share", "stages"},
    {"occupancy", "block"},
    {"tail_share", "split"},
    {"busy_multiprocessors", "split"},
    {"launch_share", "products"},
    {"handed_on_share", "keep"},
    {"read_again_share", "cluster"},
    {"product_share", "way"},
    {"scalar_share", "vector"},
    {"vector_width_share", "vector"},
    {"gather_share", "tile"},
    {"slow_division_share", "vector"},
    {"dram_busy", "pack"},
    {"tensor_busy", "tile"},
    {"fma_busy", "tile"},
    {"lsu_busy", "pack"},
    {"conflict_share", "tile"},
    {"l2_hit_share", "cluster"},
    {"stall_memory", "stages"},
    {"stall_barrier", "block"},
    {"stall_products", "stages"},
};

}  // namespace

std::span<const RawRow> RawRows() { return kRows; }

std::vector<Finding> RawFindings(const Profile& profile) {
  std::vector<Finding> findings;
  for (const RawRow& row : kRows) {
    const auto value = profile.Get(row.fact);
    if (!value || *value <= 0) continue;
    findings.push_back({.rule = fmt::format("raw:{}", row.fact),
                        .evidence = fmt::format("{} is {:.3g}", row.fact, *value),
                        .advice = fmt::format("Try another {}.", row.knob),
                        .title = fmt::format("{} as it stands", row.fact),
                        .subject = profile.subject,
                        .lost = kMost * std::min(1.0, *value),
                        .moves = {{std::string(row.knob), ""}}});
  }
  return findings;
}

}  // namespace hone
