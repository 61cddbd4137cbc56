#include "propose/expert/laid_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dsl/kernel.h"
#include "dsl/views.h"
#include "propose/expert/named_places.h"

namespace hone::expert {
namespace {

using dsl::Program;
using dsl::Statement;
using dsl::Term;
using dsl::TermPtr;

constexpr double kSector = 32;  // bytes that a device's memory gives at least

// --- Terms ---

bool Mentions(const TermPtr& term, const std::string& name) {
  bool found = false;
  VisitReads(term, [&](const Term& read) { found |= read.name == name; });
  return found;
}

// With other names for what it reads.
void Rename(Statement& statement, const std::map<std::string, std::string>& names) {
  for (TermPtr* term : TermsOf(statement)) {
    *term = WithNames(*term, [&](const std::string& name) {
      const auto other = names.find(name);
      return other == names.end() ? TermPtr() : dsl::Name(other->second);
    });
  }
}

bool ReadsBeside(const Statement& statement) { return statement.family == "attention" || statement.family == "matmul"; }

// What a statement's scores are made of, or its products are ended with.
std::set<std::string> ReadBeside(const Statement& statement) {
  std::set<std::string> read;
  const auto add = [&](const TermPtr& term) { VisitReads(term, [&](const Term& one) { read.insert(one.name); }); };
  if (statement.family == "attention") {
    for (const auto& let : statement.lets) add(let.value);
  } else {
    for (const auto& link : statement.epilogue) add(link);
  }
  return read;
}

// --- Orders ---

// A value's dimensions as its statement goes through them, and in which order they are to lie.
struct Order {
  Shape dims;
  std::vector<std::size_t> places;  // of them, from the outermost
  std::vector<std::int64_t> strides() const {
    std::vector<std::int64_t> made(dims.size());
    std::int64_t stride = 1;
    for (auto place = places.rbegin(); place != places.rend(); ++place) {
      made[*place] = stride;
      stride *= dims[*place];
    }
    return made;
  }
};

// How far a step in memory goes along each dimension of what lies densely.
std::vector<std::int64_t> StepsOf(std::int64_t stride, const Shape& dims) {
  std::vector<std::int64_t> steps;
  for (const std::int64_t dense : DenseStrides(dims)) {
    steps.push_back(stride / dense);
    stride %= dense;
  }
  return steps;
}

// The view of what lies densely, of what lies in that order. Nothing where a row of it goes beyond a dimension's end.
std::optional<dsl::View> InOrder(const dsl::View& view, const Order& order) {
  const auto strides = order.strides();
  const auto moved = [&](std::int64_t stride, std::int64_t count, Shape& reached) {
    const auto steps = StepsOf(stride, order.dims);
    std::int64_t made = 0;
    for (std::size_t d = 0; d < steps.size(); ++d) {
      made += steps[d] * strides[d];
      reached[d] += steps[d] * count;
    }
    return made;
  };
  dsl::View changed = view;
  Shape reached(order.dims.size(), 0);
  changed.offset = moved(view.offset, 1, reached);
  for (std::size_t d = 0; d < view.shape.size(); ++d) {
    if (view.strides[d] < 0) return std::nullopt;
    changed.strides[d] = moved(view.strides[d], view.shape[d] - 1, reached);
  }
  for (std::size_t d = 0; d < reached.size(); ++d) {
    if (reached[d] >= order.dims[d]) return std::nullopt;
  }
  return changed;
}

// --- Programs ---

class LaidOut {
 public:
  explicit LaidOut(Program& program) : program_(program) {
    for (const auto& declaration : program.declarations) {
      if (declaration.role == Role::kOutput) outputs_.insert(declaration.name);
      AddValue(declaration.name, declaration.shape);
      if (declaration.role == Role::kParameter) once_.insert(declaration.name);
      types_[declaration.name] = declaration.dtype;
    }
    for (const auto& view : program.views) values_[view.name] = view;
    for (std::size_t i = 0; i < program.statements.size(); ++i) Add(i);
  }

  // Whether something was laid out.
  bool Do() {
    bool any = false;
    for (std::size_t i = 0; i < program_.statements.size(); ++i) {
      if (program_.statements[i].family == "matmul") any |= CopyFactors(i);
      if (!ReadsBeside(program_.statements[i])) continue;
      for (const auto& name : ReadBeside(program_.statements[i])) {
        const auto view = std::ranges::find(program_.views, name, &dsl::View::name);
        if (view == program_.views.end() || view->shape.empty() || view->strides.back() < 2 || view->shape.back() < 2)
          continue;
        if (Turn(dsl::View(*view)) || Copy(dsl::View(*view), i)) any = true;
      }
    }
    return any;
  }

