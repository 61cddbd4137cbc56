#include "dsl/views.h"

#include <set>
#include <string_view>
#include <utility>

namespace hone::dsl {

void WalkViews(const Program& program, const std::function<void(int statement, const View& view)>& at) {
  std::set<std::string_view> known, bases;
  for (const auto& view : program.views) bases.insert(view.base);
  std::vector<bool> done(program.views.size(), false);
  bool again = false;  // some view's base has become known
  const auto add = [&](std::string_view name) { again |= known.insert(name).second && bases.contains(name); };
  const auto place = [&](int statement) {
    while (std::exchange(again, false)) {
      for (std::size_t i = 0; i < program.views.size(); ++i) {
        const View& view = program.views[i];
        if (done[i] || !known.contains(view.base)) continue;
        done[i] = true;
        add(view.name);
        at(statement, view);
      }
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
