// What the expert writes of a problem, everything fused: for tests of what it recognises.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "dsl/kernel.h"
#include "dsl/program.h"
#include "propose/expert/pieces.h"
#include "propose/expert/writer.h"
#include "target/shipped_model.h"

namespace hone::expert::testing {

inline std::optional<dsl::Program> Written(const Graph& graph, const Fusion& fusion = {},
                                           const DeviceModel& device = TypicalDevice()) {
  const Memory memory(graph);
  auto program = WriteProgram(memory, Fuse(memory, PiecesOf(memory), fusion), device, Products::kF32);
  if (!program) return program;
  const auto checked = dsl::Check(*program, &graph.problem(), device);
  const auto* complaint = std::get_if<dsl::Complaint>(&checked);
  EXPECT_EQ(complaint, nullptr) << complaint->message << "\n" << dsl::Print(*program);
  return program;
}

// `text`: problem.json.
inline Graph GraphOf(const std::string& text) {
  const auto problem = ParseProblem(text, "test");
  EXPECT_TRUE(problem) << problem.error().message;
  auto graph = Graph::Create(*problem);
  EXPECT_TRUE(graph) << graph.error().message;
  return *std::move(graph);
}
inline std::optional<dsl::Program> Written(const std::string& text, const Fusion& fusion = {},
                                           const DeviceModel& device = TypicalDevice()) {
  return Written(GraphOf(text), fusion, device);
}

inline std::string WrittenText(const std::string& text, const Fusion& fusion = {},
                               const DeviceModel& device = TypicalDevice()) {
  const auto program = Written(text, fusion, device);
  EXPECT_TRUE(program);
  return program ? dsl::Print(*program) : "";
}

}  // namespace hone::expert::testing
