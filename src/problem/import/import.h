// Importing: a problem out of a file of somebody else's kind. One file an importer, in importers/; a generated table
// collects them, so that adding one is adding a file (cmake/Table.cmake).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/row.h"
#include "problem/problem.h"

namespace hone {

// Data memory that a file's code may take: half of the machine's, 4 GB at least.
std::uint64_t MostImportBytes();

struct ImportOptions {
  std::string python;                      // interpreter with torch; empty = FindPython()
  bool weights = false;                    // keep the parameters' exact values (seed 42), not their distribution
  std::string weights_path;                // the safetensors file for them and for constants that have no generator;
                                           // written only if there are any. Empty: one in our cache folder
  std::chrono::milliseconds wall{60'000};  // for code of the file that runs
  std::uint64_t memory_bytes = MostImportBytes();
  Precision contract = Precision::kTorch;  // of files that do not state one
  // > 0: cut batch, channels and spatial sizes of a .py file until it computes no more than this many MFLOP on no more
  // than 8 MiB, its operators kept. The cut file is written beside weights_path, as .py, and is the problem's source.
  double shrink_mflop = 0;
  std::string workload;  // of a definition with workloads: its uuid or its number from 0; empty = the first
  std::map<std::string, Shape>* recorded_shapes = nullptr;  // if given: what PyTorch recorded of each value it traced
};

struct Importer {
  std::string_view name;
  std::string_view doc;  // one line: which files
  bool (*accepts)(std::string_view path);
  Result<Problem> (*import)(const std::string& path, const ImportOptions& options);
};

// Whether a text of JSON nests deeper than any that an importer reads (brackets within texts count too). Such a text is
// not to be parsed by what recurses.
bool NestsDeep(std::string_view json_text);

std::span<const Importer* const> AllImporters();  // sorted by name

// By the first importer that accepts the path. kNotFound if there is no such file or no Python, kUsage with the line of
// the file for what is wrong in it or unknown to hone, kTimeout, kTool if the interpreter died. The problem's folder is
// where its FromFile paths start: the folder of weights_path. The contract option does not change a problem that states
// its own.
Result<Problem> Import(const std::string& path, const ImportOptions& options = {});

}  // namespace hone
