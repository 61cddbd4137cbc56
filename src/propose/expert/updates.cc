#include "propose/expert/updates.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/kernel.h"
#include "propose/expert/named_places.h"

namespace hone::expert {
namespace {

using dsl::Program;
using dsl::Statement;

using NameSet = std::set<std::string>;

// Statements that stay together: a sequence, or one alone.
struct Unit {
  std::size_t begin = 0, end = 0;
  NameSet reads, writes;  // tensors and values, not views
};

std::vector<Unit> UnitsOf(Program& program) {
  std::map<std::string, std::string> base_of;
  for (const auto& view : program.views) base_of[view.name] = view.base;
  const auto sequence = [&](std::size_t i) {
    const auto found = program.statements[i].attributes.find("sequence");
    return found == program.statements[i].attributes.end() ? -1 : found->second[0];
  };
  std::vector<Unit> units;
  for (std::size_t i = 0; i < program.statements.size(); ++i) {
    const bool goes_on = i > 0 && sequence(i) >= 0 && sequence(i) == sequence(i - 1);
    if (!goes_on) units.push_back({i, i, {}, {}});
    Unit& unit = units.back();
    unit.end = i + 1;
    Statement& statement = program.statements[i];
    unit.writes.insert(statement.target);
    for (const auto& one : statement.also) unit.writes.insert(one.target);
    for (const dsl::TermPtr* term : TermsOf(statement)) {
      VisitNames(*term, [&](const std::string& name) {
        const auto view = base_of.find(name);
        unit.reads.insert(view == base_of.end() ? name : view->second);
      });
    }
  }
  return units;
}

bool Meet(const NameSet& a, const NameSet& b) {
  return std::ranges::any_of(a, [&](const std::string& name) { return b.contains(name); });
}

class Updates {
 public:
  Updates(const Program& program, const DeviceModel& device) : source_(program), device_(device) {
    for (const auto& declaration : program.declarations) {
      if (!declaration.updates.empty()) input_of_[declaration.name] = declaration.updates;
    }
  }

  std::optional<Program> Ordered() {
    for (;;) {
      if (auto program = InOrder()) {
        const auto checked = dsl::Check(*program, nullptr, device_);
        if (std::holds_alternative<dsl::KernelProgram>(checked)) return program;
        if (!PutOneApart(*program)) return std::nullopt;
      }
    }
  }

 private:
  // Those that make a value of their own do, and the others come after whatever reads what they write into. Nothing
  // where one of them cannot: it makes a value of its own from then on.
  std::optional<Program> InOrder() {
    Program program = source_;
    for (const auto& name : apart_) MakeApart(program, name);
    const std::vector<Unit> units = UnitsOf(program);
    std::vector<bool> done(units.size(), false);
    const auto waits = [&](std::size_t unit, bool for_readers) {
      for (std::size_t other = 0; other < units.size(); ++other) {
        if (other == unit || done[other]) continue;
        if (for_readers ? Meet(InputsUnder(units[unit]), units[other].reads)
                        : Meet(units[unit].reads, units[other].writes))
          return true;
      }
      return false;
    };
    std::vector<Statement> statements;
    for (std::size_t left = units.size(); left > 0; --left) {
      std::size_t next = 0;
      while (next < units.size() && (done[next] || waits(next, false) || waits(next, true))) ++next;
      if (next == units.size()) {
        for (std::size_t unit = 0; unit < units.size(); ++unit) {
          if (done[unit] || waits(unit, false)) continue;
          for (const auto& made : units[unit].writes) {
            if (input_of_.contains(made)) apart_.insert(made);
          }
          return std::nullopt;
        }
      }
      done[next] = true;
      for (std::size_t i = units[next].begin; i < units[next].end; ++i) statements.push_back(program.statements[i]);
    }
    program.statements = std::move(statements);
    return program;
  }

  NameSet InputsUnder(const Unit& unit) const {
    NameSet inputs;
    for (const auto& made : unit.writes) {
      const auto found = input_of_.find(made);
      if (found != input_of_.end()) inputs.insert(found->second);
    }
    return inputs;
  }

  // The first that the language does not take, if it is one of those.
  bool PutOneApart(const Program& program) {
    for (const auto& [output, input] : input_of_) {
      if (apart_.contains(output)) continue;
      Program one = program;
      for (auto& declaration : one.declarations) {
        if (declaration.name != output) declaration.updates.clear();
      }
      const auto checked = dsl::Check(one, nullptr, device_);
      if (std::holds_alternative<dsl::KernelProgram>(checked)) continue;
      apart_.insert(output);
      return true;
    }
    return false;
  }

  static void MakeApart(Program& program, const std::string& output) {
    NameSet taken;
    for (const auto& declaration : program.declarations) taken.insert(declaration.name);
    for (const auto& view : program.views) taken.insert(view.name);
    for (const auto& unit : UnitsOf(program)) taken.insert(unit.writes.begin(), unit.writes.end());
    std::string value = output + "_value";
    for (int n = 2; taken.contains(value); ++n) value = output + "_value_" + std::to_string(n);
    const auto declared = std::ranges::find(program.declarations, output, &dsl::Declaration::name);
    const auto rename = [&](auto& made, bool typed) {
      if (made.target != output) return;
      made.target = value;
      if (typed) made.target_type = declared->dtype;
    };
    for (auto& statement : program.statements) {
      rename(statement, !statement.attributes.contains("sequence"));
      for (auto& one : statement.also) rename(one, true);
      for (dsl::TermPtr* term : TermsOf(statement))
        *term = WithNames(*term, [&](const std::string& name) { return name == output ? dsl::Name(value) : nullptr; });
    }
    for (auto& view : program.views) {
      if (view.base == output) view.base = value;
    }
    Statement put;
    put.target = output;
    put.family = "map";
    put.operands = {dsl::Name(value)};
    program.statements.push_back(std::move(put));
  }

  const Program& source_;
  const DeviceModel& device_;
  std::map<std::string, std::string> input_of_;  // by output
  NameSet apart_;                                // outputs that are values of their own first
};

}  // namespace

Program OrderUpdates(Program program, const DeviceModel& device) {
  if (std::ranges::all_of(program.declarations, [](const auto& one) { return one.updates.empty(); })) return program;
  auto ordered = Updates(program, device).Ordered();
  return ordered ? std::move(*ordered) : program;
}

}  // namespace hone::expert
