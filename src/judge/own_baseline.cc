#include "judge/own_baseline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/text.h"
#include "oracle/compare.h"

namespace hone {
namespace {

using nlohmann::json;

json Row(const std::string& name, const Tensor& tensor, const Place& place) {
  return {{"name", name},
          {"dtype", RowOf(tensor.dtype).torch},
          {"shape", tensor.shape},
          {"bytes", tensor.bytes()},
          {"at", place.offset + place.data}};
}

// What PyTorch calls what a module holds: the problem's name has no dots in it, so the importer notes the other one. ""
// of what is none of that, an argument of forward.
std::string NameInModule(const Problem& problem, const Tensor& tensor) {
  const auto noted = problem.provenance.find("parameter " + tensor.name);
  if (noted != problem.provenance.end()) return noted->second;
  return tensor.role == Role::kParameter ? tensor.name : "";
}

}  // namespace

Result<CallSheet> CallSheet::Create(Trial& trial, const Problem& problem, const DrawnInputs& drawn) {
  std::vector<std::int64_t> bytes;
  for (const Tensor* tensor : problem.Inputs()) bytes.push_back(tensor->bytes());
  for (const Tensor* tensor : problem.Outputs()) bytes.push_back(tensor->bytes());
  std::int64_t end = 0;
  auto places = PlaceTensors(bytes, end);
  SharedMemory memory = HONE_TRY(SharedMemory::Create(end));
  for (std::size_t i = 0; i < problem.Inputs().size(); ++i) HONE_TRY(trial.Read(drawn, i, memory.At(places[i])));
  return CallSheet(problem, std::move(memory), std::move(places));
}

Result<HeldBaseline> CallSheet::Hold(OutsideProcess& process, Trial& trial, const DrawnInputs& drawn) const {
  const auto inputs = problem_->Inputs(), outputs = problem_->Outputs();
  json sheet{{"inputs", json::array()}, {"parameters", json::array()}, {"outputs", json::array()}};
  std::map<std::string, json> where;  // an input is held: by a name in the module, or as an argument of this number
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string in_module = NameInModule(*problem_, *inputs[i]);
    where[inputs[i]->name] = in_module.empty() ? json(sheet["inputs"].size()) : json(in_module);
    sheet[in_module.empty() ? "inputs" : "parameters"].push_back(
        Row(in_module.empty() ? inputs[i]->name : in_module, *inputs[i], places_[i]));
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    json row = Row(outputs[o]->name, *outputs[o], places_[inputs.size() + o]);
    if (problem_->provenance.contains("written " + outputs[o]->name)) row["written"] = where[outputs[o]->updates];
    sheet["outputs"].push_back(std::move(row));
  }
  const json answer = HONE_TRY(process.Answer({{"give", std::move(sheet)}}));

  HeldBaseline held;
  if (const auto unlike = answer.find("unlike"); unlike != answer.end() && unlike->is_string()) {
    held.wrong = Printable(unlike->get<std::string>());
  } else if (!answer.value("made", false)) {
    return Fail(ErrorKind::kTool, "answered " + Printable(answer.dump().substr(0, 200)));
  }
  for (std::size_t o = 0; o < outputs.size() && held.wrong.empty(); ++o) {
    const auto check = HONE_TRY(trial.CompareValues(drawn, o, memory_.At(places_[inputs.size() + o])));
    if (!check.right()) {
      held.wrong = WrongVerdict(*outputs[o], check, drawn.name).reason;
    } else {
      held.error_over_budget = std::max(held.error_over_budget, check.error_over_budget);
    }
  }
  // A module that has parameters of its own has values of its own in them, which explains much.
  if (const auto strays = answer.find("strays"); !held.wrong.empty() && strays != answer.end() && strays->is_array()) {
    std::vector<std::string> names;
    for (const json& one : *strays) names.push_back(one.is_string() ? Printable(one.get<std::string>()) : one.dump());
    held.wrong += fmt::format("; of its parameters these have no name of the problem's, and keep their own values: {}",
                              fmt::join(names, ", "));
  }
  return held;
}

}  // namespace hone
