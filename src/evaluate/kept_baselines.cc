#include "evaluate/kept_baselines.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/date.h"
#include "base/files.h"
#include "verdict/verdict_fields.h"

namespace hone {
namespace {

using nlohmann::json;

}  // namespace

KeptBaselines::KeptBaselines(std::string path, std::string about) : path_(std::move(path)), about_(std::move(about)) {
  Read();
}

void KeptBaselines::Read() {
  if (path_.empty()) return;
  const auto text = ReadFile(path_);
  if (!text) return;
  const json document = json::parse(*text, nullptr, false);
  const auto baselines = document.is_object() ? document.value("baselines", json::object()) : json::object();
  if (!baselines.is_object()) return;
  for (const auto& [name, one] : baselines.items()) {
    auto known = FromRecord<KnownBaseline>(one, "a baseline's times");
    if (!known || known->warm.median_us <= 0) continue;
    const auto mine = known_.find(name);
    if (mine == known_.end() || mine->second.warm.count < known->warm.count) known_[name] = std::move(*known);
  }
}

const KnownBaseline* KeptBaselines::Find(const std::string& name) const {
  const auto found = known_.find(name);
  return found == known_.end() ? nullptr : &found->second;
}

Result<void> KeptBaselines::Keep(const std::string& name, KnownBaseline times) {
  const auto mine = known_.find(name);
  if (mine != known_.end() && mine->second.warm.count > times.warm.count) return {};
  times.measured_on = Today();
  known_[name] = std::move(times);
  if (path_.empty()) return {};
  Read();  // what others have added
  json baselines = json::object();
  for (const auto& [known_name, one] : known_) baselines[known_name] = ToRecord(one);
  HONE_TRY(MakeDirectories(std::filesystem::path(path_).parent_path().string()));
  const json about = json::parse(about_, nullptr, false);
  return WriteFileAtomically(
      path_,
      json{{"about", about.is_discarded() ? json() : about}, {"baselines", std::move(baselines)}}.dump(2) + "\n");
}

}  // namespace hone
