// Names of a program and where their elements lie: for those who change programs that are written already.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dsl/kernel.h"
#include "dsl/program.h"

namespace hone::expert {

// In a tensor, or in what a statement has made.
struct NamedPlace {
  std::string base;
  Shape shape;
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;
};
using NamedPlaces = std::map<std::string, NamedPlace>;
// Of all buffers and views; `checked`: what the checker made of the program.
NamedPlaces NamedPlacesIn(const dsl::Program& program, const dsl::KernelProgram& checked);

// The names and elements that are read.
void VisitReads(const dsl::TermPtr& term, const std::function<void(const dsl::Term&)>& visit);
void VisitNames(const dsl::TermPtr& term, const std::function<void(const std::string&)>& visit);
// The term with other terms for some names, nothing for those that stay; elements of a name are of that other name.
dsl::TermPtr WithNames(const dsl::TermPtr& term, const std::function<dsl::TermPtr(const std::string&)>& other);
std::vector<dsl::TermPtr*> TermsOf(dsl::Statement& statement);

// Adds a view of the same elements with its dimensions, which broadcast to so many as `order` has, in that order; the
// name of it.
std::string AddTurnedView(dsl::Program& program, NamedPlaces& places, const std::string& name,
                          const std::vector<std::size_t>& order);

}  // namespace hone::expert
