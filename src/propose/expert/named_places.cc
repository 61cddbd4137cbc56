#include "propose/expert/named_places.h"

#include <memory>
#include <utility>

namespace hone::expert {

NamedPlaces NamedPlacesIn(const dsl::Program& program, const dsl::KernelProgram& checked) {
  NamedPlaces places;
  for (const auto& buffer : checked.buffers)
    places[buffer.name] = {buffer.name, buffer.shape, DenseStrides(buffer.shape), 0};
  for (const auto& view : program.views) places[view.name] = {view.base, view.shape, view.strides, view.offset};
  return places;
}

void VisitReads(const dsl::TermPtr& term, const std::function<void(const dsl::Term&)>& visit) {
  if (term->kind == dsl::Term::Kind::kName || term->kind == dsl::Term::Kind::kElement) visit(*term);
  for (const auto& argument : term->arguments) VisitReads(argument, visit);
}

void VisitNames(const dsl::TermPtr& term, const std::function<void(const std::string&)>& visit) {
  VisitReads(term, [&](const dsl::Term& read) { visit(read.name); });
}

dsl::TermPtr WithNames(const dsl::TermPtr& term, const std::function<dsl::TermPtr(const std::string&)>& other) {
  const bool named = term->kind == dsl::Term::Kind::kName || term->kind == dsl::Term::Kind::kElement;
  const dsl::TermPtr instead = named ? other(term->name) : nullptr;
  if (instead && term->kind == dsl::Term::Kind::kName) return instead;
  dsl::Term changed = *term;
  if (instead) changed.name = instead->name;
  for (auto& argument : changed.arguments) argument = WithNames(argument, other);
  return std::make_shared<const dsl::Term>(std::move(changed));
}

std::vector<dsl::TermPtr*> TermsOf(dsl::Statement& statement) {
  std::vector<dsl::TermPtr*> terms;
  for (auto& operand : statement.operands) terms.push_back(&operand);
  for (auto& let : statement.lets) terms.push_back(&let.value);
  for (auto& link : statement.epilogue) terms.push_back(&link);
  for (auto& one : statement.also) terms.push_back(&one.value);
  return terms;
}

std::string AddTurnedView(dsl::Program& program, NamedPlaces& places, const std::string& name,
                          const std::vector<std::size_t>& order) {
  const NamedPlace place = places.at(name);
  dsl::View view{.name = name + "_turned", .base = place.base, .shape = {}, .strides = {}, .offset = place.offset};
  while (places.contains(view.name)) view.name += "_";
  const std::size_t missing = order.size() - place.shape.size();
  for (const std::size_t d : order) {
    view.shape.push_back(d < missing ? 1 : place.shape[d - missing]);
    view.strides.push_back(d < missing ? 0 : place.strides[d - missing]);
  }
  places[view.name] = {view.base, view.shape, view.strides, view.offset};
  program.views.push_back(view);
  return view.name;
}

}  // namespace hone::expert
