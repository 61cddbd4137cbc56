// Where views stand in a text: right behind what they view. Parser and printer agree on it here.
#pragma once

#include <functional>

#include "dsl/program.h"

namespace hone::dsl {

// Walks the views in canonical order: `at(-1, view)` for views of declarations, `at(i, view)` for those of statement
// i's target, then those whose base is unknown (with the last statement). A view of a view follows its base.
void WalkViews(const Program& program, const std::function<void(int statement, const View& view)>& at);

// Puts Program::views into that order.
void OrderViews(Program& program);

}  // namespace hone::dsl
