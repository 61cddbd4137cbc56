// hone completion: what a shell needs to complete hone's verbs and options, from the same rows as the help.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>

#include "command/command.h"

namespace hone::verb_completion {
namespace {

constexpr Positional kPositionals[] = {{.name = "shell", .help = "bash, zsh or fish"}};

std::vector<std::string> VerbNames() {
  std::vector<std::string> names = {"help"};
  for (const Verb* verb : ListedVerbs()) names.emplace_back(verb->name);
  return names;
}

std::vector<std::string> OptionNames(const Verb& verb) {
  std::vector<std::string> names;
  for (const Option& option : OptionsOf(verb)) names.push_back(fmt::format("--{}", option.name));
  return names;
}

// The words that may follow an option, without their parameters; none when that is anything.
std::vector<std::string> Values(const Option& option) {
  if (option.name == "target") return {"cpu", "cuda"};
  std::vector<std::string> values;
  for (const ChoiceHelp& one : ChoicesOf(option)) values.push_back(one.words.substr(0, one.words.find(':')));
  return values;
}

// Files complete what is no option: most arguments are some.
std::string Bash() {
  std::vector<std::string> topics;
  for (const HelpTopic& topic : HelpTopics()) topics.emplace_back(topic.name);
  std::string options;
  std::map<std::string_view, std::vector<std::string>> values;
  for (const Verb* verb : ListedVerbs()) {
    for (const Option& option : OptionsOf(*verb)) {
      if (auto words = Values(option); !words.empty()) values[option.name] = std::move(words);
    }
    options += fmt::format("    {}) words=\"{}\" ;;\n", verb->name, fmt::join(OptionNames(*verb), " "));
  }
  std::string after;
  for (const auto& [name, words] : values)
    after += fmt::format("    --{}) words=\"{}\" ;;\n", name, fmt::join(words, " "));
  return fmt::format(
      R"(# bash completion of hone: source it, or put it into ~/.local/share/bash-completion/completions/hone
_hone() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} verb=${{COMP_WORDS[1]}} words=
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "{} --help --version" -- "$word")
    return
  fi
  case $verb in
    help) words="{} {}" ;;
{}  esac
  case $before in
{}    *)
      if [[ $word != -* && $verb != help ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
      fi ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}}
complete -o filenames -F _hone hone
)",
      fmt::join(VerbNames(), " "), fmt::join(topics, " "), fmt::join(VerbNames(), " "), options, after);
}

// `text` as a word of zsh or fish: within single quotes.
std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// _arguments reads brackets and colons itself.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string Zsh() {
  std::string verbs, options;
  for (const Verb* verb : ListedVerbs()) {
    verbs += fmt::format("    {}\n", Quoted(fmt::format("{}:{}", verb->name, Escaped(verb->doc))));
    options += fmt::format("    {})\n      _arguments", verb->name);
    for (const Option& option : OptionsOf(*verb)) {
      const std::string value = option.type == ValueType::kFlag ? ""
                                : Values(option).empty()
                                    ? fmt::format(":{}:_files", option.value)
                                    : fmt::format(":{}:({})", option.name, fmt::join(Values(option), " "));
      options +=
          fmt::format(" \\\n        {}", Quoted(fmt::format("*--{}[{}]{}", option.name, Escaped(option.help), value)));
    }
    options += " \\\n        '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef hone
# zsh completion of hone: put it into a folder of $fpath as _hone
_hone() {{
  local -a verbs=(
    'help:how to use hone'
{}  )
  if ((CURRENT == 2)); then
    _describe verb verbs
    return
  fi
  local verb=$words[2]
  shift words
  ((CURRENT--))
  case $verb in
{}  esac
}}
_hone "$@"
)",
                     verbs, options);
}

std::string Fish() {
  std::string text =
      "# fish completion of hone: put it into ~/.config/fish/completions/hone.fish\n"
      "complete -c hone -n __fish_use_subcommand -f -a help -d 'how to use hone'\n";
  for (const Verb* verb : ListedVerbs()) {
    text += fmt::format("complete -c hone -n __fish_use_subcommand -f -a {} -d {}\n", verb->name, Quoted(verb->doc));
    for (const Option& option : OptionsOf(*verb)) {
      text += fmt::format("complete -c hone -n '__fish_seen_subcommand_from {}' -l {}{}{} -d {}\n", verb->name,
                          option.name, option.letter ? fmt::format(" -s {}", option.letter) : "",
                          option.type == ValueType::kFlag ? ""
                          : Values(option).empty()        ? " -r"
                                                          : fmt::format(" -x -a '{}'", fmt::join(Values(option), " ")),
                          Quoted(option.help));
    }
  }
  return text;
}

Result<Answer> RunIt(VerbCall& call) {
  const std::string shell = call.Text("shell");
  std::string script;
  if (shell == "bash") {
    script = Bash();
  } else if (shell == "zsh") {
    script = Zsh();
  } else if (shell == "fish") {
    script = Fish();
  } else {
    return Fail(ErrorKind::kUsage, fmt::format("{}: completion is for bash, zsh and fish", shell));
  }
  return Answer({{"shell", shell}, {"script", script}}, script);
}

}  // namespace

HONE_ROW(Verb){
    .name = "completion",
    .doc = "Print what a shell needs to complete hone's verbs and options",
    .group = VerbGroup::kMachine,
    .place = 6,
    .help =
        "  source <(hone completion bash)\n"
        "  hone completion zsh > ~/.zfunc/_hone\n"
        "  hone completion fish > ~/.config/fish/completions/hone.fish\n",
    .positionals = kPositionals,
    .json = "shell, script (its text)",
    .run = RunIt,
    .only_reads = true,
};

}  // namespace hone::verb_completion
