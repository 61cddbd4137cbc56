// What runs left to later ones, as a file of JSON lines, so that it can go from one store to another:
//
//   {"hone_memory": 1}
//   {"proven": {"piece": "...", "target": "cpu", "settings": {"vector": "32"}, ...}}
//   {"lesson": {"run": "0a1b2c", "attempt": 3, "family": "softmax", "knob": "vector", ...}}
//
// The fields are those of the store's records. Whoever reads one believes it of no more than which settings to try
// first: they are checked, judged and timed like all others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace hone {

struct MemoryFile {
  std::vector<ProvenRecord> proven;
  std::vector<LessonRecord> lessons;
};

std::string ToLines(const MemoryFile& memory);
// kCorrupt with the line that is wrong and why: a field of another type or out of its range, a name that nothing has, a
// text that is too long or holds control characters, a piece that is no program. `name` is what the file is called
// there.
Result<MemoryFile> ReadMemory(std::string_view lines, const std::string& name);

}  // namespace hone
