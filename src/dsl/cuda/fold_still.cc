// What is the same for all of a row is computed once by each of its threads: with branches in it, as a softplus has,
// the compiler makes it anew wherever it stands.
#include <fmt/format.h>

#include "dsl/cuda/fold_writer.h"
#include "dsl/shape/still_parts.h"

namespace hone::dsl {
namespace {

constexpr int kStill = 1 << 20;  // from this number on lets are what stands still

}  // namespace

Expr FoldWriter::WithStill(const Expr& expr) {
  if (!rows_ || !keeps_axes() || split_ > 1) return expr;
  return WithStillParts(kernel_, expr, [&](const Expr& part) {
    std::size_t i = 0;
    while (i < still_.size() && !SameExpr(still_[i], part)) ++i;
    if (i == still_.size()) still_.push_back(part);
    return Value(LetValue(kStill + static_cast<int>(i)), ScalarType::kReal);
  });
}

void FoldWriter::WriteStill() {
  for (std::size_t i = 0; i < still_.size(); ++i) {
    DeviceExpr expr(out_, [&](const ExprNode& load) { return LoadText(load, ""); });
    const std::string text = expr.Text(still_[i]), name = out_.Fresh("still");
    out_.Line(fmt::format("const {} {} = {};", out_.Type(ScalarType::kReal), name, text));
    let_names_[kStill + static_cast<int>(i)] = name;
  }
}

}  // namespace hone::dsl
