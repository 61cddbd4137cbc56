// Exports: the winner of a run as files that need no hone. A form of export is one file of report/export/; a generated
// table collects them, so that adding one is adding a file (cmake/Table.cmake). Forms are pure: they turn an
// ExportMaterial into texts, which WriteFolder writes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/row.h"
#include "candidate/plan.h"
#include "problem/problem.h"
#include "store/records.h"
#include "verdict/verdict.h"

namespace hone {

// What a plan was compiled to.
struct CompiledPlan {
  Plan plan;                        // the plan in the sources that were compiled one by one
  std::vector<std::string> cubins;  // one a source
  std::vector<std::string> prepare,
      launches;             // kernels' names in there, one a LaunchStep of plan.prepare and plan.steps
  std::vector<bool> early;  // one a step of plan.steps: begins while the launch before it ends
};

// All that is known of what is exported. Views must outlive it.
struct ExportMaterial {
  Problem problem;                       // files that it names start at problem.folder
  std::string module;                    // C++ behind include/hone/module.h
  std::string plan;                      // JSON (docs/plan.md), for a CUDA device, instead of a module; empty for a CPU
  std::optional<CompiledPlan> compiled;  // the plan; without: why_not_compiled
  std::string why_not_compiled;
  std::string program;  // in the kernel language; empty if the candidate is a module or a plan
  std::string model;  // the .py file that the problem was imported from, as it was then; empty if that is not to be had
  std::string model_name;    // its file name
  std::string why_no_model;  // one line; empty if there is one
  std::string sample_path;   // safetensors: inputs, parameters, expected.NAME and budget.NAME; empty if there is none
  RunRecord run;             // its id is empty if what is exported belongs to no run
  AttemptRecord attempt;
  Evaluation evaluation;         // the one that speaks for it: of its confirmation if there is one
  std::int64_t measured_ms = 0;  // when that ended
  bool confirmed = false;        // measured again on fresh inputs at the end of the run
  std::string processor;         // where it was measured; empty if that was another machine than this
  std::string hone_version;
  std::vector<std::string> gcc_flags, clang_flags;
  std::string_view module_header, dlpack_header;
};

// One file of an export; its content is a text or another file's.
struct ExportedFile {
  std::string path;  // in the folder
  std::string content;
  std::string copy_of;  // if not empty: the path of a file with the content
};

struct ExportForm {
  std::string_view name;
  std::string_view doc;  // one line: what is in it, for whom
  Result<std::vector<ExportedFile>> (*write)(const ExportMaterial& material);
};

std::span<const ExportForm* const> AllExportForms();              // sorted by name
Result<const ExportForm*> FindExportForm(std::string_view name);  // kUsage with a proposal if unknown

// All files appear at once under `folder`, or none: they are written beside it and renamed. kUsage if it is a file or a
// folder that is not empty, kIo if it cannot be written, kNotFound if a file to copy is gone.
Result<void> WriteFolder(const std::string& folder, const std::vector<ExportedFile>& files);

// Parts that forms share.

// kernel.cc and the headers that it includes, or plan.json and its sources; program.hk, and problem.json with the files
// of values that it names.
std::vector<ExportedFile> ModuleFiles(const ExportMaterial& material);
// export.json: what a program wants to know of the export. Its "id" is of kernel and problem.
std::string ExportFacts(const ExportMaterial& material);
// Lines of Markdown: which run, how fast, how it was proved.
std::string SpeedSection(const ExportMaterial& material);
// "`kernel.cc` | what" rows for the files that are there.
std::string FileTable(const std::vector<ExportedFile>& files);
// How to build kernel.cc by hand.
std::string CompilerLine(const ExportMaterial& material);

}  // namespace hone
