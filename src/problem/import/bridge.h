// The Python programs that are part of hone. Each runs as `python -I -c TEXT ARGUMENTS` in a child process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone {

// ARGUMENTS: one JSON object; answers one JSON document. See bridge/hone_import.py; used by
// importers/kernelbench_py.cc.
std::string_view ImportBridge();

// What the import bridge runs beside itself when sizes are to be cut: the text goes along as "shrink_program".
std::string_view ShrinkBridge();

// ARGUMENTS: FILE.py MODE THREADS FLUSH_BYTES cpu|cuda [OWN.py CLASS]. A long-lived child that times the file's Model,
// in one mode of bridge/hone_baseline.py or in several, or the module of OWN.py:
//   first, on cuda  {"device": true}, or {"device": false, "error": "one line"}, and it ends
//   when it is up   {"ready": true, "torch": "2.13.0", "mode": "eager"}
//   per input line  {"runs": N, "cold": false, "mode": "eager"}  ->  {"ns": [...]}: nanoseconds of each run; a mode's
//                   first may take minutes
//                   {"give": ...}, of OWN.py's beforehand (judge/own_baseline.h)
//   on failure      {"error": "one line"}, and it ends; with "goes_on": true only that mode cannot be had
std::string_view BaselineBridge();

// `-I -c TEXT`, of a text of any length: Linux takes no argument of more than 128 KiB, so that a longer one goes along
// in pieces, which the program puts together before it begins.
std::vector<std::string> ProgramArguments(std::string_view text);

}  // namespace hone
