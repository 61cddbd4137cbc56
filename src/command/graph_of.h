// The graph of a problem that was read from a file, which the line about what is wrong with it begins with.
#pragma once

#include <string_view>

#include "base/result.h"
#include "graph/graph.h"
#include "problem/problem.h"

namespace hone {

// Fails as Graph::Create does: "p.json: /graph/3/args/keepdims (aten.sum.dim_IntList): ...". Of a problem that was
// imported the place is in what the import made of `path`, and the line of the file stands behind it.
Result<Graph> GraphOf(Problem problem, std::string_view path);

}  // namespace hone
