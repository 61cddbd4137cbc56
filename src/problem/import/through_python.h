// Importing what only PyTorch can read: bridge/hone_import.py runs in a child process, under limits of time and memory
// and confined where that works (confine.h), because what it reads is code of a stranger.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "problem/import/import.h"

namespace hone {

// `request` says what kind of thing `path` is ("kind") and what else the bridge has to know of it; the options are
// added here. The errors are those of Import().
Result<Problem> ImportThroughPython(const std::string& path, const nlohmann::json& request,
                                    const ImportOptions& options);

}  // namespace hone
