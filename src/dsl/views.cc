#include "dsl/views.h"

#include <set>

namespace hone::dsl {

void WalkViews(const Program& program, const std::function<void(int statement, const View& view)>& at) {
  std::set<std::string> known;
  std::vector<bool> done(program.views.size(), false);
  const auto place = [&](int statement) {
    for (bool again = true; again;) {
      again = false;
      for (std::size_t i = 0; i < program.views.size(); ++i) {
        const View& view = program.views[i];
        if (done[i] || !known.contains(view.base)) continue;
        done[i] = true;
        again = known.insert(view.name).second || again;
        at(statement, view);
      }
    }
  };
  for (const auto& declaration : program.declarations) known.insert(declaration.name);
  place(-1);
  for (std::size_t i = 0; i < program.statements.size(); ++i) {
    known.insert(program.statements[i].target);
    for (const auto& one : program.statements[i].also) known.insert(one.target);
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
