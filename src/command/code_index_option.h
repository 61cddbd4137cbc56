// Which code index a verb means.
#pragma once

#include <optional>

#include "command/command.h"
#include "index/code_index.h"
#include "propose/joint.h"

namespace hone {

// --index of every verb that looks into one.
inline constexpr Option kIndexOption{.name = "index",
                                     .value = "NAME",
                                     .help =
                                         "code index, by the name that `hone index` gave it, or FILE.sqlite (default: "
                                         "the only one beside the run store)"};

// Where an index of that name lies: indexes/NAME.sqlite beside the run store.
std::string IndexPathOf(const VerbCall& call, std::string_view name);
// The option's file, else the only index there is; nothing where none is. kUsage when there are several.
Result<std::optional<std::string>> IndexPath(const VerbCall& call);
// That which the proposer's models may look into: empty where there is none, or it looks nothing up; then it is kUsage
// to name one.
Result<std::string> IndexFor(const VerbCall& call, const ChosenProposers& proposers);
// --limit of a verb that finds something, as far as an index gives so many.
int LimitOf(const VerbCall& call);
// kNotFound when there is none.
Result<CodeIndex> OpenIndex(const VerbCall& call);

}  // namespace hone
