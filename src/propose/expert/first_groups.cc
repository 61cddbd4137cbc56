#include "propose/expert/first_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hone::expert {
namespace {

using dsl::Program;
using dsl::Statement;
using dsl::Term;
using dsl::TermPtr;

// So many of the elements at most are multiplied again: a share that is read, as it is looked up, in a small part of
// the time of the product.
constexpr double kMostAgain = 0.125;

TermPtr With(const TermPtr& term, std::vector<TermPtr> arguments) {
  Term changed = *term;
  changed.arguments = std::move(arguments);
  return std::make_shared<const Term>(std::move(changed));
}

// The term with what takes the place of `it` and of names; null leaves a name as it is.
template <class OfName>
TermPtr Replaced(const TermPtr& term, const TermPtr& it, const OfName& of_name) {
  if (term->kind == Term::Kind::kIt && it) return it;
  if (term->kind == Term::Kind::kName) {
    const TermPtr other = of_name(term->name);
    return other ? other : term;
  }
  std::vector<TermPtr> arguments;
  for (const auto& argument : term->arguments) arguments.push_back(Replaced(argument, it, of_name));
  return With(term, std::move(arguments));
}
TermPtr Replaced(const TermPtr& term, const TermPtr& it) {
  return Replaced(term, it, [](const std::string&) { return TermPtr(); });
}

bool IsCall(const TermPtr& term, std::string_view function) {
  return term->kind == Term::Kind::kCall && term->name == function;
}
// What is in the same order, but for equals that were none: roots and what is cut off below 0.
TermPtr InTheSameOrder(TermPtr term) {
  if (IsCall(term, "sqrt") && IsCall(term->arguments[0], "relu")) term = term->arguments[0];
  return IsCall(term, "relu") ? term->arguments[0] : term;
}

TermPtr Plus(TermPtr a, TermPtr b) { return dsl::Call("+", {std::move(a), std::move(b)}); }
TermPtr Times(TermPtr a, std::int64_t by) {
  return by == 1 ? a : dsl::Call("*", {std::move(a), dsl::Number(static_cast<double>(by))});
}

void CountNames(const TermPtr& term, std::map<std::string, int>& names) {
  if (term->kind == Term::Kind::kName || term->kind == Term::Kind::kElement) ++names[term->name];
  for (const auto& argument : term->arguments) CountNames(argument, names);
}
void CountNames(const Statement& statement, std::map<std::string, int>& names) {
  for (const auto& operand : statement.operands) CountNames(operand, names);
  for (const auto& let : statement.lets) CountNames(let.value, names);
  for (const auto& link : statement.epilogue) CountNames(link, names);
  for (const auto& one : statement.also) CountNames(one.value, names);
}

class FirstGroups {
 public:
  FirstGroups(const Program& program, const dsl::KernelProgram& kernels, std::int64_t group)
      : program_(program), kernels_(kernels), group_(group) {
    for (const auto& buffer : kernels.buffers) shapes_[buffer.name] = buffer.shape;
    for (const auto& view : program.views) {
      shapes_[view.name] = view.shape;
      ++reads_[view.base];
    }
    for (const auto& statement : program.statements) CountNames(statement, reads_);
    for (const auto& declaration : program.declarations) {
      if (declaration.role == Role::kOutput) ++reads_[declaration.name];
    }
  }

  std::optional<Program> Make() {
    Program made = program_;
    made.statements.clear();
    std::set<std::size_t> gone;  // products whose elements nobody wants any more
    for (std::size_t s = 0; s < program_.statements.size(); ++s) {
      const auto product = ProductOf(program_.statements[s]);
      if (product) gone.insert(*product);
    }
    if (gone.empty()) return std::nullopt;
    for (std::size_t s = 0; s < program_.statements.size(); ++s) {
      if (gone.contains(s)) continue;
      const auto product = ProductOf(program_.statements[s]);
      if (!product) {
        made.statements.push_back(program_.statements[s]);
      } else {
        Write(program_.statements[*product], program_.statements[s], kernels_.kernels[*product], made.statements);
      }
    }
    return made;
  }

