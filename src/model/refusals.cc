#include "model/refusals.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_text.h"

namespace hone {
namespace {

using Json = nlohmann::json;

Json Load(const std::string& path) {
  const auto text = ReadFile(path);
  Json all = text ? Json::parse(*text, nullptr, false) : Json();
  return all.is_object() ? all : Json::object();
}

}  // namespace

std::string Refusals::UsualPath() { return DataDirectory() + "/refused_parameters.json"; }

Refusals::Refusals(std::string path, const std::string& provider, const std::string& model)
    : path_(std::move(path)), who_(fmt::format("{} {}", provider, model)) {
  const Json all = Load(path_);
  const auto mine = all.find(who_);
  if (mine == all.end() || !mine->is_object()) return;
  for (const auto& [name, value] : mine->items()) {
    if (value.is_string()) refused_[name] = value.get<std::string>();
  }
}

bool Refusals::Has(const std::string& name, const std::string& value) const {
  const auto it = refused_.find(name);
  return it != refused_.end() && it->second == value;
}

Result<void> Refusals::Add(const std::string& name, const std::string& value) {
  refused_[name] = value;
  Json all = Load(path_);
  Json& mine = all[who_];
  if (!mine.is_object()) mine = Json::object();
  mine[name] = value;
  return WriteFileAtomically(path_, JsonText(all, 2) + "\n");
}

}  // namespace hone
