// Nests that run in lockstep.
#include <fmt/format.h>

#include "base/check.h"
#include "dsl/checker.h"

namespace hone::dsl {

std::int64_t Checker::SequenceOf(const Statement& statement) {
  const auto it = statement.attributes.find("sequence");
  return statement.family != "nest" || it == statement.attributes.end() || it->second.size() != 1 ? -1 : it->second[0];
}

std::size_t Checker::GroupEnd(std::size_t first) const {
  const std::int64_t sequence = SequenceOf(source_.statements[first]);
  std::size_t end = first + 1;
  while (sequence >= 0 && end < source_.statements.size() && SequenceOf(source_.statements[end]) == sequence) ++end;
  return end;
}

bool Checker::AddGroup(std::size_t first, std::size_t end) {
  struct Member {
    int buffer;
    bool output;
  };
  std::vector<Member> members;
  for (std::size_t i = first; i < end; ++i) {
    const Statement& statement = source_.statements[i];
    if (!MayWrite(statement.target, statement.at)) return false;
    const auto target = buffers_.find(statement.target);
    const bool output = target != buffers_.end();
    if (statement.has_target_shape || statement.target_type)
      return Fail(statement.at, "a nest of a sequence keeps its shape and type: remove the annotation");
    Shape shape;
    for (const auto& loop : statement.loops) shape.push_back(loop.extent);
    const int buffer = output ? target->second : NewIntermediate(statement.target, DType::kBool, shape);
    members.push_back({buffer, output});
    written_.insert(statement.target);
    AddName(statement.target, buffer, shape);
  }
  for (const auto& earlier : program_.kernels) {
    const auto it = earlier.attributes.find("sequence");
    if (it != earlier.attributes.end() && it->second[0] == SequenceOf(source_.statements[first])) {
      return Fail(source_.statements[first].at,
                  fmt::format("sequence {} has ended: its statements stand one after another", it->second[0]));
    }
  }
  const std::size_t before = program_.kernels.size();
  bool settled = false;
  for (int round = 0; !settled; ++round) {
    HONE_CHECK(round < 16, "the types of a sequence do not settle");
    settled = true;
    program_.kernels.resize(before);
    for (std::size_t i = first; i < end; ++i) {
      const Member& member = members[i - first];
      Kernel kernel;
      if (!MakeKernel(source_.statements[i], member.buffer, kernel)) return false;
      if (!member.output) {
        DType& dtype = program_.buffers[At(member.buffer)].dtype;
        kernel.target = -1;
        const DType now = TypeOfValue(kernel, kernel.epilogue);
        settled &= now == dtype;
        dtype = now;
        kernel.target = member.buffer;
      }
      program_.kernels.push_back(std::move(kernel));
    }
  }
  for (std::size_t i = before; i < program_.kernels.size(); ++i) {
    if (!InStep(before, i)) return false;
    const int updated = program_.buffers[At(program_.kernels[i].target)].updates;
    if (updated < 0) continue;
    overwritten_[updated] = program_.kernels[i].target;
    for (std::size_t other = before; other < program_.kernels.size(); ++other) {
      const auto& operands = program_.kernels[other].operands;
      if (std::ranges::any_of(operands, [&](const KernelOperand& one) { return one.buffer == updated; }))
        return Fail(program_.kernels[i].at,
                    fmt::format("'{}' is written into '{}', which its sequence reads: make a "
                                "value of it first, and '{} = map(...)' of that",
                                source_.statements[first + i - before].target, program_.buffers[At(updated)].name,
                                source_.statements[first + i - before].target));
    }
  }
  return true;
}

bool Checker::InStep(std::size_t first, std::size_t which) {
  const Kernel& kernel = program_.kernels[which];
  const auto attribute = [](const Kernel& k, const std::string& name) { return k.attributes.at(name)[0]; };
  const Kernel& leader = program_.kernels[first];
  const IndexVar& step = kernel.space[At(static_cast<int>(attribute(kernel, "along")))];
  const IndexVar& leading = leader.space[At(static_cast<int>(attribute(leader, "along")))];
  const bool reversed = attribute(kernel, "reversed") != 0;
  if (step.extent != leading.extent) {
    return Fail(kernel.at, fmt::format("this nest has {} steps, the first of its sequence {}: they run in lockstep",
                                       step.extent, leading.extent));
  }
  if (reversed != (attribute(leader, "reversed") != 0))
    return Fail(kernel.at, "all nests of a sequence run in one direction: make 'reversed' agree");
  bool in_step = true;
  Visit(kernel.epilogue, [&](const ExprNode& node) {
    if (node.kind != Expr::Kind::kLoad || !in_step) return;
    const KernelOperand& operand = kernel.operands[At(node.buffer)];
    for (std::size_t m = first; m < program_.kernels.size(); ++m) {
      const Kernel& member = program_.kernels[m];
      if (member.target != operand.buffer) continue;
      const Expr& at = node.operands[At(static_cast<int>(attribute(member, "along")))];
      const Expr earlier = Apply(BinaryOp::kSub, Expr(step), Expr(1)), later = Expr(step) + Expr(1);
      const Expr negative = Expr(step) + Expr(-1), minus = Apply(BinaryOp::kSub, Expr(step), Expr(-1));
      const bool now = SameExpr(at, Expr(step));
      const bool previous =
          reversed ? SameExpr(at, later) || SameExpr(at, minus) : SameExpr(at, earlier) || SameExpr(at, negative);
      if (previous || (now && m < which)) continue;
      in_step = false;
      const std::string index = kernel.index_names.at(step.id);
      Fail(kernel.at, fmt::format("'{}' is read at a step at which it is not made yet: dimension {} is indexed by "
                                  "{} {} 1{}",
                                  program_.buffers[At(operand.buffer)].name, attribute(member, "along"), index,
                                  reversed ? "+" : "-", m < which ? fmt::format(", or by {}", index) : std::string()));
    }
  });
  return in_step;
}

}  // namespace hone::dsl
