#include "dsl/shape/matmul_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "dsl/family.h"
#include "dsl/knobs.h"

namespace hone::dsl {

namespace {

// Operands of what rows are multiplied with, of one product or of all.
std::vector<std::size_t> RightOperands(const Kernel& kernel) {
  std::vector<std::size_t> operands;
  const std::size_t products = kernel.family->let_function == "product" ? ProductsOf(kernel) : 1;
  for (std::size_t i = 1; i < 1 + products; ++i) {
    Visit(InputOf(kernel, i), [&](const ExprNode& node) {
      if (node.kind == Expr::Kind::kLoad) operands.push_back(static_cast<std::size_t>(node.buffer));
    });
  }
  return operands;
}

}  // namespace

MatmulShape::MatmulShape(const Kernel& kernel) {
  const std::size_t rank = kernel.space.size();
  const std::vector<std::int64_t> target_strides = TargetStridesOf(kernel);
  std::vector<LoopDim> dims;
  for (std::size_t d = 0; d < rank; ++d) {
    const bool reduced = std::find(kernel.axes.begin(), kernel.axes.end(), static_cast<int>(d)) != kernel.axes.end();
    LoopDim dim{.extent = kernel.space[d].extent,
                .reduced = reduced || d + 1 == rank,
                .strides = {},
                .target_stride = target_strides[d],
                .var = {}};
    for (const auto& operand : kernel.operands) dim.strides.push_back(operand.strides[d]);
    dims.push_back(std::move(dim));
  }
  chooses = HasChoice(kernel);
  const std::vector<std::size_t> right = RightOperands(kernel);
  const bool column_groups = ColumnsOfGroup(kernel) > 0;
  if (column_groups) dims[static_cast<std::size_t>(kernel.axes[0])].target_stride = 1;
  k = dims[rank - 1];
  n = dims[rank - 2];
  head = row = n.extent;
  m = dims[rank - 3];
  dims.resize(HasBlocks(kernel) ? 0 : rank - 3);
  if (column_groups) dims.erase(dims.begin());
  while (!dims.empty()) {
    const LoopDim& last = dims.back();
    bool merges = !last.reduced && !m.reduced && (m.extent == 1 || last.target_stride == m.target_stride * m.extent);
    for (std::size_t i = 0; i < m.strides.size(); ++i)
      merges &= m.extent == 1 || last.strides[i] == m.strides[i] * m.extent;
    for (const std::size_t o : right) merges &= last.strides[o] == 0;
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

MatmulShape MatmulShape::WithHeads(const Kernel& kernel) {
  MatmulShape shape(kernel);
  if (kernel.inputs.size() != 2 || kernel.axes.size() != 1) return shape;
  const auto joins = [&](const LoopDim& batch) {
    bool all = true;
    for (std::size_t i = 0; i < 1 + ProductsOf(kernel); ++i) {
      Visit(InputOf(kernel, i), [&](const ExprNode& node) {
        if (node.kind != Expr::Kind::kLoad) return;
        const auto o = static_cast<std::size_t>(node.buffer);
        all &= batch.strides[o] == (i == 0 ? 0 : shape.n.strides[o] * shape.n.extent);
      });
    }
    return all;
  };
  while (!shape.batch.empty() && joins(shape.batch.back())) {
    const LoopDim& batch = shape.batch.back();
    if (shape.row == shape.n.extent && batch.target_stride == shape.row) shape.row *= batch.extent;
    shape.n.extent *= batch.extent;
    shape.heads.insert(shape.heads.begin(), batch);
    shape.batch.pop_back();
  }
  return shape;
}

MatmulShape MatmulShape::OfOneGroup(const Kernel& kernel) {
  MatmulShape shape(kernel);
  const std::int64_t groups = HasGroups(kernel) ? kernel.space[0].extent : 1;
  shape.m.extent = (shape.m.extent + groups - 1) / groups;
  return shape;
}

ScaleBlock BlockOf(const Kernel& kernel) {
  const std::vector<std::int64_t>& block = kernel.attributes.at("block");
  return {block[0], block[1], block[2]};
}

std::int64_t ColumnsOfGroup(const Kernel& kernel) {
  const auto group = kernel.attributes.find("group");
  return group == kernel.attributes.end() ? 0 : group->second[0];
}

double AddedProducts(const Kernel& kernel) {
  if (HasBlocks(kernel)) {
    double products = 1;
    for (const std::size_t d : {3, 4, 5}) products *= static_cast<double>(kernel.space[d].extent);
    return products;
  }
  if (kernel.inputs.size() != 3) return SpaceCount(kernel);
  const int groups = HasSegments(kernel) ? 0 : kernel.axes[0];
  return SpaceCount(kernel) / static_cast<double>(kernel.space[static_cast<std::size_t>(groups)].extent);
}

std::vector<std::string> MatmulShape::Index(const std::string& i, const std::string& j, const std::string& p) const {
  std::vector<std::string> index;
  for (const auto& dim : batch) index.push_back(dim.var);
  for (std::string& place : Heads(j)) index.push_back(std::move(place));
  index.insert(index.end(), {i, Column(j), p});
  return index;
}

std::string Quotient(const std::string& j, std::int64_t of) {
  const auto divisor = static_cast<std::uint64_t>(of);
  return std::has_single_bit(divisor) ? fmt::format("(({}) >> {})", j, std::countr_zero(divisor))
                                      : fmt::format("(({}) / {})", j, of);
}
std::string Remainder(const std::string& j, std::int64_t of) {
  return std::has_single_bit(static_cast<std::uint64_t>(of)) ? fmt::format("(({}) & {})", j, of - 1)
                                                             : fmt::format("(({}) % {})", j, of);
}

std::vector<std::string> MatmulShape::Heads(const std::string& j) const {
  std::vector<std::string> places(heads.size());
  std::int64_t columns = head;
  for (std::size_t d = heads.size(); d-- > 0; columns *= heads[d].extent) {
    places[d] = Quotient(j, columns);
    if (d > 0) places[d] = Remainder(places[d], heads[d].extent);
  }
  return places;
}

std::string MatmulShape::Column(const std::string& j) const { return heads.empty() ? j : Remainder(j, head); }

std::optional<std::string> SpaceOfProducts(std::string_view family, Kernel& kernel, const std::vector<Shape>& shapes,
                                           std::vector<std::vector<int>>& operand_dims) {
  const Shape& a = shapes[0];
  const Shape& b = shapes[1];
  if (a.size() < 2 || b.size() < 2) {
    return fmt::format("{} wants matrices, not {} and {}: take views with two dimensions at least", family,
                       hone::ToString(a), hone::ToString(b));
  }
  const std::int64_t depth = a[a.size() - 1];
  if (depth != b[b.size() - 2]) {
    return fmt::format(
        "{} of {} and {}: A's columns ({}) must be as many as B's rows ({}); a transpose is a view with swapped "
        "strides",
        family, hone::ToString(a), hone::ToString(b), depth, b[b.size() - 2]);
  }
  const std::size_t batches = std::max(a.size(), b.size()) - 2;
  for (std::size_t d = 0; d < batches; ++d) {
    const auto extent = [&](const Shape& shape) {
      const std::size_t missing = batches + 2 - shape.size();
      return d < missing ? 1 : shape[d - missing];
    };
    if (extent(a) != extent(b) && extent(a) != 1 && extent(b) != 1) {
      return fmt::format("{} of {} and {}: the batches do not broadcast", family, hone::ToString(a), hone::ToString(b));
    }
    kernel.space.push_back(NewIndex(std::max(extent(a), extent(b))));
  }
  kernel.space.push_back(NewIndex(a[a.size() - 2]));
  kernel.space.push_back(NewIndex(b[b.size() - 1]));
  kernel.space.push_back(NewIndex(depth));
  const int rank = static_cast<int>(kernel.space.size());
  kernel.axes = {rank - 1};
  operand_dims.assign(2, {});
  for (int d = 0; d < rank - 3; ++d) {
    operand_dims[0].push_back(d);
    operand_dims[1].push_back(d);
  }
  operand_dims[0].insert(operand_dims[0].end(), {rank - 3, rank - 1});
  operand_dims[1].insert(operand_dims[1].end(), {rank - 1, rank - 2});
  return std::nullopt;
}

std::size_t ProductsOf(const Kernel& kernel) {
  return kernel.family->let_function == "product" ? 1 + kernel.lets.size() : 1;
}

std::int64_t ColumnsOfRow(const Kernel& kernel) {
  const auto heads = kernel.attributes.find("heads");
  const std::size_t n = kernel.space.size() - 2;
  std::int64_t columns = kernel.space[n].extent;
  for (std::int64_t i = heads == kernel.attributes.end() ? 0 : heads->second[0]; i > 0; --i)
    columns *= kernel.space[n - 1 - static_cast<std::size_t>(i)].extent;
  return columns;
}

int RotationOf(const Kernel& kernel) {
  int distance = 0;
  Visit(kernel.epilogue, [&](const ExprNode& node) {
    if (node.kind == Expr::Kind::kValue && node.value.kind == NamedValue::Kind::kIt)
      distance = std::max(distance, node.value.number);
  });
  return distance;
}

std::optional<std::string> CheckRotation(const Kernel& kernel) {
  const int distance = RotationOf(kernel);
  if (distance == 0) return std::nullopt;
  if (kernel.inputs[0]->type == ScalarType::kInt) return "pairs of columns of whole numbers are not rotated";
  if (!kernel.lets.empty()) return "where pairs of columns are rotated there is one product: make the others before";
  bool others = false;
  Visit(kernel.epilogue, [&](const ExprNode& node) {
    others |= node.kind == Expr::Kind::kValue && node.value != kIt && node.value != RotatedValue(distance);
  });
  if (others) return fmt::format("pairs are {} columns apart or fewer, not both: rotate by one distance", distance);
  return std::nullopt;
}

std::vector<int> DimsOfRight(const Kernel& kernel) {
  std::vector<int> dims = AllDims(kernel);
  dims.erase(dims.end() - 3);
  std::swap(dims[dims.size() - 2], dims.back());
  return dims;
}

std::optional<std::string> CheckOperandsOfProducts(const Kernel& kernel) {
  for (std::size_t i = 0; i < 1 + ProductsOf(kernel); ++i) {
    const Expr& input = InputOf(kernel, i);
    if (input->type != ScalarType::kReal)
      return fmt::format("{} multiplies reals: write real(x) around whole numbers", kernel.family->name);
    bool sees = false;
    Visit(input, [&](const ExprNode& node) { sees |= node.kind == Expr::Kind::kValue; });
    if (sees) return "a let is known behind all products only: what multiplies cannot read it";
  }
  return std::nullopt;
}

std::optional<std::string> CheckTargetOfProducts(const KernelProgram& program, const Kernel& kernel) {
  const DType target = program.buffers[static_cast<std::size_t>(kernel.target)].dtype,
              own = ComputeType(program, kernel);
  if (target == own || IsSmallFloat(target)) return std::nullopt;
  return fmt::format("{} computes in {} here and cannot write {}: convert in a map of its own", kernel.family->name,
                     Name(own), Name(target));
}

std::optional<std::string> CheckScore(const Kernel& kernel, std::string_view behind) {
  if (kernel.lets.size() > 1)
    return fmt::format("{} has one let, the score, and '{}' is one more: write it as one expression",
                       kernel.family->name, kernel.lets[1].name);
  bool sees = false;
  const auto look = [&](const ExprNode& node) {
    sees |= node.kind == Expr::Kind::kValue && node.value.kind == NamedValue::Kind::kLet;
  };
  Visit(kernel.epilogue, look);
  for (const auto& one : kernel.also) Visit(one.value, look);
  if (!sees) return std::nullopt;
  return fmt::format("'{}' is a score: behind the {} there is none any more", kernel.lets[0].name, behind);
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
