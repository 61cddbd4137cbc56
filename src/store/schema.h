// The tables of the run store and how an older store becomes a newer one.
#pragma once

#include <cstdint>

#include "store/sqlite.h"

namespace hone {

// A store says in its header which schema it has. We read and write these; an older one is brought up to the newest
// when it is opened, in one transaction; one from a later hone is refused with kUsage and left as it is.
inline constexpr int kOldestSchema = 1;
inline constexpr int kNewestSchema = 12;
inline constexpr std::uint32_t kApplicationId = 0x686f6e65;  // "hone", in the file's header: `file runs.db` shows it

// kCorrupt when the file is a database of somebody else.
Result<void> PrepareSchema(Connection& connection);

}  // namespace hone
