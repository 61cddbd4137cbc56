// The Python programs that are part of hone. Each runs as `python -I -c TEXT ARGUMENTS` in a child process.
#pragma once

#include <string_view>

namespace hone {

// ARGUMENTS: one JSON object; answers one JSON document. See bridge/hone_import.py; used by
// importers/kernelbench_py.cc.
std::string_view ImportBridge();

// What the import bridge runs beside itself when sizes are to be cut: the text goes along as "shrink_program".
std::string_view ShrinkBridge();

// ARGUMENTS: FILE.py eager|compile THREADS FLUSH_BYTES. A long-lived child that times the file's Model:
//   on its start    {"ready": true, "torch": "2.13.0", "mode": "eager"} after warm-up (a compile may take a minute)
//   per input line  {"runs": N, "cold": false}  ->  {"ns": [...]}: wall nanoseconds of each run
//   on failure      {"error": "one line"}, and it ends
std::string_view BaselineBridge();

}  // namespace hone
