// What an expert's program makes of numbers that are the same for all programs: for tests of cuts that have to agree.
#pragma once

#include <random>
#include <string>
#include <variant>
#include <vector>

#include "dsl/testing/interpreter.h"
#include "propose/expert/testing/written.h"

namespace hone::expert::testing {

// `graph`: a Graph, or problem.json. Numbers are between -1 and 1.
inline std::vector<double> Computed(const auto& graph, const Fusion& fusion, const std::string& output) {
  const auto program = Written(graph, fusion);
  const auto checked = dsl::Check(*program, nullptr, TypicalDevice());
  const auto& kernels = std::get<dsl::KernelProgram>(checked);
  std::vector<std::vector<double>> values(kernels.buffers.size());
  for (std::size_t b = 0; b < values.size(); ++b) {
    if (kernels.buffers[b].home > dsl::KernelBuffer::Home::kParameter) continue;
    std::mt19937 random(static_cast<unsigned>(kernels.buffers[b].name[0]));
    values[b].resize(static_cast<std::size_t>(ElementCount(kernels.buffers[b].shape)));
    for (double& value : values[b]) value = static_cast<double>(random() % 2048) / 1024 - 1;
  }
  dsl::testing::Interpreter(kernels, values).Run();
  for (std::size_t b = 0; b < values.size(); ++b) {
    if (kernels.buffers[b].name == output) return values[b];
  }
  return {};
}

}  // namespace hone::expert::testing
