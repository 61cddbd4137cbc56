// Problems in a line or two, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "graph/graph.h"

namespace hone::testing {

// SmallProblem("fp32", "x f32 2x3, w:parameter f32 3", "y f32 2x3", R"([{"op": ..., "args": ..., "outputs": ["y"]}])").
// Inputs are normal (reals) or integers below 4; a scalar's shape is "-".
inline Problem SmallProblem(const std::string& contract, const std::string& inputs, const std::string& outputs,
                            const std::string& nodes) {
  std::string tensors;
  const auto add = [&](const std::string& list, bool output) {
    std::size_t at = 0;
    while (at < list.size()) {
      std::size_t end = list.find(", ", at);
      if (end == std::string::npos) end = list.size();
      const std::string item = list.substr(at, end - at);
      at = end + 2;
      const auto first = item.find(' '), last = item.rfind(' ');
      std::string name = item.substr(0, first), role = output ? "output" : "input";
      if (const auto colon = name.find(':'); colon != std::string::npos) {
        role = name.substr(colon + 1);
        name.resize(colon);
      }
      const std::string dtype = item.substr(first + 1, last - first - 1);
      std::string shape = item.substr(last + 1);
      if (shape == "-") shape.clear();
      for (auto& c : shape) c = c == 'x' ? ',' : c;
      const bool real = dtype[0] == 'f' || dtype == "bf16";
      tensors += (tensors.empty() ? "" : ",") +
                 ("{\"name\": \"" + name + "\", \"shape\": [" + shape + "], \"dtype\": \"") + dtype +
                 "\", \"role\": \"" + role + "\"";
      if (!output) {
        tensors += real ? ", \"generator\": {\"kind\": \"normal\", \"mean\": 0, \"deviation\": 1}"
                        : ", \"generator\": {\"kind\": \"integer\", \"low\": 0, \"high\": 4}";
      }
      tensors += "}";
    }
  };
  add(inputs, false);
  add(outputs, true);
  auto problem = ParseProblem("{\"hone_problem\": 1, \"name\": \"small\", \"contract\": \"" + contract +
                                  "\", \"tensors\": [" + tensors + "], \"graph\": " + nodes + "}",
                              "small.json");
  EXPECT_TRUE(problem.has_value()) << problem.error().message;
  return problem.value_or(Problem{});
}

inline Graph SmallGraph(const std::string& contract, const std::string& inputs, const std::string& outputs,
                        const std::string& nodes) {
  auto graph = Graph::Create(SmallProblem(contract, inputs, outputs, nodes));
  if (!graph) {
    ADD_FAILURE() << graph.error().message;
    std::abort();  // there is no empty graph to go on with
  }
  return std::move(*graph);
}

}  // namespace hone::testing
