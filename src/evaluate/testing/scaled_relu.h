// The problem that tests/data's candidates for CUDA claim to compute, and where they lie. For tests only.
#pragma once

#include <cstdlib>
#include <string>

#include "problem/problem.h"

namespace hone {

inline Problem ScaledRelu() {
  constexpr const char* kText = R"({
  "hone_problem": 1, "name": "scaled relu", "contract": "fp32",
  "tensors": [
    {"name": "x", "shape": [512, 1024], "dtype": "f32", "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
    {"name": "w", "shape": [1024], "dtype": "f32", "role": "parameter", "generator": {"kind": "uniform", "low": -1, "high": 1}},
    {"name": "y", "shape": [512, 1024], "dtype": "f32", "role": "output"}
  ],
  "graph": [
    {"op": "aten.mul.Tensor", "args": {"self": "%x", "other": "%w"}, "outputs": ["product"]},
    {"op": "aten.relu", "args": {"self": "%product"}, "outputs": ["y"]}
  ]
})";

  return *ParseProblem(kText, "test");
}

// tests/data/NAME
inline std::string DataFolder(const std::string& name) {
  const char* source = std::getenv("HONE_SOURCE");
  return std::string(source ? source : ".") + "/tests/data/" + name;
}

}  // namespace hone