 private:
  std::string Fresh(const std::string& name) const {
    std::string fresh = name;
    const auto taken = [&] {
      return values_.contains(fresh) || std::ranges::any_of(program_.statements, [&](const Statement& statement) {
               return std::ranges::any_of(statement.lets, [&](const dsl::Let& let) { return let.name == fresh; });
             });
    };
    for (int number = 2; taken(); ++number) fresh = fmt::format("{}_{}", name, number);
    return fresh;
  }
  void AddValue(const std::string& name, const Shape& shape) {
    values_[name] = {.name = name, .base = name, .shape = shape, .strides = DenseStrides(shape)};
  }
  void Add(std::size_t i) {
    Statement& statement = program_.statements[i];
    makers_[statement.target] = i;
    AddValue(statement.target, statement.target_shape);
    for (const auto& one : statement.also) AddValue(one.target, one.target_shape);
    if (statement.target_type) types_[statement.target] = *statement.target_type;
    bool once = statement.also.empty() && !outputs_.contains(statement.target);
    for (const TermPtr* term : TermsOf(statement)) {
      VisitNames(*term, [&](const std::string& name) {
        const auto value = values_.find(name);
        once &= value == values_.end() || once_.contains(value->second.base);
      });
    }
    if (once) once_.insert(statement.target);
  }

  // --- What reading takes ---

  double BytesOf(const std::string& base) const {
    const auto type = types_.find(base);
    return type == types_.end() ? 4 : static_cast<double>(Bytes(type->second));
  }
  // Whether the caches of a multiprocessor hold all of it, wherever in it is read.
  bool IsTable(const std::string& base) const {
    constexpr double kTable = 16 << 10;
    const auto value = values_.find(base);
    return value != values_.end() && static_cast<double>(ElementCount(value->second.shape)) * BytesOf(base) <= kTable;
  }
  // Of one element, in elements, where neighbours are so far apart.
  double Apart(std::int64_t stride, double bytes) const {
    return std::clamp(static_cast<double>(stride), 1.0, std::max(kSector / bytes, 1.0));
  }
  double Reading(const dsl::View& view) const {
    const bool side_by_side = view.shape.empty() || view.shape.back() == 1;
    return side_by_side ? 1 : Apart(view.strides.back(), BytesOf(view.base));
  }

  // How many elements of the view a statement reads: attention those of all its scores.
  double ReadsOf(const Statement& statement, const dsl::View& view) const {
    if (statement.family == "matmul") return static_cast<double>(ElementCount(statement.target_shape));
    if (statement.family != "attention") return static_cast<double>(ElementCount(view.shape));
    const auto values = statement.operands.size() < 3 ? values_.end() : values_.find(statement.operands[2]->name);
    const double width =
        values == values_.end() || values->second.shape.empty() ? 1 : static_cast<double>(values->second.shape.back());
    return static_cast<double>(ElementCount(statement.target_shape)) / width * static_cast<double>(view.shape.back());
  }

  // Whether a statement reads the name where any view does as well: not as rows of products.
  static bool TakesAnyView(const Statement& statement, const std::string& name) {
    if (statement.attributes.contains("sequence")) return false;
    if (statement.family == "map" || statement.family == "nest" || statement.family == "norm") return true;
    const auto reads = [&](const TermPtr& term) { return Mentions(term, name); };
    return ReadsBeside(statement) && std::ranges::none_of(statement.operands, reads) &&
           (statement.family == "attention" || std::ranges::none_of(statement.lets, reads, &dsl::Let::value));
  }

  // What a nest or a map loses, an element, by going through its result in that order.
  double Losing(const Statement& maker, const Order& order) const {
    if (once_.contains(maker.target)) return 0;
    const std::size_t before = order.dims.size() - 1, after = order.places.back();
    double loses = 0;
    const auto look = [&](const Term& read) {
      const auto value = values_.find(read.name);
      if (value == values_.end()) return;
      const std::string& base = value->second.base;
      if (IsTable(base)) return;
      const double most = kSector / BytesOf(base);
      const auto along = [&](std::size_t dim) {
        if (read.kind == Term::Kind::kName) {
          const auto& view = value->second;
          const std::size_t missing = order.dims.size() - view.shape.size();
          return dim < missing || view.shape[dim - missing] == 1 ? 0
                                                                 : Apart(view.strides[dim - missing], BytesOf(base));
        }
        const std::string& index = maker.loops[dim].name;
        double takes = 0;
        for (std::size_t d = 0; d < read.arguments.size(); ++d) {
          if (Mentions(read.arguments[d], index)) takes = d + 1 == read.arguments.size() && takes == 0 ? 1 : most;
        }
        return takes;
      };
      loses += std::max(along(after) - along(before), 0.0);
    };
    for (const auto& operand : maker.operands) VisitReads(operand, look);
    for (const auto& link : maker.epilogue) VisitReads(link, look);
    return loses * static_cast<double>(ElementCount(order.dims));
  }

