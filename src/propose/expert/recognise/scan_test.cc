// Scans as statements.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

// What it reads has no dimension for one batch, and the scan goes along what is left.
TEST(ScanTest, OfOneBatchGoesAlongItsOwnDimension) {
  const auto scan = [](int batches) {
    const std::string program = testing::WrittenText(fmt::format(
        R"({{"hone_problem": 1, "name": "n", "tensors": [
          {{"name": "x", "shape": [{0}, 4, 6, 100], "dtype": "f32", "role": "input", "generator": {{"kind": "uniform", "low": 0, "high": 1}}}},
          {{"name": "y", "shape": [{0}, 4, 6, 100], "dtype": "f32", "role": "output"}}], "graph": [
          {{"op": "exp", "args": {{"self": "%x"}}, "outputs": ["e"]}},
          {{"op": "cumsum", "args": {{"self": "%e", "dim": 2}}, "outputs": ["y"]}}]}})",
        batches));
    const auto begin = program.find("scan");
    return begin == std::string::npos ? program : program.substr(begin, program.find('\n', begin) - begin);
  };
  EXPECT_EQ(scan(2), "scan sum(exp(x)) over [2]");
  EXPECT_EQ(scan(1), "scan sum(exp(x_view)) over [1]");
}

}  // namespace
}  // namespace hone::expert
