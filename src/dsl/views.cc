#include "dsl/views.h"

#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace hone::dsl {

void WalkViews(const Program& program, const std::function<void(int statement, const View& view)>& at) {
  std::unordered_map<std::string_view, std::vector<std::size_t>> views_of;  // by base
  for (std::size_t i = 0; i < program.views.size(); ++i) views_of[program.views[i].base].push_back(i);
  std::unordered_set<std::string_view> known;
  std::vector<bool> done(program.views.size(), false);
  std::set<std::size_t> due;  // their base is known, in the order of the text
  const auto add = [&](std::string_view name) {
    const auto views = views_of.find(name);
    if (known.insert(name).second && views != views_of.end()) due.insert(views->second.begin(), views->second.end());
  };
  const auto place = [&](int statement) {
    for (auto next = due.begin(); next != due.end();) {
      const std::size_t i = *next;
      due.erase(next);
      done[i] = true;
      add(program.views[i].name);
      at(statement, program.views[i]);
      next = due.upper_bound(i);
      if (next == due.end()) next = due.begin();
    }
  };
  for (const auto& declaration : program.declarations) add(declaration.name);
  place(-1);
  for (std::size_t i = 0; i < program.statements.size(); ++i) {
    add(program.statements[i].target);
    for (const auto& one : program.statements[i].also) add(one.target);
    place(static_cast<int>(i));
  }
  for (std::size_t i = 0; i < program.views.size(); ++i) {
    if (!done[i]) at(static_cast<int>(program.statements.size()) - 1, program.views[i]);
  }
}

void OrderViews(Program& program) {
  std::vector<View> ordered;
  WalkViews(program, [&](int, const View& view) { ordered.push_back(view); });
  program.views = std::move(ordered);
}

}  // namespace hone::dsl
