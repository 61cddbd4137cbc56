// The manual page, from the same rows as the help.
#include <fmt/format.h>

#include "command/command.h"

namespace hone {
namespace {

// What roff would read as its own.
std::string Plain(std::string_view text) {
  std::string plain;
  bool at_begin = true;
  for (const char c : text) {
    if (at_begin && (c == '.' || c == '\'')) plain += "\\&";
    if (c == '\\') {
      plain += "\\e";
    } else if (c == '-') {
      plain += "\\-";
    } else if (c == ',') {
      plain += ",\\:";  // a line may end here: the parameters of a strategy are one long word
    } else {
      plain += c;
    }
    at_begin = c == '\n';
  }
  return plain;
}

void Item(std::string& page, std::string_view what, std::string_view words) {
  page += fmt::format(".TP\n.B {}\n{}\n", Plain(what), Plain(words));
}

void Verbatim(std::string& page, std::string_view text) {
  page += fmt::format(".PP\n.nf\n{}{}.fi\n", Plain(text), text.ends_with('\n') ? "" : "\n");
}

}  // namespace

std::string ManualPage() {
  std::string page = fmt::format(
      ".TH HONE 1 \"\" \"hone {}\"\n.ad l\n.SH NAME\nhone \\- makes kernels faster and proves it\n.SH SYNOPSIS\n"
      ".B hone\n.I VERB\n[arguments] [options]\n.SH VERBS\n",
      HONE_VERSION);
  for (const Verb* verb : ListedVerbs()) {
    page += fmt::format(".SS {}\n{}.\n", Plain(Synopsis(*verb)), Plain(verb->doc));
    if (!verb->help.empty()) Verbatim(page, verb->help);
    for (const Positional& one : verb->positionals) Item(page, Upper(one.name), one.help);
    for (const Option& one : OptionsOf(*verb)) {
      const std::string value = one.type == ValueType::kFlag ? "" : fmt::format(" {}", one.value);
      const std::string otherwise = one.otherwise.empty() ? "" : fmt::format(" (default: {})", one.otherwise);
      Item(page, fmt::format("--{}{}", one.name, value), fmt::format("{}{}", one.help, otherwise));
      for (const ChoiceHelp& choice : ChoicesOf(one)) Item(page, choice.words, choice.help);
    }
    if (!verb->no.empty()) Item(page, "exit code 1", verb->no);
  }
  page += ".SH ENVIRONMENT\n";
  for (const Variable& one : Variables()) Item(page, one.name, one.help);
  page += ".SH WORDS\n";
  for (const Term& one : Glossary()) Item(page, one.word, one.meaning);
  page +=
      ".SH EXIT STATUS\n0 done; 1 done, but the answer is no; 2 wrong usage or input; 3 the world failed; 130 "
      "interrupted.\n";
  return page;
}

}  // namespace hone
