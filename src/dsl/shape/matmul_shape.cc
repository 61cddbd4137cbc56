#include "dsl/shape/matmul_shape.h"

#include <fmt/format.h>

namespace hone::dsl {

MatmulShape::MatmulShape(const Kernel& kernel) {
  const std::size_t rank = kernel.space.size();
  std::vector<LoopDim> dims;
  std::int64_t step = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    LoopDim dim{
        .extent = kernel.space[d].extent, .reduced = d + 1 == rank, .strides = {}, .target_stride = 0, .var = {}};
    for (const auto& operand : kernel.operands) dim.strides.push_back(operand.strides[d]);
    dims.push_back(std::move(dim));
  }
  for (std::size_t d = rank - 1; d-- > 0; step *= dims[d].extent) dims[d].target_stride = step;
  k = dims[rank - 1];
  n = dims[rank - 2];
  m = dims[rank - 3];
  dims.resize(rank - 3);
  while (!dims.empty()) {
    const LoopDim& last = dims.back();
    bool merges = true;
    for (std::size_t i = 0; i < m.strides.size(); ++i)
      merges &= m.extent == 1 || last.strides[i] == m.strides[i] * m.extent;
    if (!merges && last.extent != 1) break;
    if (last.extent != 1) {
      const std::int64_t extent = m.extent * last.extent;
      if (m.extent == 1) m = last;
      m.extent = extent;
    }
    dims.pop_back();
  }
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].extent == 1) continue;
    dims[d].var = fmt::format("b{}", d);
    batch.push_back(dims[d]);
  }
  for (std::size_t o = 0; o < kernel.operands.size(); ++o) {
    std::vector<std::int64_t> all;
    for (const auto& dim : batch) all.push_back(dim.strides[o]);
    for (const auto* dim : {&m, &n, &k}) all.push_back(dim->strides[o]);
    strides.push_back(std::move(all));
  }
  for (const auto& dim : batch) target.push_back(dim.target_stride);
  for (const auto* dim : {&m, &n, &k}) target.push_back(dim->target_stride);
}

std::vector<std::string> MatmulShape::Index(const std::string& i, const std::string& j, const std::string& p) const {
  std::vector<std::string> index;
  for (const auto& dim : batch) index.push_back(dim.var);
  index.insert(index.end(), {i, j, p});
  return index;
}

int OperandOf(const Expr& expr) { return expr->kind == Expr::Kind::kLoad ? expr->buffer : -1; }

bool Contiguous(const Expr& expr, const std::vector<std::int64_t>& strides_of_dim) {
  bool all = true;
  Visit(expr, [&](const ExprNode& node) {
    if (node.kind != Expr::Kind::kLoad) return;
    const std::int64_t stride = strides_of_dim[static_cast<std::size_t>(node.buffer)];
    all &= stride == 1 || stride == 0;
  });
  return all;
}

}  // namespace hone::dsl