 private:
  // The product whose elements the statement puts in order, if that is all that becomes of them.
  std::optional<std::size_t> ProductOf(const Statement& order) const {
    if (order.family != "order") return std::nullopt;
    std::map<std::string, int> names;
    CountNames(order.operands[0], names);
    for (std::size_t p = 0; p < program_.statements.size(); ++p) {
      const Statement& product = program_.statements[p];
      if (product.family != "matmul" || product.operands.size() != 2 || !product.lets.empty() ||
          product.settings.contains("precision") || !names.contains(product.target))
        continue;
      const Shape &made = kernels_.kernels[p].result, &read = shapes_.at(product.target);
      const bool alone = order.operands[0]->kind == Term::Kind::kName;
      if (reads_.at(product.target) != names[product.target] || read.size() < 2 || made.back() != read.back() ||
          order.axes != std::vector<int>{static_cast<int>(read.size()) - 1} ||
          (made != read && (made.size() != 2 || !alone)) || IsFloat64(p))
        continue;
      const auto count = order.attributes.find("count");
      const std::int64_t first = count == order.attributes.end() ? read.back() : count->second[0];
      if (static_cast<double>(first * group_) > kMostAgain * static_cast<double>(read.back())) continue;
      return p;
    }
    return std::nullopt;
  }
  bool IsFloat64(std::size_t statement) const { return kernels_.kernels[statement].compute == DType::kF64; }

  // What is read of the operands of a product, or of what is behind it, at these places of its result.
  TermPtr At(const TermPtr& term, const std::vector<TermPtr>& places, const TermPtr& it = {}) const {
    return Replaced(term, it, [&](const std::string& name) -> TermPtr {
      const Shape& shape = shapes_.at(name);
      if (shape.empty()) return {};
      std::vector<TermPtr> at;
      for (std::size_t d = 0; d < shape.size(); ++d)
        at.push_back(shape[d] == 1 ? dsl::Number(0) : places[places.size() - shape.size() + d]);
      return dsl::Element(name, std::move(at));
    });
  }

  void Write(const Statement& product, const Statement& order, const dsl::Kernel& kernel, std::vector<Statement>& to) {
    const Shape& scores = shapes_.at(product.target);
    const std::int64_t columns = scores.back(), groups = (columns + group_ - 1) / group_,
                       count = order.attributes.at("count")[0], axis = static_cast<int>(scores.size()) - 1;
    const bool descending = order.variant == "descending";
    const auto of_rows = [&](std::initializer_list<std::int64_t> last) {
      Shape shape(scores.begin(), scores.end() - 1);
      shape.insert(shape.end(), last);
      return shape;
    };

    // What is put in order, of the product as `it`.
    TermPtr score = dsl::It();
    for (const auto& link : product.epilogue) score = Replaced(link, score);
    score = Replaced(order.operands[0], {},
                     [&](const std::string& name) { return name == product.target ? score : TermPtr(); });

    Statement best;
    best.family = "matmul_reduce";
    best.variant = descending ? "max" : "min";
    best.operands = product.operands;
    best.attributes["group"] = {group_};
    best.target = Fresh(product.target + "_best");
    best.target_shape = of_rows({groups});
    best.has_target_shape = kernel.result != scores;
    TermPtr folded = InTheSameOrder(score);
    // A NaN is the last in ascending order, behind infinity, but the smallest for a fold.
    if (!descending)
      folded = dsl::Call("select", {dsl::Call("isnan", {folded}), dsl::Number(INFINITY),
                                    dsl::Call("min", {folded, dsl::Number(std::numeric_limits<float>::max())})});
    if (folded->kind != Term::Kind::kIt) best.lets.push_back({Fresh("score"), folded, {}});

    Statement near = Ordered(order.variant, best.target, axis, count);
    near.target = Fresh("near");
    near.target_shape = of_rows({count});
    std::string group = near.target;
    to.push_back(std::move(best));
    to.push_back(near);
    // In the order in which they lie, so that of equals the first stays first, and what is behind the last column stays
    // behind all others.
    if (count > 1) {
      Statement sorted = Ordered("ascending", near.target, axis, count);
      sorted.target = Fresh("sorted");
      sorted.target_shape = of_rows({count});
      group = Fresh("groups");
      sorted.also.push_back(
          {.target = group, .target_type = {}, .target_shape = sorted.target_shape, .value = dsl::It(), .at = {}});
      to.push_back(std::move(sorted));
    }

    Statement candidates;
    candidates.family = "nest";
    candidates.target = Fresh("candidates");
    candidates.loops = Loops(of_rows({count, group_}));
    candidates.operands = {Candidate(product, order, kernel, group, candidates.loops)};
    candidates.target_shape = of_rows({count * group_});
    candidates.has_target_shape = true;
    const std::string read = candidates.target;
    to.push_back(std::move(candidates));

    Statement last = Ordered(order.variant, read, axis, count);
    last.target = Fresh("first");
    last.target_shape = of_rows({count});
    last.also = order.also;
    const std::string first = last.target;
    to.push_back(std::move(last));
    if (!reads_.contains(order.target)) return;

    Statement places;
    places.family = "nest";
    places.target = order.target;
    places.target_type = order.target_type;
    places.target_shape = order.target_shape;
    places.has_target_shape = order.has_target_shape;
    places.loops = Loops(of_rows({count}));
    std::vector<TermPtr> at = Names(places.loops);
    const TermPtr place = dsl::Element(first, at), each = dsl::Number(static_cast<double>(group_));
    std::vector<TermPtr> of_group = at;
    of_group.back() = dsl::Call("floordiv", {place, each});
    TermPtr index = Plus(Times(dsl::Element(group, of_group), group_), dsl::Call("mod", {place, each}));
    for (const auto& link : order.epilogue) index = At(link, at, index);
    places.operands = {index};
    to.push_back(std::move(places));
  }

