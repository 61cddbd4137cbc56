// What a suite is made of: the problems of a folder, or those that a file lists.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "search/suite.h"

namespace hone {

struct SuiteList {
  std::vector<SuiteProblem> problems;
  std::vector<std::string> left_out;  // a line each: the same problem under another name is one run
};

// Of a folder: the .py, .pt2 and .json files in it and below, numbers in names by their values, hidden ones and the
// caches of interpreters left out. Of a text: a path a line, from the text's folder; what follows # is a remark. Of a
// .json: an array of paths, or of objects with path and, if need be, name and group. A problem's group is the folder
// that it lies in, a file's own name without one. A checkout of KernelBench is its folder of problems. With `only`,
// shell patterns with commas between them, those whose names match one: "level1/*,level2/1_*". kUsage where there is no
// problem, or a listed one is not there.
Result<SuiteList> ListSuite(const std::string& path, std::string_view only = {});

}  // namespace hone
