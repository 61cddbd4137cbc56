#include "command/command.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/json_text.h"
#include "base/process.h"
#include "base/text.h"

namespace hone {
namespace {

template <class Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

tl::unexpected<Error> Usage(const Verb& verb, std::string_view message) {
  return Fail(ErrorKind::kUsage, fmt::format("{} (see hone {} --help)", message, verb.name));
}

std::atomic<bool> signalled{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

void OnSignal(int signal) {
  if (signalled.exchange(true)) _exit(static_cast<int>(ExitCode::kInterrupted));
  AskToStop(signal == SIGTERM ? Interrupt::kTerminated : Interrupt::kCtrlC);
}

}  // namespace

ExitCode ExitCodeOf(ErrorKind kind) { return kind == ErrorKind::kUsage ? ExitCode::kUsage : ExitCode::kFailed; }

Answer::Answer(const nlohmann::json& document, std::string text_for_people, ExitCode exit_code)
    // Names of files and compiler output need not be UTF-8; a document has to be.
    : json(JsonText(document, 2)), text(std::move(text_for_people)), code(exit_code) {}

Answer AnswerWithFile(nlohmann::json document, std::string text, ExitCode code, const std::string& path,
                      std::string_view content) {
  if (const auto written = WriteFileAtomically(path, content); !written) {
    document["unwritten"] = written.error().message;
    text += fmt::format("{}unwritten {}\n", text.empty() || text.ends_with('\n') ? "" : "\n", written.error().message);
    code = ExitCode::kFailed;
  }
  return Answer(document, std::move(text), code);
}

Answer Answer::FromJsonText(std::string json_document, std::string text_for_people, ExitCode exit_code) {
  Answer answer;
  answer.json = std::move(json_document);
  answer.text = std::move(text_for_people);
  answer.code = exit_code;
  return answer;
}

void Listener::Stage(std::string_view what) {
  if (!what.empty()) {
    const MutexLock lock(stage_mutex_);
    stage_ = what;
  }
  ShowStage(what);
}

std::string Listener::stage() const {
  const MutexLock lock(stage_mutex_);
  return stage_;
}

Result<VerbCall> VerbCall::Parse(const Verb& verb, std::span<const std::string> arguments, Listener& listener) {
  VerbCall call(verb, listener);
  const std::vector<Option> options = OptionsOf(verb);
  std::size_t next_positional = 0;
  bool options_ended = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (!options_ended && word == "--") {
      options_ended = true;
      continue;
    }
    if (options_ended || word.size() < 2 || word[0] != '-') {
      if (next_positional == verb.positionals.size())
        return Usage(verb, fmt::format("unexpected argument '{}': {} takes {}", word, verb.name,
                                       next_positional == 0   ? "none"
                                       : next_positional == 1 ? "one"
                                                              : fmt::format("{}", next_positional)));
      const Positional& positional = verb.positionals[next_positional];
      if (positional.presence != Presence::kRepeated) ++next_positional;
      call.given_[std::string(positional.name)].emplace_back(word);
      continue;
    }

    const bool is_long = word[1] == '-';
    const std::size_t equals = is_long ? word.find('=') : std::string_view::npos;
    const std::string_view name =
        is_long ? word.substr(2, equals == word.npos ? word.npos : equals - 2) : word.substr(1);
    const auto option = std::find_if(options.begin(), options.end(), [&](const Option& o) {
      return is_long ? o.name == name : o.letter != 0 && name.size() == 1 && o.letter == name[0];
    });
    if (option == options.end()) {
      std::vector<std::string_view> names;
      for (const Option& known : options) names.push_back(known.name);
      std::string proposal = is_long ? DidYouMean(name, names) : "";
      if (const auto quote = proposal.find('\''); quote != std::string::npos) proposal.insert(quote + 1, "--");
      return Usage(verb, fmt::format("unknown option '{}'{}", word.substr(0, equals), proposal));
    }
    if (option->type == ValueType::kFlag) {
      if (equals != word.npos) return Usage(verb, fmt::format("--{} takes no value", option->name));
      call.given_[std::string(option->name)] = {"true"};
      continue;
    }
    std::string value;
    if (equals != word.npos) {
      value = word.substr(equals + 1);
    } else if (i + 1 < arguments.size() && !arguments[i + 1].starts_with("--")) {
      value = arguments[++i];
    } else {
      return Usage(verb, fmt::format("--{} needs a value: --{} {}", option->name, option->name, option->value));
    }
    HONE_TRY(call.Add(option->name, option->type, option->at_least, std::move(value)));
  }
  // --help and the like are answered before anything is demanded.
  if (call.Flag("help")) return call;
  for (const Positional& positional : verb.positionals)
    if (positional.presence == Presence::kRequired && !call.Has(positional.name))
      return Usage(verb, fmt::format("{} is missing: {}; {}", Upper(positional.name), Synopsis(verb), positional.help));
  HONE_TRY(call.FindFiles());
  return call;
}

Result<void> VerbCall::FindFiles() const {
  const auto find = [&](std::string_view shown, std::string_view name) -> Result<void> {
    for (const std::string& path : Texts(name)) {
      if (access(path.c_str(), F_OK) != 0)
        return Usage(*verb_, fmt::format("{}: cannot find {}: {}", shown, path, std::strerror(errno)));
    }
    return {};
  };
  for (const Positional& positional : verb_->positionals) {
    const bool run = !positional.run_with.empty() && Has(positional.run_with);
    if (positional.reads && !run) HONE_TRY(find(Upper(positional.name), positional.name));
  }
  for (const Option& option : verb_->options) {
    if (option.reads && Has(option.name)) HONE_TRY(find(fmt::format("--{}", option.name), option.name));
    if (!option.writes || !Has(option.name)) continue;
    const auto writable = CheckWritable(Text(option.name));
    if (!writable) return Usage(*verb_, fmt::format("--{}: {}", option.name, writable.error().message));
  }
  return {};
}

Result<void> VerbCall::Add(std::string_view name, ValueType type, std::optional<double> at_least, std::string value) {
  if (type == ValueType::kInteger || type == ValueType::kReal) {
    const bool whole = type == ValueType::kInteger;
    auto number = ParseNumber<double>(value);
    if (whole && !ParseNumber<std::int64_t>(value)) number.reset();
    if (!number || !std::isfinite(*number) || (at_least && *number < *at_least))
      return Usage(*verb_, fmt::format("--{} needs a {}{}, not '{}'", name, whole ? "whole number" : "number",
                                       at_least ? fmt::format(" of at least {}", *at_least) : "", value));
  }
  given_[std::string(name)].push_back(std::move(value));
  return {};
}

std::string_view VerbCall::Default(std::string_view name) const {
  for (const Option& option : verb_->options)
    if (option.name == name) return option.otherwise;
  for (const Option& option : CommonOptions())
    if (option.name == name) return option.otherwise;
  const bool declared = std::any_of(verb_->positionals.begin(), verb_->positionals.end(),
                                    [name](const Positional& positional) { return positional.name == name; });
  HONE_CHECK(declared, fmt::format("hone {} reads the argument '{}' that its row does not declare", verb_->name, name));
  return "";
}

bool VerbCall::Has(std::string_view name) const {
  (void)Default(name);  // checks that it is declared
  return given_.contains(name);
}

bool VerbCall::Flag(std::string_view name) const { return Text(name) == "true"; }

std::string VerbCall::Text(std::string_view name) const {
  const std::string_view otherwise = Default(name);
  const auto found = given_.find(name);
  return found == given_.end() ? std::string(otherwise) : found->second.back();
}

std::vector<std::string> VerbCall::Texts(std::string_view name) const {
  const std::string_view otherwise = Default(name);
  const auto found = given_.find(name);
  if (found != given_.end()) return found->second;
  return otherwise.empty() ? std::vector<std::string>{} : std::vector{std::string(otherwise)};
}

std::int64_t VerbCall::Int(std::string_view name) const {
  const std::string text = Text(name);
  const auto number = ParseNumber<std::int64_t>(text);
  HONE_CHECK(number || text.empty(), fmt::format("--{} is not declared as a whole number", name));
  return number.value_or(0);
}

double VerbCall::Real(std::string_view name) const {
  const std::string text = Text(name);
  const auto number = ParseNumber<double>(text);
  HONE_CHECK(number || text.empty(), fmt::format("--{} is not declared as a number", name));
  return number.value_or(0);
}

const std::atomic<bool>& VerbCall::CatchInterrupts() {
  struct sigaction action{};
  action.sa_handler = OnSignal;
  sigemptyset(&action.sa_mask);
  // No SA_RESTART: a wait in progress shall end so that the flag is looked at.
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return InterruptFlag();
}

Result<const Verb*> FindVerb(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Verb* verb : AllVerbs()) {
    if (verb->name == name) return verb;
    if (!verb->hidden) names.push_back(verb->name);
  }
  return Fail(ErrorKind::kUsage, fmt::format("unknown verb '{}'{} (see hone --help)", name, DidYouMean(name, names)));
}

std::string ProgramAsTyped() {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path own = OwnPath(), here = fs::current_path(ignored);
  if (const auto found = FindProgram("hone"); found && fs::equivalent(*found, own, ignored)) return "hone";
  const fs::path from_here = own.lexically_relative(here);
  const bool below = !from_here.empty() && *from_here.begin() != "..";
  if (!below) return own.string();
  return from_here.has_parent_path() ? from_here.string() : "./" + from_here.string();
}

std::string DefaultStorePath() {
  if (const char* path = std::getenv("HONE_STORE"); path && *path) return path;
  return DataDirectory() + "/runs.sqlite";
}

std::string StorePath(const VerbCall& call) { return call.Has("store") ? call.Text("store") : DefaultStorePath(); }

}  // namespace hone
