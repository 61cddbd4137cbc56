// A KernelBench-style Python file: class Model, get_inputs(), get_init_inputs().
#include <nlohmann/json.hpp>

#include "problem/import/through_python.h"

namespace hone::importer_kernelbench_py {
namespace {

bool Accepts(std::string_view path) { return path.ends_with(".py"); }

Result<Problem> Read(const std::string& path, const ImportOptions& options) {
  return ImportThroughPython(path, {{"kind", "kernelbench_py"}}, options);
}

}  // namespace

HONE_ROW(Importer){"kernelbench_py", "FILE.py: Model, get_inputs, get_init_inputs", &Accepts, &Read};

}  // namespace hone::importer_kernelbench_py
