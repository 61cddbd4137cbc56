// The rows of the verbs as help: for people, and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "command/command.h"

namespace hone {
namespace {

constexpr Option kCommonOptions[] = {
    {.name = "json", .type = ValueType::kFlag, .help = "print one JSON document instead of text"},
    {.name = "help", .letter = 'h', .type = ValueType::kFlag, .help = "print this and stop"},
};

struct GroupTitle {
  VerbGroup group;
  std::string_view title;
};
constexpr GroupTitle kGroups[] = {
    {VerbGroup::kRuns, "Make a problem faster"},
    {VerbGroup::kKernels, "Your own kernels"},
    {VerbGroup::kProblems, "Problems, and what is known of them"},
    {VerbGroup::kCode, "Code of others"},
    {VerbGroup::kMachine, "This machine, and hone itself"},
};

// Appends words to `text`, whose last line is at `column`, and breaks lines at spaces; new lines begin at `indent`.
void Fill(std::string& text, std::string_view words, std::size_t column, std::size_t indent) {
  bool first = true;
  while (!words.empty()) {
    const std::size_t length = std::min(words.find(' '), words.size());
    if (!first && column + 1 + length > kTextColumns) {
      text += fmt::format("\n{:{}}", "", indent);
      column = indent;
    } else if (!first) {
      text += ' ';
      ++column;
    }
    text += words.substr(0, length);
    column += length;
    words.remove_prefix(std::min(length + 1, words.size()));
    first = false;
  }
}

// Two columns.
void AddRow(std::string& text, std::string_view left, std::string_view right) {
  constexpr std::size_t kLeft = 24;
  text += fmt::format("  {:<{}}", left, kLeft);
  if (left.size() >= kLeft) text += fmt::format("\n{:{}}", "", kLeft + 2);
  Fill(text, right, kLeft + 2, kLeft + 2);
  text += '\n';
}

// Lines that belong to one paragraph are filled to the width; empty ones and those that begin with a space stay.
std::string Filled(std::string_view help) {
  std::string text, paragraph;
  const auto flush = [&] {
    if (paragraph.empty()) return;
    Fill(text, paragraph, 0, 0);
    text += '\n';
    paragraph.clear();
  };
  while (!help.empty()) {
    const std::string_view line = help.substr(0, help.find('\n'));
    help.remove_prefix(std::min(line.size() + 1, help.size()));
    if (line.empty() || line[0] == ' ') {
      flush();
      text += fmt::format("{}\n", line);
    } else {
      paragraph += fmt::format("{}{}", paragraph.empty() ? "" : " ", line);
    }
  }
  flush();
  return text;
}

std::string_view JsonType(ValueType type) {
  switch (type) {
    case ValueType::kFlag: return "boolean";
    case ValueType::kText: return "string";
    case ValueType::kInteger: return "integer";
    case ValueType::kReal: return "number";
  }
  return "string";
}

}  // namespace

std::span<const Option> CommonOptions() { return kCommonOptions; }

std::vector<Option> OptionsOf(const Verb& verb) {
  std::vector<Option> all(verb.options.begin(), verb.options.end());
  all.insert(all.end(), std::begin(kCommonOptions), std::end(kCommonOptions));
  return all;
}

std::vector<ChoiceHelp> ChoicesOf(const Option& option) {
  return option.choices ? option.choices() : std::vector<ChoiceHelp>();
}

std::vector<const Verb*> ListedVerbs() {
  std::vector<const Verb*> listed;
  for (const Verb* verb : AllVerbs()) {
    if (!verb->hidden) listed.push_back(verb);
  }
  std::stable_sort(listed.begin(), listed.end(), [](const Verb* a, const Verb* b) {
    return std::pair(a->group, a->place) < std::pair(b->group, b->place);
  });
  return listed;
}

std::string Upper(std::string_view name) {
  std::string upper(name);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return upper;
}

std::string Synopsis(const Verb& verb) {
  std::string line = fmt::format("hone {}", verb.name);
  for (const Positional& positional : verb.positionals) {
    const std::string name = Upper(positional.name);
    switch (positional.presence) {
      case Presence::kRequired: line += " " + name; break;
      case Presence::kOptional: line += " [" + name + "]"; break;
      case Presence::kRepeated: line += " [" + name + " ...]"; break;
    }
  }
  return line + " [options]";
}

std::string HelpText() {
  std::string text = fmt::format(
      "hone {} makes kernels faster and proves it.\n\nUsage: hone VERB [arguments] [options]\n", HONE_VERSION);
  const std::vector<const Verb*> listed = ListedVerbs();
  for (const GroupTitle& group : kGroups) {
    text += fmt::format("\n{}:\n", group.title);
    for (const Verb* verb : listed) {
      if (verb->group == group.group) AddRow(text, verb->name, verb->doc);
    }
  }
  text += "\nMore help:\n";
  AddRow(text, "hone VERB --help", "arguments, options, examples");
  for (const HelpTopic& topic : HelpTopics()) AddRow(text, fmt::format("hone help {}", topic.name), topic.doc);
  AddRow(text, "hone help --man", "all of it as a manual page: hone help --man | man -l -");
  text += "\nEvery verb takes --help and --json. With --json standard output holds exactly one JSON document.\n";
  text += "\nExit codes:\n";
  AddRow(text, "0", "done");
  AddRow(text, "1", "done, but the answer is no: candidate refused, nothing faster found");
  AddRow(text, "2", "the command line or an input file is wrong");
  AddRow(text, "3", "the world failed: a tool, a file, a device");
  AddRow(text, "130", "interrupted");
  return text;
}

std::string HelpText(const Verb& verb) {
  std::string text = fmt::format("Usage: {}\n\n{}\n", Synopsis(verb), verb.doc);
  if (!verb.help.empty()) text += "\n" + Filled(verb.help);
  if (!verb.positionals.empty()) {
    text += "\nArguments:\n";
    for (const Positional& positional : verb.positionals) AddRow(text, Upper(positional.name), positional.help);
  }
  text += "\nOptions:\n";
  for (const Option& option : OptionsOf(verb)) {
    const std::string letter = option.letter ? fmt::format("-{}, ", option.letter) : "";
    const std::string value = option.type == ValueType::kFlag ? "" : fmt::format(" {}", option.value);
    const std::string otherwise = option.otherwise.empty() ? "" : fmt::format(" (default: {})", option.otherwise);
    AddRow(text, fmt::format("{}--{}{}", letter, option.name, value), fmt::format("{}{}", option.help, otherwise));
    for (const ChoiceHelp& one : ChoicesOf(option)) AddRow(text, "  " + one.words, one.help);
  }
  if (!verb.json.empty()) text += "\n" + Filled(fmt::format("With --json: {}", verb.json));
  text +=
      "\n" + Filled(fmt::format("Exit codes: 0 done; {}2 wrong usage or input; 3 the world failed; 130 interrupted.",
                                verb.no.empty() ? "" : fmt::format("1 {}; ", verb.no)));
  return text;
}

nlohmann::json Describe(const Verb& verb) {
  nlohmann::json properties = nlohmann::json::object();
  nlohmann::json required = nlohmann::json::array();
  for (const Positional& positional : verb.positionals) {
    nlohmann::json& property = properties[std::string(positional.name)];
    if (positional.presence == Presence::kRepeated) {
      property = {{"type", "array"}, {"items", {{"type", "string"}}}};
    } else {
      property = {{"type", "string"}};
    }
    property["description"] = positional.help;
    if (positional.presence == Presence::kRequired) required.push_back(positional.name);
  }
  for (const Option& option : verb.options) {
    nlohmann::json& property = properties[std::string(option.name)];
    if (option.repeats) {
      property = {{"type", "array"}, {"items", {{"type", JsonType(option.type)}}}, {"description", option.help}};
    } else {
      property = {{"type", JsonType(option.type)}, {"description", option.help}};
    }
    if (option.at_least) property["minimum"] = *option.at_least;
    for (const ChoiceHelp& one : ChoicesOf(option)) property["examples"].push_back(one.words);
    if (option.otherwise.empty()) continue;
    if (option.type == ValueType::kText) {
      property["default"] = option.otherwise;
    } else {
      property["default"] = nlohmann::json::parse(option.otherwise);
    }
  }
  return {{"name", verb.name},
          {"doc", verb.doc},
          {"help", verb.help},
          {"json", verb.json},
          {"arguments",
           {{"type", "object"}, {"properties", properties}, {"required", required}, {"additionalProperties", false}}}};
}

namespace {

std::string VariablesText() {
  std::string text = "Environment variables that hone reads; options on the command line come before them.\n\n";
  for (const Variable& variable : Variables()) AddRow(text, variable.name, variable.help);
  return text;
}

std::string GlossaryText() {
  std::string text = "Words that outputs and documents use in a meaning of their own.\n\n";
  for (const Term& term : Glossary()) AddRow(text, term.word, term.meaning);
  return text;
}

constexpr HelpTopic kTopics[] = {
    {"environment", "the environment variables that hone reads", VariablesText},
    {"words", "what contract, bound, headroom, honest, normwise and other words mean", GlossaryText},
};

}  // namespace

std::span<const HelpTopic> HelpTopics() { return kTopics; }

}  // namespace hone
