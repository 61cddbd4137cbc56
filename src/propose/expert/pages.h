// Rows that a map looks up by pages, as a cache of keys has them: a table says in which page the next so many rows of a
// sequence are. Private to the expert.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dsl/program.h"
#include "propose/expert/names.h"
#include "propose/expert/pieces.h"

namespace hone::expert {

// Row `place * slot.extent + slot` of a batch is in `buffer` at `position`, where `page` is the value of `number`.
struct PagedRows {
  int buffer = -1;
  Affine position;  // over batches, page, slot, element
  IndexVar page;
  Expr number;  // over batches and the place
};
// How many rows, of which there is one for each `row`, the map finds in a page, which it looks up for `load`; nothing
// where it cuts them otherwise.
std::optional<std::int64_t> RowsOfPage(const Piece& map, const FlatLoad& load, const IndexVar& row);
// `vars`: all that the load's position is of but `row`.
std::optional<PagedRows> PagedRowsOf(const Memory& memory, const Piece& map, const FlatLoad& load, const IndexVar& row,
                                     const IndexVar& place, const IndexVar& slot, std::vector<IndexVar> vars);

// Keys and values of attention, whose scores and sums of values those pieces are, as operands of it, what says in which
// pages they are, and the second parts of keys, if there are `more`; nothing where they are not looked up by the same
// pages.
struct PagedKeys {
  dsl::TermPtr keys, values, table, more;
};
std::optional<PagedKeys> ByPages(Names& names, const std::vector<Piece>& looked_up, const FlatLoad& k,
                                 const FlatLoad& v, const FlatLoad* more, const Piece& scores, const Piece& outer);

}  // namespace hone::expert
