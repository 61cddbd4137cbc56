#include "propose/expert/scaled_ends.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "propose/expert/named_places.h"

namespace hone::expert {
namespace {

using dsl::Statement;
using dsl::Term;
using dsl::TermPtr;

constexpr int kFewest = 3;  // numbers that become two

// it * scale + shift, as far as it has either, of `read` numbers; `it` is what is none of those.
struct ScaledIt {
  TermPtr it, scale = {}, shift = {};
  std::vector<std::string> read;
};

class EndScaler {
 public:
  explicit EndScaler(dsl::Program& program) : program_(program) {
    for (const auto& declaration : program.declarations) {
      shapes_[declaration.name] = declaration.shape;
      if (IsHalf(declaration.dtype)) halves_.insert(declaration.name);
    }
    for (const auto& view : program.views) shapes_[view.name] = view.shape;
    for (const auto& declaration : program.declarations) {
      if (declaration.role == Role::kParameter && declaration.dtype != DType::kF64) KnowName(declaration.name);
    }
    for (const auto& [name, _] : shapes_) taken_.insert(name);
    for (const Statement& statement : program.statements) {
      taken_.insert(statement.target);
      for (const auto& also : statement.also) taken_.insert(also.target);
      for (const auto& let : statement.lets) taken_.insert(let.name);
    }
  }

  void Do() {
    std::vector<Statement> statements;
    for (Statement& statement : program_.statements) {
      const bool ends = statement.family == "matmul" || statement.family == "conv";
      const bool halves = statement.target_type ? IsHalf(*statement.target_type) : halves_.contains(statement.target);
      const bool once = IsOnce(statement);
      if (ends && halves) {
        for (TermPtr& link : statement.epilogue) link = Scaled(link, statement.target, statements);
      } else if (statement.family == "map" && halves && !once && statement.also.empty()) {
        for (TermPtr& element : statement.operands) element = Scaled(element, statement.target, statements);
      }
      if (once) Know(statement);
      statements.push_back(std::move(statement));
    }
    program_.statements = std::move(statements);
  }

 private:
  bool IsOnce(const Statement& statement) const {
    bool once = statement.also.empty() && statement.loops.empty();
    for (const auto& operand : statement.operands) VisitNames(operand, [&](const auto& name) { once &= Knows(name); });
    for (const auto& link : statement.epilogue) VisitNames(link, [&](const auto& name) { once &= Knows(name); });
    return once && statement.lets.empty();
  }
  void KnowName(const std::string& name) {
    once_.insert(name);
    for (const auto& view : program_.views) {
      if (view.base == name) once_.insert(view.name);
    }
  }
  void Know(const Statement& statement) {
    KnowName(statement.target);
    std::vector<std::string> read;
    for (const auto& operand : statement.operands) VisitNames(operand, [&](const auto& name) { read.push_back(name); });
    if (statement.has_target_shape) {
      shapes_[statement.target] = statement.target_shape;
    } else if (statement.family == "map" && !read.empty() && OfOneShape(read)) {
      shapes_[statement.target] = shapes_.at(read[0]);
    }
  }
  bool Knows(const std::string& name) const { return once_.contains(name); }
  bool IsNumber(const TermPtr& term) const { return term->kind == Term::Kind::kName && Knows(term->name); }

  static TermPtr Both(const std::string& operation, const TermPtr& a, const TermPtr& b) {
    return a ? dsl::Call(operation, {a, b}) : b;
  }

  ScaledIt Of(const TermPtr& term) const {
    if (term->kind != Term::Kind::kCall || term->arguments.size() != 2) return {.it = term};
    const bool adds = term->name == "+", multiplies = term->name == "*";
    const bool behind = IsNumber(term->arguments[1]), before = IsNumber(term->arguments[0]) && term->name != "-";
    if ((!adds && !multiplies && term->name != "-") || (!behind && !before)) return {.it = term};
    ScaledIt of = Of(term->arguments[behind ? 0 : 1]);
    const TermPtr& number = term->arguments[behind ? 1 : 0];
    of.read.push_back(number->name);
    if (multiplies) {
      of.scale = Both("*", of.scale, number);
      if (of.shift) of.shift = dsl::Call("*", {of.shift, number});
    } else if (adds) {
      of.shift = Both("+", of.shift, number);
    } else {
      of.shift = of.shift ? dsl::Call("-", {of.shift, number}) : dsl::Call("neg", {number});
    }
    return of;
  }

  // The term with the first such part of it as two numbers, which statements before make.
  TermPtr Scaled(const TermPtr& term, const std::string& target, std::vector<Statement>& before) {
    const ScaledIt of = Of(term);
    if (of.scale && of.shift && !IsNumber(of.it) && static_cast<int>(of.read.size()) >= kFewest &&
        OfOneShape(of.read)) {
      const std::string scale = Made(target + "_scale", of.scale, before);
      const std::string shift = Made(target + "_shift", of.shift, before);
      return dsl::Call("+", {dsl::Call("*", {Scaled(of.it, target, before), dsl::Name(scale)}), dsl::Name(shift)});
    }
    if (term->kind != Term::Kind::kCall || RoundsToWholes(term->name)) return term;
    Term changed = *term;
    for (TermPtr& argument : changed.arguments) argument = Scaled(argument, target, before);
    return std::make_shared<const Term>(std::move(changed));
  }
  // What rounds to whole numbers, of which a little more or less is something else.
  static bool RoundsToWholes(const std::string& function) {
    constexpr std::string_view kSuch[] = {"floor", "ceil", "trunc",    "round", "sign",
                                          "int",   "bool", "floordiv", "mod",   "fmod"};
    return std::ranges::find(kSuch, function) != std::end(kSuch);
  }
  bool OfOneShape(const std::vector<std::string>& names) const {
    return std::ranges::all_of(names, [&](const auto& name) {
      const auto shape = shapes_.find(name);
      return shape != shapes_.end() && shape->second == shapes_.at(names[0]);
    });
  }

  std::string Made(const std::string& wanted, const TermPtr& value, std::vector<Statement>& before) {
    std::string& name = made_[dsl::Print(value)];
    if (!name.empty()) return name;
    name = wanted;
    for (int n = 2; !taken_.insert(name).second; ++n) name = fmt::format("{}_{}", wanted, n);
    Statement statement;
    statement.family = "map";
    statement.target = name;
    statement.operands = {value};
    before.push_back(std::move(statement));
    return name;
  }

  dsl::Program& program_;
  std::map<std::string, Shape> shapes_;      // of tensors and views
  std::set<std::string> halves_;             // tensors of 16 bits
  std::set<std::string> once_, taken_;       // what no input changes; names
  std::map<std::string, std::string> made_;  // names, by what they are of
};

}  // namespace

void ScaleEnds(dsl::Program& program) { EndScaler(program).Do(); }

}  // namespace hone::expert
