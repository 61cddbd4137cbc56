#include "command/how_made.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "command/run_material.h"
#include "command/store_words.h"
#include "target/cuda/device_calibration.h"
#include "target/device_model.h"

namespace hone {

std::vector<std::string> GivenWords(const VerbCall& call, const Option& option) {
  if (!call.Has(option.name)) return {};
  const std::string name = fmt::format("--{}", option.name);
  if (option.type == ValueType::kFlag) return {name};
  std::vector<std::string> words;
  for (const std::string& value : call.Texts(option.name)) words.insert(words.end(), {name, value});
  return words;
}

std::map<std::string, std::string> HowMade(const VerbCall& call, std::string_view verb, std::span<const Option> options,
                                           const std::vector<std::string>& unnamed) {
  constexpr std::string_view kTold[] = {"suite", "seed", "seeds", "budget", "helping", "target"};
  std::map<std::string, std::string> made;
  std::string command = fmt::format("hone {}", verb);
  for (const Option& option : options) {
    if (std::ranges::find(kTold, option.name) != std::end(kTold))
      made[std::string(option.name)] = call.Text(option.name);
    for (const std::string& word : GivenWords(call, option)) command += " " + ShellWord(word);
  }
  for (const std::string& word : unnamed) command += " " + ShellWord(word);
  made["command"] = command;
  made["machine"] = DescribeMachine().processor;
  if (const auto target = made.find("target"); target != made.end() && target->second == "cuda") {
    if (const auto device = cuda::DescribeDevice()) made["device"] = device->processor;
  }
  made["made by"] = MadeBy();
  return made;
}

}  // namespace hone
