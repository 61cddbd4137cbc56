// A row of a table that cmake/Table.cmake collects: the constant kRow of the file's own namespace, which is named
// after the table and the file. Its other things live there as well, unnamed: files of a table may call theirs alike.
//
//   namespace hone::gate_40_idle {
//   namespace { ... }
//   HONE_ROW(Gate){.name = "40_idle", ...};
//   }
#pragma once

#define HONE_ROW(Type)    \
  extern const Type kRow; \
  constinit const Type kRow