  static Statement Ordered(const std::string& variant, const std::string& of, std::int64_t axis, std::int64_t count) {
    Statement order;
    order.family = "order";
    order.variant = variant;
    order.operands = {dsl::Name(of)};
    order.axes = {static_cast<int>(axis)};
    order.attributes["count"] = {count};
    return order;
  }

  // The score of a column of one of a row's first groups, made anew.
  TermPtr Candidate(const Statement& product, const Statement& order, const dsl::Kernel& kernel,
                    const std::string& group, const std::vector<dsl::LoopIndex>& loops) {
    const Shape& scores = shapes_.at(product.target);
    const std::int64_t columns = scores.back();
    std::vector<TermPtr> rows = Names(loops);
    const TermPtr within = rows.back();
    rows.pop_back();
    const TermPtr wanted = Plus(Times(dsl::Element(group, rows), group_), within);
    const bool whole = columns % group_ == 0;
    const TermPtr column = whole ? wanted : dsl::Call("min", {wanted, dsl::Number(static_cast<double>(columns - 1))});
    rows.pop_back();
    if (kernel.result != scores) {  // rows of several dimensions
      TermPtr row;
      std::int64_t step = 1;
      for (std::size_t d = rows.size(); d-- > 0;) {
        row = row ? Plus(Times(rows[d], step), row) : Times(rows[d], step);
        step *= scores[d];
      }
      rows = {row};
    }
    const std::int64_t depth = kernel.space.back().extent;
    std::set<std::string> taken;
    for (const auto& loop : loops) taken.insert(loop.name);
    const std::string k = IndexName(taken);
    std::vector<TermPtr> of_a = rows, of_b(rows.begin(), rows.end() - 1), of_result = rows;
    of_a.push_back(dsl::Name(k));
    of_b.push_back(dsl::Name(k));
    of_b.push_back(column);
    of_result.push_back(column);
    TermPtr value = dsl::FoldOver("sum", {{k, depth}},
                                  dsl::Call("*", {At(product.operands[0], of_a), At(product.operands[1], of_b)}));
    for (const auto& link : product.epilogue) value = At(link, of_result, value);
    const std::string& target = product.target;
    value = Replaced(order.operands[0], {},
                     [&](const std::string& name) { return name == target ? value : At(dsl::Name(name), of_result); });
    if (whole) return value;
    return dsl::Call("select", {dsl::Call("<", {wanted, dsl::Number(static_cast<double>(columns))}), value,
                                dsl::Number(order.variant == "descending" ? -INFINITY : NAN)});
  }

  std::vector<dsl::LoopIndex> Loops(const Shape& extents) const {
    std::vector<dsl::LoopIndex> loops;
    std::set<std::string> taken;
    for (const std::int64_t extent : extents) {
      loops.push_back({IndexName(taken), extent});
      taken.insert(loops.back().name);
    }
    return loops;
  }
  static std::vector<TermPtr> Names(const std::vector<dsl::LoopIndex>& loops) {
    std::vector<TermPtr> names;
    for (const auto& loop : loops) names.push_back(dsl::Name(loop.name));
    return names;
  }
  // i, j, k ..., none of those that are something else.
  std::string IndexName(const std::set<std::string>& taken) const {
    for (int number = 0;; ++number) {
      std::string name(1, static_cast<char>('i' + number % 16));
      if (number >= 16) name += std::to_string(number / 16);
      if (!taken.contains(name) && !shapes_.contains(name) && !fresh_.contains(name)) return name;
    }
  }
  std::string Fresh(const std::string& name) {
    std::string fresh = name;
    for (int number = 1; shapes_.contains(fresh) || fresh_.contains(fresh); ++number)
      fresh = fmt::format("{}_{}", name, number);
    fresh_.insert(fresh);
    return fresh;
  }

  const Program& program_;
  const dsl::KernelProgram& kernels_;
  const std::int64_t group_;
  std::map<std::string, Shape> shapes_;  // of all that has a name
  std::map<std::string, int> reads_;     // by name, outputs once more
  std::set<std::string> fresh_;
};

}  // namespace

std::optional<Program> WithFirstGroups(const Program& program, const dsl::KernelProgram& kernels, std::int64_t group) {
  return FirstGroups(program, kernels, group).Make();
}

}  // namespace hone::expert
