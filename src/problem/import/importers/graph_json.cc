// A problem that is in our own form already.
#include "problem/import/import.h"

namespace hone {
namespace {

bool Accepts(std::string_view path) { return path.ends_with(".json"); }

Result<Problem> Read(const std::string& path, const ImportOptions&) { return LoadProblem(path); }

}  // namespace

extern const Importer importer_graph_json;
constinit const Importer importer_graph_json{"graph_json", "FILE.json: a problem.json", &Accepts, &Read};

}  // namespace hone
