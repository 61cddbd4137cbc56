// Arms that search a problem itself, on this processor or on a CUDA device, and not a table of its space. A candidate
// is measured once, whoever comes to it (search/measured.h).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "command/command.h"
#include "search/comparison.h"
#include "search/memory_file.h"

namespace hone {

// What arms begin with, by the words that choose it (Arm::memory), as it was when the comparison began: no search
// learns from another.
using Memories = std::map<std::string, MemoryFile>;

// The verb's options say with how many seeds, where (--target), and where tables of what was measured are kept
// (--measured), and which models and code index proposers may use. The fastest that is known is the fastest in the
// problem's table by then. kUsage when no search found anything that was accepted, or the kept table is of something
// else.
// `after` each search: what there is of the problem by then; best_us is 0 while nothing was accepted.
Result<ProblemTraces> SearchLive(VerbCall& call, const std::string& file, const std::vector<Arm>& arms,
                                 const Memories& memories, const std::function<void(const ProblemTraces&)>& after);

}  // namespace hone
