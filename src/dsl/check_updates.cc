// Statements that are written into an input: what they may read of it.
#include <fmt/format.h>

#include <algorithm>

#include "dsl/checker.h"
#include "dsl/shape/updated_rows.h"

namespace hone::dsl {

bool Checker::MayUpdate(const Statement& statement, Kernel& kernel) {
  const std::string_view family = kernel.family->name;
  const std::vector<int> targets = TargetsOf(kernel);
  for (std::size_t t = 0; t < targets.size(); ++t) {
    if (targets[t] < 0) continue;  // of a sequence
    const KernelBuffer& target = program_.buffers[At(targets[t])];
    if (target.updates < 0) continue;
    const auto reads = [&](const Expr& value, auto&& is_fine) {
      bool fine = true;
      Visit(value, [&](const ExprNode& node) {
        if (node.kind == Expr::Kind::kLoad && kernel.operands[At(node.buffer)].buffer == target.updates)
          fine = fine && is_fine(node);
      });
      return fine;
    };
    const auto never = [](const ExprNode&) { return false; };
    const auto own = [&](const ExprNode& load) { return IsOfUpdatedRow(kernel, load, TargetStridesOf(kernel), 1); };
    bool fine = true;
    if (family == "nest") {
      fine = kernel.attributes.contains("sequence") ? reads(kernel.epilogue, never)
                                                    : UpdatedRowOf(kernel, target.updates) > 0;
    } else if (t > 0 && kernel.also[t - 1].of_row) {
      // Whoever has a row's elements reads what there is one of for it while that is written.
      fine = reads(kernel.epilogue, never);
      for (const Expr& input : kernel.inputs) fine = fine && reads(input, never);
      for (const KernelLet& let : kernel.lets) fine = fine && reads(let.body, never);
      for (const KernelAlso& also : kernel.also) {
        fine = fine && reads(also.value, [&](const ExprNode& load) {
                 return also.target == targets[t] && IsOfUpdatedRow(kernel, load, RowStridesOf(kernel), 1);
               });
      }
    } else {
      // A map may make several results of the element that one of them replaces; a norm and a softmax read an element
      // for the whole row before anything of that is written, and once more where they write it.
      const bool element = family == "map" || family == "norm" || family == "softmax";
      const auto is_fine = [&](const ExprNode& load) { return element && own(load); };
      for (const Expr& input : kernel.inputs) fine = fine && reads(input, is_fine);
      for (const KernelLet& let : kernel.lets) fine = fine && reads(let.body, is_fine);
      fine = fine && reads(kernel.epilogue, is_fine);
      for (const KernelAlso& also : kernel.also) fine = fine && reads(also.value, is_fine);
    }
    if (!fine) {
      return Fail(statement.at,
                  fmt::format("'{0}' is written into '{1}', of which a map, a nest, a norm or a softmax may read the "
                              "element that it writes, and a nest others of a row of up to {2}: make a value of it "
                              "first, and '{0} = map(...)' of that",
                              target.name, program_.buffers[At(target.updates)].name, kMostInUpdatedRow));
    }
    for (KernelOperand& operand : kernel.operands) {
      if (operand.buffer == target.updates) operand.buffer = targets[t];
    }
  }
  return true;
}

// Of what a norm makes one of for each row: along each dimension of its space.
std::vector<std::int64_t> Checker::RowStridesOf(const Kernel& kernel) {
  std::vector<std::int64_t> strides(kernel.space.size(), 0);
  std::int64_t step = 1;
  for (std::size_t d = kernel.space.size(); d-- > 0;) {
    if (std::ranges::find(kernel.axes, static_cast<int>(d)) != kernel.axes.end()) continue;
    strides[d] = step;
    step *= kernel.space[d].extent;
  }
  return strides;
}

}  // namespace hone::dsl
