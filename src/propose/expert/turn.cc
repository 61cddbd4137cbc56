#include "propose/expert/turn.h"

#include <algorithm>
#include <map>
#include <string>

namespace hone::expert {
namespace {

using dsl::LoopIndex;
using dsl::Statement;
using dsl::Term;
using dsl::TermPtr;

constexpr std::int64_t kWide = 16;  // fewer sums side by side, or terms in one, and the turning is not worth it

bool IsIndex(const TermPtr& term, const LoopIndex& index) {
  return term->kind == Term::Kind::kName && term->name == index.name;
}

class Turner {
 public:
  Turner(Names& names, std::vector<Statement>& steps) : names_(names), steps_(steps) {}

  std::vector<Statement> Do() {
    for (auto& step : steps_) {
      if (step.family != "nest" || step.loops.empty() || step.loops.back().extent < kWide) continue;
      for (auto& operand : step.operands) operand = Rewrite(operand, step.loops.back(), nullptr);
    }
    return std::move(turning_);
  }

 private:
  // `summed`: the index of the sum in which the term stands, if any.
  TermPtr Rewrite(const TermPtr& term, const LoopIndex& last, const LoopIndex* summed) {
    if (term->kind == Term::Kind::kFold) {
      const bool sum = term->name == "sum" && term->over.size() == 1 && term->over[0].extent >= kWide;
      summed = sum ? &term->over[0] : nullptr;
    }
    if (term->kind == Term::Kind::kElement && summed && term->arguments.size() == 2 &&
        IsIndex(term->arguments[0], last) && IsIndex(term->arguments[1], *summed)) {
      const std::string* turned = Turned(term->name, last.extent, summed->extent);
      return turned ? dsl::Element(*turned, {term->arguments[1], term->arguments[0]}) : term;
    }
    std::vector<TermPtr> arguments;
    bool same = true;
    for (const auto& argument : term->arguments) {
      arguments.push_back(Rewrite(argument, last, summed));
      same = same && arguments.back() == argument;
    }
    if (same) return term;
    Term changed = *term;
    changed.arguments = std::move(arguments);
    return std::make_shared<const Term>(std::move(changed));
  }

  // The transpose's name; nothing if it is no matrix of this size, or one that the steps make.
  const std::string* Turned(const std::string& matrix, std::int64_t rows, std::int64_t columns) {
    if (const auto known = turned_.find(matrix); known != turned_.end()) return &known->second;
    const bool made =
        std::any_of(steps_.begin(), steps_.end(), [&](const auto& step) { return step.target == matrix; });
    const Names::Value* value = names_.Find(matrix);
    if (made || !value || value->shape != Shape{rows, columns}) return nullptr;
    const auto words = names_.IndexNames(2, {});
    Statement statement;
    statement.family = "nest";
    statement.target = names_.Fresh(matrix + "_turned");
    statement.loops = {{words[0], columns}, {words[1], rows}};
    statement.target_shape = {columns, rows};
    statement.operands = {dsl::Element(matrix, {dsl::Name(words[1]), dsl::Name(words[0])})};
    turning_.push_back(std::move(statement));
    return &turned_.emplace(matrix, turning_.back().target).first->second;
  }

  Names& names_;
  std::vector<Statement>& steps_;
  std::vector<Statement> turning_;
  std::map<std::string, std::string> turned_;  // names of transposes, by their matrix
};

}  // namespace

std::vector<Statement> TurnFactors(Names& names, std::vector<Statement>& steps) { return Turner(names, steps).Do(); }

}  // namespace hone::expert
