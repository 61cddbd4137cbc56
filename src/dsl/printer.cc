#include <fmt/format.h>

#include <cmath>

#include "dsl/lexer.h"
#include "dsl/program.h"
#include "dsl/views.h"

namespace hone::dsl {
namespace {

constexpr std::size_t kLineWidth = 100;  // a longer statement has each -> on its own line

std::string NameText(const std::string& name) { return HasMeaning(name) ? "\"" + name + "\"" : name; }

std::string Loops(const std::vector<LoopIndex>& loops) {
  std::string text;
  for (const auto& loop : loops)
    text += fmt::format("{}{} < {}", text.empty() ? "" : ", ", NameText(loop.name), loop.extent);
  return fmt::format(" [{}] ", text);
}

std::string List(const std::vector<std::int64_t>& values) { return fmt::format("[{}]", fmt::join(values, ", ")); }

// The binding strength of an operator, as in the parser; 3 for everything that needs no parentheses.
int Precedence(const Term& term) {
  if (term.kind == Term::Kind::kNumber) return 3;
  if (term.kind != Term::Kind::kCall) return 3;
  const std::string& f = term.name;
  if (term.arguments.size() == 2) {
    if (f == "+" || f == "-") return 1;
    if (f == "*" || f == "/") return 2;
    if (f == "<" || f == "<=" || f == ">" || f == ">=" || f == "==" || f == "!=") return 0;
  }
  return 3;
}

std::string NumberText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return fmt::format("{}", value);
}

std::string Text(const Term& term, int least);

std::string Arguments(const Term& term) {
  std::string text;
  for (const auto& argument : term.arguments) text += (text.empty() ? "" : ", ") + Text(*argument, 0);
  return text;
}

std::string Text(const Term& term, int least) {
  switch (term.kind) {
    case Term::Kind::kNumber: return NumberText(term.number);
    case Term::Kind::kIt: return "it";
    case Term::Kind::kName: return NameText(term.name);
    case Term::Kind::kFold: return fmt::format("{}{}({})", term.name, Loops(term.over), Text(*term.arguments[0], 0));
    case Term::Kind::kElement: return fmt::format("{}[{}]", NameText(term.name), Arguments(term));
    case Term::Kind::kCall: break;
  }
  const int precedence = Precedence(term);
  std::string text;
  if (precedence < 3) {
    text = fmt::format("{} {} {}", Text(*term.arguments[0], precedence == 0 ? 1 : precedence), term.name,
                       Text(*term.arguments[1], precedence + 1));
  } else if (term.name == "neg" && term.arguments.size() == 1) {
    // A minus before a number would read as the number: -(2) keeps them apart.
    const Term& operand = *term.arguments[0];
    text =
        operand.kind == Term::Kind::kNumber ? fmt::format("-({})", NumberText(operand.number)) : "-" + Text(operand, 3);
  } else {
    text = fmt::format("{}({})", term.name, Arguments(term));
  }
  return precedence < least ? "(" + text + ")" : text;
}

std::string Text(const Setting& setting) {
  if (const auto* whole = std::get_if<std::int64_t>(&setting.value)) return fmt::format("{}", *whole);
  if (const auto* word = std::get_if<std::string>(&setting.value)) return *word;
  return fmt::format("{}", fmt::join(std::get<std::vector<std::int64_t>>(setting.value), "x"));
}

std::string_view RoleWord(Role role) {
  switch (role) {
    case Role::kInput: return "input ";
    case Role::kParameter: return "param ";
    case Role::kOutput: return "output";
  }
  return "";
}

std::string Text(const View& view) {
  std::string text = fmt::format("view {} = {}: {} strides {}", NameText(view.name), NameText(view.base),
                                 List(view.shape), List(view.strides));
  if (view.offset != 0) text += fmt::format(" offset {}", view.offset);
  return text + "\n";
}

// "NAME: bf16[4, 8] = " of a statement or what it also makes.
template <class Made>
std::string TargetText(const Made& made) {
  std::string text = NameText(made.target);
  if (made.target_type || made.has_target_shape) text += ": ";
  if (made.target_type) text += hone::Name(*made.target_type);
  if (made.has_target_shape) text += List(made.target_shape);
  return text + " = ";
}

std::string Text(const Statement& statement) {
  std::string text = TargetText(statement) + statement.family;
  if (!statement.variant.empty()) text += " " + statement.variant;
  text += statement.loops.empty() ? "(" : Loops(statement.loops) + "(";
  for (std::size_t i = 0; i < statement.operands.size(); ++i) text += (i ? ", " : "") + Print(statement.operands[i]);
  text += ")";
  if (!statement.axes.empty()) text += fmt::format(" over [{}]", fmt::join(statement.axes, ", "));
  if (!statement.attributes.empty()) {
    std::string attributes;
    for (const auto& [name, value] : statement.attributes)
      attributes += fmt::format("{}{}: {}", attributes.empty() ? "" : ", ", name, fmt::join(value, "x"));
    text += fmt::format(" by {{{}}}", attributes);
  }
  if (!statement.settings.empty()) {
    std::string settings;
    for (const auto& [knob, setting] : statement.settings) {
      settings += fmt::format("{}{}: {}", settings.empty() ? "" : ", ", knob, Text(setting));
    }
    text += fmt::format(" with {{{}}}", settings);
  }
  std::size_t width = text.size();
  for (const auto& link : statement.epilogue) width += Print(link).size() + 4;
  const bool own_lines = !statement.lets.empty() || !statement.also.empty() || width > kLineWidth;
  for (const auto& let : statement.lets) text += fmt::format("\n  let {} = {}", NameText(let.name), Print(let.value));
  for (const auto& link : statement.epilogue) text += (own_lines ? "\n  -> " : " -> ") + Print(link);
  for (const auto& one : statement.also) text += "\n  also " + TargetText(one) + Print(one.value);
  return text + "\n";
}

}  // namespace

std::string Print(const TermPtr& term) { return Text(*term, 0); }

std::string Print(const Program& program) {
  std::string text = fmt::format("program {}\n", NameText(program.name));
  for (const auto& declaration : program.declarations) {
    text += fmt::format("{} {}: {}{}{}\n", RoleWord(declaration.role), NameText(declaration.name),
                        hone::Name(declaration.dtype), List(declaration.shape),
                        declaration.updates.empty() ? "" : " updates " + NameText(declaration.updates));
  }
  int printed = -1;  // statements so far
  const auto print_statements = [&](int last) {
    for (; printed < last; ++printed) text += Text(program.statements[static_cast<std::size_t>(printed + 1)]);
  };
  WalkViews(program, [&](int statement, const View& view) {
    print_statements(statement);
    text += Text(view);
  });
  print_statements(static_cast<int>(program.statements.size()) - 1);
  return text;
}

}  // namespace hone::dsl
