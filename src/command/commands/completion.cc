// hone completion: what a shell needs to complete hone's verbs, options and what stands behind them, from the same rows
// as the help. Ids of runs are asked for when they are needed: `hone completion runs`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "command/command.h"
#include "store/store.h"

namespace hone::verb_completion {
namespace {

constexpr Positional kPositionals[] = {
    {.name = "shell",
     .help = "bash, zsh or fish; or runs: the newest runs' ids and problems, which their scripts ask for"}};
constexpr Option kOptions[] = {kStoreOption};

constexpr std::size_t kMostRuns = 500;  // that a shell is offered

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

// A name and what may stand behind its colon: "mcts" and "best=", "widening=" ... The first parameter needs no name.
struct Choice {
  std::string name;
  std::vector<std::string> parts;
};

std::vector<Choice> PartsOf(const std::vector<ChoiceHelp>& choices) {
  std::vector<Choice> parts;
  for (const ChoiceHelp& one : choices) {
    Choice& choice = parts.emplace_back(Choice{one.words.substr(0, one.words.find(':')), {}});
    for (std::size_t at = one.words.find(','); at != std::string::npos; at = one.words.find(',', at + 1)) {
      const std::size_t end = one.words.find('=', at);
      if (end != std::string::npos) choice.parts.push_back(one.words.substr(at + 1, end - at));
    }
  }
  return parts;
}

// The words that may follow an option, without parts; none when that is anything.
std::vector<std::string> Values(const Option& option) {
  if (option.name == "target") return {"cpu", "cuda"};
  std::vector<std::string> values;
  for (const Choice& one : PartsOf(ChoicesOf(option))) values.push_back(one.name);
  return values;
}

bool IsRun(const Option& option) { return option.value == "RUN"; }
// Or may be one, beside a file.
bool IsRun(const Positional& positional) { return positional.run || !positional.run_with.empty(); }
bool TakesRuns(const Verb& verb) {
  return std::ranges::any_of(verb.positionals, [](const Positional& one) { return IsRun(one); });
}

std::vector<ChoiceHelp> ChoicesOfArguments(const Verb& verb) {
  for (const Positional& one : verb.positionals) {
    if (one.choices != nullptr) return one.choices();
  }
  return {};
}

// "mcts:best=,widening= greedy".
std::string WithParts(const std::vector<ChoiceHelp>& choices) {
  std::vector<std::string> words;
  for (const Choice& one : PartsOf(choices))
    words.push_back(one.parts.empty() ? one.name : fmt::format("{}:{}", one.name, fmt::join(one.parts, ",")));
  return fmt::format("{}", fmt::join(words, " "));
}

// Files complete what is no option: most arguments are some. bash breaks words at colons and equals signs, so what is
// completed is cut from the line, and what stands before the last of those is not said again.
constexpr std::string_view kBash = R"sh(_hone_runs() {
  local i store=
  for ((i = 1; i + 1 < ${#COMP_WORDS[@]}; ++i)); do [[ ${COMP_WORDS[i]} == --store ]] && store=${COMP_WORDS[i + 1]}; done
  "${COMP_WORDS[0]}" completion runs ${store:+--store "$store"} 2>/dev/null | cut -f 1
}
_hone_chosen() {
  local one part parts cut=
  compopt +o filenames -o nospace 2>/dev/null
  [[ -n $COMP_LINE && $COMP_WORDBREAKS == *:* ]] && cut=${word%"${word##*[:=]}"}
  for one; do
    if [[ $word != *:* ]]; then
      [[ $one == "$word"* ]] && COMPREPLY+=("${one%%:*}")
    elif [[ $one == "${word%%:*}:"* ]]; then
      IFS=, read -ra parts <<<"${one#*:}"
      for part in "${parts[@]}"; do
        part=${word%"${word##*[:,]}"}$part
        [[ $part == "$word"* ]] && COMPREPLY+=("${part#"$cut"}")
      done
    fi
  done
}
)sh";

std::string Bash() {
  std::vector<std::string> topics, run_verbs, run_options;
  for (const HelpTopic& topic : HelpTopics()) topics.emplace_back(topic.name);
  std::string options, chosen;
  std::map<std::string, std::string> after;  // by option
  for (const Verb* verb : ListedVerbs()) {
    for (const Option& option : OptionsOf(*verb)) {
      const std::string name = fmt::format("--{}", option.name);
      if (IsRun(option)) {
        after[name] = "words=$(_hone_runs)";
      } else if (option.choices != nullptr) {
        after[name] = fmt::format("_hone_chosen {}; return", WithParts(ChoicesOf(option)));
      } else if (auto words = Values(option); !words.empty()) {
        after[name] = fmt::format("words=\"{}\"", fmt::join(words, " "));
      }
    }
    if (TakesRuns(*verb)) run_verbs.emplace_back(verb->name);
    if (auto choices = ChoicesOfArguments(*verb); !choices.empty())
      chosen += fmt::format("          {}) _hone_chosen {}; return ;;\n", verb->name, WithParts(choices));
    options += fmt::format("    {}) words=\"{}\" ;;\n", verb->name, fmt::join(OptionNames(*verb), " "));
  }
  std::string behind;
  for (const auto& [name, what] : after) behind += fmt::format("    {}) {} ;;\n", name, what);
  return fmt::format(
      R"sh(# bash completion of hone: source it, or put it into ~/.local/share/bash-completion/completions/hone
{}_hone() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} verb=${{COMP_WORDS[1]}} words= line typed
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "{} --help --version" -- "$word")
    return
  fi
  if [[ -n $COMP_LINE ]]; then
    line=${{COMP_LINE:0:COMP_POINT}}
    word=${{line##*[[:space:]]}}
    read -ra typed <<<"${{line%"$word"}}"
    before=${{typed[-1]}}
  fi
  case $verb in
    help) words="{} {}" ;;
{}  esac
  case $before in
{}    *)
      if [[ $word != -* && $verb != help ]]; then
        case $verb in
{}          {}) mapfile -t COMPREPLY < <(compgen -W "$(_hone_runs)" -- "$word") ;;
        esac
        mapfile -t -O ${{#COMPREPLY[@]}} COMPREPLY < <(compgen -f -- "$word")
        return
      fi ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}}
complete -o filenames -F _hone hone
)sh",
      kBash, fmt::join(VerbNames(), " "), fmt::join(topics, " "), fmt::join(VerbNames(), " "), options, behind, chosen,
      fmt::join(run_verbs, " | "));
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

