#include "propose/expert/piece_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace hone::expert {
namespace {

using dsl::Term;
using dsl::TermPtr;

// Of one statement.
class Renamer {
 public:
  Renamer(const dsl::Program& program, const dsl::KernelProgram& checked) : program_(program), checked_(checked) {}

  std::string Text(const dsl::Statement& statement) {
    dsl::Statement piece = statement;
    piece.settings.clear();
    piece.target = Rename(piece.target);
    for (dsl::LoopIndex& loop : piece.loops) loop.name = Rename(loop.name);
    for (TermPtr& operand : piece.operands) operand = Rename(operand);
    for (dsl::Let& let : piece.lets) {
      let.value = Rename(let.value);
      let.name = Rename(let.name);
    }
    for (TermPtr& link : piece.epilogue) link = Rename(link);
    for (dsl::Also& also : piece.also) {
      also.target = Rename(also.target);
      also.value = Rename(also.value);
    }
    dsl::Program alone{.name = "piece", .declarations = {}, .views = {}, .statements = {std::move(piece)}};
    // What a view is of is met with it, so the list may grow meanwhile.
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const std::string name = order_[i];
      const auto view = std::ranges::find(program_.views, name, &dsl::View::name);
      if (view == program_.views.end()) continue;
      dsl::View renamed = *view;
      renamed.base = Rename(view->base);
      renamed.name = names_.at(name);
      alone.views.push_back(std::move(renamed));
    }
    for (const std::string& name : order_) Declare(name, statement, alone);
    return dsl::Print(alone);
  }

 private:
  std::string Rename(const std::string& name) {
    const auto [at, fresh] = names_.try_emplace(name, fmt::format("n{}", names_.size()));
    if (fresh) order_.push_back(name);
    return at->second;
  }

  TermPtr Rename(const TermPtr& term) {
    Term renamed = *term;
    if (term->kind == Term::Kind::kName || term->kind == Term::Kind::kElement) renamed.name = Rename(term->name);
    for (dsl::LoopIndex& index : renamed.over) index.name = Rename(index.name);
    for (TermPtr& argument : renamed.arguments) argument = Rename(argument);
    return std::make_shared<const Term>(std::move(renamed));
  }

  // Loops, lets and views are no memory.
  void Declare(const std::string& name, const dsl::Statement& statement, dsl::Program& alone) const {
    const auto buffer = std::ranges::find(checked_.buffers, name, &dsl::KernelBuffer::name);
    if (buffer == checked_.buffers.end()) return;
    const bool made =
        name == statement.target || std::ranges::find(statement.also, name, &dsl::Also::target) != statement.also.end();
    alone.declarations.push_back({.role = made ? Role::kOutput : Role::kInput,
                                  .name = names_.at(name),
                                  .dtype = buffer->dtype,
                                  .shape = buffer->shape});
  }

  const dsl::Program& program_;
  const dsl::KernelProgram& checked_;
  std::map<std::string, std::string> names_;  // new ones, by the old
  std::vector<std::string> order_;            // the old ones, as they were met
};

}  // namespace

std::vector<std::string> PieceTexts(const dsl::Program& program, const dsl::KernelProgram& checked) {
  std::vector<std::string> texts;
  for (const dsl::Statement& statement : program.statements) texts.push_back(Renamer(program, checked).Text(statement));
  return texts;
}

}  // namespace hone::expert
