// The tables of a code index: one SQLite file with the texts of a tree as they were when it was made.
//
//   file     path, language, SHA-256, text          word    trigrams of the texts (FTS5)
//   symbol   what files define                      origin  the tree's root
#pragma once

#include "store/sqlite.h"

namespace hone {

inline constexpr int kIndexApplication = 0x686F6E69;  // "honi"
inline constexpr int kIndexVersion = 1;
inline constexpr DatabaseWords kIndexWords{.what = "code index", .another = "name another with -o"};

enum class IndexState { kEmpty, kOurs, kOlder };
// kCorrupt when it is somebody else's database.
Result<IndexState> StateOf(Connection& connection);
Result<void> MakeTables(Connection& connection);  // drops those of another version first

}  // namespace hone