constexpr std::string_view kZsh = R"sh(_hone_runs() {
  local -a runs
  runs=("${(@f)$(_call_program runs $service completion runs 2>/dev/null)}")
  runs=("${(@)runs/$'\t'/:}")
  _describe run runs
}
_hone_runs_or_files() {
  _hone_runs
  _files
}
_hone_chosen() {
  local one part
  local -a found
  for one; do
    if [[ $PREFIX != *:* ]]; then
      found+=("${one%%:*}")
    elif [[ $one == "${PREFIX%%:*}:"* ]]; then
      for part in "${(@s:,:)${one#*:}}"; do found+=("${PREFIX%${PREFIX##*[:,]}}$part"); done
    fi
  done
  compadd -S '' -a found
}
)sh";

// What may stand behind an option, as _arguments reads it; empty for one without a value.
std::string ZshValue(const Option& option) {
  if (option.type == ValueType::kFlag) return "";
  if (IsRun(option)) return ":run:_hone_runs";
  if (option.choices != nullptr)
    return fmt::format(":{}:{{_hone_chosen {}}}", option.name, WithParts(ChoicesOf(option)));
  const std::vector<std::string> values = Values(option);
  return values.empty() ? fmt::format(":{}:_files", option.value)
                        : fmt::format(":{}:({})", option.name, fmt::join(values, " "));
}