  // --- Changes ---

  // The dimensions of what a nest or a map makes, if it may go through them in any order.
  std::optional<Shape> FreeDims(const Statement& maker) const {
    if (!maker.also.empty() || !maker.lets.empty() || !maker.attributes.empty() || outputs_.contains(maker.target))
      return std::nullopt;
    Shape dims;
    if (maker.family == "nest") {
      std::set<std::string> loops;
      for (const auto& loop : maker.loops) {
        loops.insert(loop.name);
        dims.push_back(loop.extent);
      }
      bool free = true;
      for (const auto& link : maker.epilogue)
        VisitReads(link,
                   [&](const Term& read) { free &= read.kind == Term::Kind::kElement || loops.contains(read.name); });
      return free ? std::optional(dims) : std::nullopt;
    }
    if (maker.family != "map" || maker.has_target_shape) return std::nullopt;
    bool within = true;
    const auto look = [&](const Term& read) {
      const auto value = values_.find(read.name);
      within &= value != values_.end() && value->second.shape.size() <= maker.target_shape.size();
    };
    VisitReads(maker.operands[0], look);
    for (const auto& link : maker.epilogue) VisitReads(link, look);
    return within ? std::optional(maker.target_shape) : std::nullopt;
  }

  // Has the maker of what the view views go through it so that a row of the view lies side by side.
  bool Turn(const dsl::View& view) {
    const auto made = makers_.find(view.base);
    if (made == makers_.end()) return false;
    const std::size_t at = made->second;
    const auto dims = FreeDims(program_.statements[at]);
    if (!dims || ElementCount(*dims) != ElementCount(program_.statements[at].target_shape)) return false;
    Order order{*dims, {}};
    const auto steps = StepsOf(view.strides.back(), *dims);
    const auto row = std::ranges::find(steps, 1);
    if (row == steps.end() || std::ranges::count(steps, 0) + 1 != static_cast<std::ptrdiff_t>(steps.size()))
      return false;
    const auto inner = static_cast<std::size_t>(row - steps.begin());
    for (std::size_t d = 0; d < dims->size(); ++d) {
      if (d != inner) order.places.push_back(d);
    }
    order.places.push_back(inner);

    // What reads it, by which view, and what that gains.
    std::map<std::string, dsl::View> changed;
    double gains = -Losing(program_.statements[at], order);
    for (std::size_t i = 0; i < program_.statements.size(); ++i) {
      std::set<std::string> read;
      for (const TermPtr* term : TermsOf(program_.statements[i])) {
        VisitNames(*term, [&](const std::string& name) {
          const auto value = values_.find(name);
          if (value != values_.end() && value->second.base == view.base) read.insert(name);
        });
      }
      for (const auto& name : read) {
        const dsl::View& before = values_.at(name);
        const auto after = TakesAnyView(program_.statements[i], name) ? InOrder(before, order) : std::nullopt;
        if (!after) return false;
        gains += ReadsOf(program_.statements[i], before) * (Reading(before) - Reading(*after));
        changed.emplace(name, *after);
      }
    }
    if (gains <= 0) return false;
    Apply(at, order, std::move(changed));
    return true;
  }

  void Apply(std::size_t at, const Order& order, std::map<std::string, dsl::View> changed) {
    Statement& maker = program_.statements[at];
    if (maker.family == "nest") {
      std::vector<dsl::LoopIndex> loops;
      for (const std::size_t place : order.places) loops.push_back(maker.loops[place]);
      maker.loops = std::move(loops);
    } else {
      TurnOperands(maker, order);
    }
    maker.target_shape.clear();
    for (const std::size_t place : order.places) maker.target_shape.push_back(order.dims[place]);
    maker.has_target_shape = false;
    std::map<std::string, std::string> renamed;
    for (auto& [name, view] : changed) {
      const auto same = std::ranges::find(program_.views, name, &dsl::View::name);
      if (same != program_.views.end()) {
        *same = view;
        values_[name] = view;
      } else {
        renamed[name] = AddView(std::move(view));
      }
    }
    for (std::size_t i = at + 1; i < program_.statements.size(); ++i) Rename(program_.statements[i], renamed);
    AddValue(maker.target, maker.target_shape);
  }

