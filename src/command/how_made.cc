#include "command/how_made.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "command/run_material.h"
#include "command/store_words.h"
#include "target/device_model.h"

namespace hone {

std::map<std::string, std::string> HowMade(const VerbCall& call, std::string_view verb, std::span<const Option> options,
                                           const std::vector<std::string>& unnamed) {
  constexpr std::string_view kTold[] = {"suite", "seed", "seeds", "budget", "helping", "target"};
  std::map<std::string, std::string> made;
  std::string command = fmt::format("hone {}", verb);
  for (const Option& option : options) {
    if (std::ranges::find(kTold, option.name) != std::end(kTold))
      made[std::string(option.name)] = call.Text(option.name);
    if (!call.Has(option.name)) continue;
    if (option.type == ValueType::kFlag) {
      command += fmt::format(" --{}", option.name);
      continue;
    }
    for (const std::string& value : call.Texts(option.name))
      command += fmt::format(" --{} {}", option.name, ShellWord(value));
  }
  for (const std::string& word : unnamed) command += " " + ShellWord(word);
  made["command"] = command;
  made["machine"] = DescribeMachine().processor;
  made["made by"] = MadeBy();
  return made;
}

}  // namespace hone