std::string Zsh() {
  std::string verbs, options;
  for (const Verb* verb : ListedVerbs()) {
    verbs += fmt::format("    {}\n", Quoted(fmt::format("{}:{}", verb->name, Escaped(verb->doc))));
    options += fmt::format("    {})\n      _arguments", verb->name);
    for (const Option& option : OptionsOf(*verb)) {
      options += fmt::format(" \\\n        {}",
                             Quoted(fmt::format("*--{}[{}]{}", option.name, Escaped(option.help), ZshValue(option))));
    }
    const auto choices = ChoicesOfArguments(*verb);
    const std::string rest = !choices.empty()   ? fmt::format("*:arm:{{_hone_chosen {}}}", WithParts(choices))
                             : TakesRuns(*verb) ? "*:run or file:_hone_runs_or_files"
                                                : "*:file:_files";
    options += fmt::format(" \\\n        {} ;;\n", Quoted(rest));
  }
  return fmt::format(R"sh(#compdef hone
# zsh completion of hone: put it into a folder of $fpath as _hone
{}_hone() {{
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
)sh",
                     kZsh, verbs, options);
}

// fish takes what is typed for a prefix of one of these.
std::string AllParts(const std::vector<ChoiceHelp>& choices) {
  std::vector<std::string> words;
  for (const Choice& one : PartsOf(choices)) {
    words.push_back(one.name);
    for (const std::string& part : one.parts) words.push_back(fmt::format("{}:{}", one.name, part));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

std::string FishValue(const Option& option) {
  if (option.type == ValueType::kFlag) return "";
  if (IsRun(option)) return " -x -a '(hone completion runs 2>/dev/null)'";
  if (option.choices != nullptr) return fmt::format(" -x -a '{}'", AllParts(ChoicesOf(option)));
  const std::vector<std::string> values = Values(option);
  return values.empty() ? " -r" : fmt::format(" -x -a '{}'", fmt::join(values, " "));
}

std::string Fish() {
  std::string text =
      "# fish completion of hone: put it into ~/.config/fish/completions/hone.fish\n"
      "complete -c hone -n __fish_use_subcommand -f -a help -d 'how to use hone'\n";
  for (const Verb* verb : ListedVerbs()) {
    text += fmt::format("complete -c hone -n __fish_use_subcommand -f -a {} -d {}\n", verb->name, Quoted(verb->doc));
    const std::string of_verb = fmt::format("complete -c hone -n '__fish_seen_subcommand_from {}'", verb->name);
    for (const Option& option : OptionsOf(*verb)) {
      text += fmt::format("{} -l {}{}{} -d {}\n", of_verb, option.name,
                          option.letter ? fmt::format(" -s {}", option.letter) : "", FishValue(option),
                          Quoted(option.help));
    }
    if (TakesRuns(*verb)) text += fmt::format("{} -a '(hone completion runs 2>/dev/null)'\n", of_verb);
    if (const auto choices = ChoicesOfArguments(*verb); !choices.empty())
      text += fmt::format("{} -f -a '{}'\n", of_verb, AllParts(choices));
  }
  return text;
}

// A line each, its id and what it is of; nothing where there is no store.
Result<Answer> Runs(VerbCall& call) {
  const std::string path = StorePath(call);
  nlohmann::json ids = nlohmann::json::array();
  std::string text;
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) {
    Store store = HONE_TRY(Store::OpenExisting(path));
    for (const RunRecord& run : HONE_TRY(store.Runs())) {
      if (ids.size() == kMostRuns) break;
      ids.push_back(run.id);
      text += fmt::format("{}\t{} on {}\n", run.id, run.problem_name, run.target);
    }
  }
  return Answer({{"runs", std::move(ids)}}, std::move(text));
}

Result<Answer> RunIt(VerbCall& call) {
  const std::string shell = call.Text("shell");
  if (shell == "runs") return Runs(call);
  if (call.Has("store")) return Fail(ErrorKind::kUsage, "--store is of `hone completion runs`");
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
    .doc = "Print what a shell needs to complete hone's verbs, options, runs and arms",
    .group = VerbGroup::kMachine,
    .place = 6,
    .help =
        "  source <(hone completion bash)\n"
        "  hone completion zsh > ~/.zfunc/_hone\n"
        "  hone completion fish > ~/.config/fish/completions/hone.fish\n",
    .positionals = kPositionals,
    .options = kOptions,
    .json = "shell, script (its text); of runs: runs[] (ids, newest first)",
    .run = RunIt,
    .only_reads = true,
};

}  // namespace hone::verb_completion