  // What a map reads, in the order in which it makes its result now.
  void TurnOperands(Statement& map, const Order& order) {
    std::map<std::string, std::string> renamed;
    const auto look = [&](const Term& read) {
      const auto value = values_.find(read.name);
      if (value == values_.end() || renamed.contains(read.name)) return;
      dsl::View view = value->second;
      const std::size_t missing = order.dims.size() - view.shape.size();
      view.shape.insert(view.shape.begin(), missing, 1);
      view.strides.insert(view.strides.begin(), missing, 0);
      dsl::View turned = view;
      for (std::size_t d = 0; d < order.places.size(); ++d) {
        turned.shape[d] = view.shape[order.places[d]];
        turned.strides[d] = view.strides[order.places[d]];
      }
      renamed[read.name] = AddView(std::move(turned));
    };
    for (const TermPtr* term : TermsOf(map)) VisitReads(*term, look);
    Rename(map, renamed);
  }

  std::string AddView(dsl::View view) {
    view.name = Fresh(view.base + "_view");
    view.at = {};
    program_.views.push_back(view);
    values_[view.name] = view;
    return view.name;
  }

  // Has the statement and those behind it read a copy of the view in its own order, made before.
  bool Copy(const dsl::View& view, std::size_t& reader) {
    dsl::View read = view;
    for (std::size_t d = 0; d < read.shape.size(); ++d) {
      if (read.strides[d] == 0) read.shape[d] = 1;
    }
    double gains = 0;
    for (const auto& statement : program_.statements) {
      if (ReadsBeside(statement) && ReadBeside(statement).contains(view.name) && TakesAnyView(statement, view.name))
        gains += ReadsOf(statement, view) * (Reading(view) - 1);
    }
    // It is read, written, and one kernel more.
    if (!once_.contains(view.base)) gains -= static_cast<double>(ElementCount(read.shape)) * (Reading(view) + 1);
    if (gains <= 0) return false;
    const std::string copy = InsertCopy(view, read, reader);
    for (std::size_t i = reader; i < program_.statements.size(); ++i) {
      Statement& statement = program_.statements[i];
      if (!ReadsBeside(statement) || !TakesAnyView(statement, view.name)) continue;
      Rename(statement, {{view.name, copy}});
    }
    return true;
  }

  // Factors that are the same in each run, and of which neither rows nor columns lie side by side, as parts of complex
  // weights do not: products read copies, which are made once.
  bool CopyFactors(std::size_t& reader) {
    bool any = false;
    for (std::size_t f = 0; f < std::min<std::size_t>(program_.statements[reader].operands.size(), 2); ++f) {
      const TermPtr factor = program_.statements[reader].operands[f];
      const auto view = factor->kind == Term::Kind::kName ? values_.find(factor->name) : values_.end();
      if (view == values_.end() || !once_.contains(view->second.base) || view->second.shape.size() < 2) continue;
      const dsl::View read = view->second;
      const std::size_t last = read.shape.size() - 1;
      const auto apart = [&](std::size_t d) { return read.shape[d] > 1 && read.strides[d] > 1; };
      if (!apart(last) || !apart(last - 1)) continue;
      const std::string copy = InsertCopy(read, read, reader);
      for (std::size_t i = reader; i < program_.statements.size(); ++i) {
        Statement& statement = program_.statements[i];
        if (statement.family != "matmul") continue;
        for (TermPtr& operand : statement.operands) {
          if (operand->kind == Term::Kind::kName && operand->name == read.name) operand = dsl::Name(copy);
        }
      }
      any = true;
    }
    return any;
  }

  // A copy of the view, made of `read`, in front of the statement, which is one later then.
  std::string InsertCopy(const dsl::View& view, const dsl::View& read, std::size_t& reader) {
    Statement copy;
    copy.family = "map";
    copy.operands = {dsl::Name(read.shape == view.shape ? view.name : AddView(read))};
    const std::string name = copy.target = Fresh(view.base + "_rows");
    copy.target_shape = read.shape;
    if (const auto type = types_.find(view.base); type != types_.end()) copy.target_type = type->second;
    program_.statements.insert(program_.statements.begin() + static_cast<std::ptrdiff_t>(reader), std::move(copy));
    makers_.clear();
    for (std::size_t i = 0; i < program_.statements.size(); ++i) makers_[program_.statements[i].target] = i;
    Add(reader);
    ++reader;
    return name;
  }

  Program& program_;
  std::map<std::string, dsl::View> values_;  // all that can be read, as views of what has memory
  std::map<std::string, DType> types_;
  std::map<std::string, std::size_t> makers_;  // by target
  std::set<std::string> outputs_, once_;       // once: of parameters alone
};

}  // namespace

void LayOutForReaders(Program& program, const DeviceModel& device) {
  Program changed = program;
  if (!LaidOut(changed).Do()) return;
  dsl::OrderViews(changed);
  if (std::holds_alternative<dsl::KernelProgram>(dsl::Check(changed, nullptr, device))) program = std::move(changed);
}

}  // namespace hone::expert
