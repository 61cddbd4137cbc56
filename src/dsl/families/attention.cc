// attention(q, k, v): softmax of the scores of queries and keys, or the scores as they are, times the values, without
// the scores in memory. Rows of queries and keys may be in two parts, attention(q, k, v, q2, k2), whose products are
// added up, and keys in pages, attention(q, k, v, table) and attention(q, k, v, table, q2, k2).
#include <fmt/format.h>

#include <algorithm>

#include "dsl/family.h"
#include "dsl/knobs.h"
#include "dsl/shape/attention_weights.h"
#include "dsl/shape/matmul_shape.h"
#include "dsl/shape/pages.h"
#include "dsl/shape/seen_keys.h"
#include "dsl/shape/window.h"

namespace hone::dsl::family_attention {
namespace {

// The space is [batches.., M, E, N, D], with [T, P, S] before M where a table of T pages says which of the P pages a
// batch's keys are in, S each: then N is T * S. Rows of q and k in two parts are D long together.
std::optional<std::string> ShapeRule(Kernel& kernel, const std::vector<Shape>& shapes,
                                     std::vector<std::vector<int>>& operand_dims) {
  const Shape &q = shapes[0], &k = shapes[1], &v = shapes[2];
  const bool pages = shapes.size() == 4 || shapes.size() == 6, parts = shapes.size() > 4;
  std::string all = fmt::format("attention of {}, {} and {}", hone::ToString(q), hone::ToString(k), hone::ToString(v));
  if (pages) all += ", by pages of " + hone::ToString(shapes[3]);
  // Of each operand's dimensions those that are no batch.
  const std::size_t of_keys = pages ? 3 : 2;
  std::vector<std::size_t> own = {2, of_keys, of_keys};
  if (pages) own.push_back(1);
  if (parts) own.insert(own.end(), {2, of_keys});
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].size() < own[i])
      return all + (pages ? ": wants q [.., M, D], k [.., P, S, D], v [.., P, S, E] and the pages' numbers [.., T]"
                          : ": wants q [.., M, D], k [.., N, D] and v [.., N, E]");
  }
  const auto last = [](const Shape& shape, std::size_t from_end) { return shape[shape.size() - from_end]; };
  if (last(q, 1) != last(k, 1)) {
    return fmt::format("{}: q's last extent ({}) must be k's ({})", all, last(q, 1), last(k, 1));
  }
  std::int64_t depth = last(q, 1);
  if (parts) {
    const Shape &q2 = shapes[shapes.size() - 2], &k2 = shapes.back();
    if (last(q2, 2) != last(q, 2) || last(k2, 2) != last(k, 2) || last(q2, 1) != last(k2, 1) || depth < 1 ||
        last(q2, 1) < 1 || (pages && last(k2, 3) != last(k, 3)))
      return fmt::format("{}: the second parts of rows, {} and {}, want as many rows, and elements as each other", all,
                         hone::ToString(q2), hone::ToString(k2));
    kernel.first_part = depth;
    depth += last(q2, 1);
  }
  if (last(k, 2) != last(v, 2)) {
    return fmt::format("{}: there must be as many rows in k ({}) as in v ({})", all, last(k, 2), last(v, 2));
  }
  if (pages && last(k, 3) != last(v, 3)) {
    return fmt::format("{}: there must be as many pages in k ({}) as in v ({})", all, last(k, 3), last(v, 3));
  }
  if (auto why = FillAttribute(kernel.attributes, "causal", 1, 0, 0)) return why;
  if (kernel.attributes["causal"][0] > 1)
    return fmt::format("'causal' is 0 or 1, not {}", kernel.attributes["causal"][0]);
  if (auto why = FillAttribute(kernel.attributes, "safe", 1, 0, 0)) return why;
  if (kernel.attributes["safe"][0] > 1) return fmt::format("'safe' is 0 or 1, not {}", kernel.attributes["safe"][0]);
  if (auto why = FillAttribute(kernel.attributes, "softmax", 1, 1, 0)) return why;
  if (kernel.attributes["softmax"][0] > 1)
    return fmt::format("'softmax' is 0 or 1, not {}", kernel.attributes["softmax"][0]);
  if (!WeighsBySoftmax(kernel) && kernel.attributes["safe"][0] != 0)
    return "'safe' is for a softmax: without one a query that sees nothing gets zeros anyway";
  std::size_t batches = 0;
  for (std::size_t i = 0; i < shapes.size(); ++i) batches = std::max(batches, shapes[i].size() - own[i]);
  if (auto why = FillAttribute(kernel.attributes, "heads", 1, 0, 0)) return why;
  if (kernel.attributes["heads"][0] > static_cast<std::int64_t>(batches)) {
    return fmt::format("{}: 'heads' {} are more than its batch dimensions; try {}", all, kernel.attributes["heads"][0],
                       batches);
  }
  operand_dims.assign(shapes.size(), {});
  for (std::size_t b = 0; b < batches; ++b) {
    std::int64_t extent = 1;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const Shape& shape = shapes[i];
      const std::size_t missing = batches + own[i] - shape.size();
      if (b < missing || shape[b - missing] == 1) continue;
      if (extent != 1 && extent != shape[b - missing]) return all + ": the batches do not broadcast";
      extent = shape[b - missing];
    }
    kernel.space.push_back(NewIndex(extent));
    for (auto& dims : operand_dims) dims.push_back(static_cast<int>(b));
  }
  const int page = static_cast<int>(batches), m = page + (pages ? 3 : 0), e = m + 1, n = m + 2, d = m + 3;
  std::int64_t keys = last(k, 2);
  if (pages) {
    for (const auto extent : {last(shapes[3], 1), last(k, 3), last(k, 2)}) kernel.space.push_back(NewIndex(extent));
    keys *= last(shapes[3], 1);
    operand_dims[3].push_back(page);
    for (const std::size_t i : {1, 2}) operand_dims[i].insert(operand_dims[i].end(), {page + 1, page + 2});
    kernel.axes = {page, page + 1, page + 2};
  } else {
    for (const std::size_t i : {1, 2}) operand_dims[i].push_back(n);
  }
  for (const auto extent : {last(q, 2), last(v, 1), keys, depth}) kernel.space.push_back(NewIndex(extent));
  for (const auto& index : kernel.space) {
    if (index.extent < 1) return all + ": every extent must be 1 at least";
  }
  operand_dims[0].insert(operand_dims[0].end(), {m, d});
  operand_dims[1].push_back(d);
  operand_dims[2].push_back(e);
  if (parts) {
    operand_dims[shapes.size() - 2] = operand_dims[0];
    operand_dims[shapes.size() - 1] = operand_dims[1];
  }
  kernel.axes.insert(kernel.axes.end(), {n, d});
  return std::nullopt;
}

// Batches, query, heads, element.
std::vector<int> ResultOrder(const Kernel& kernel) {
  const int batches = static_cast<int>(AttentionBatchDims(kernel)), m = static_cast<int>(kernel.space.size()) - 4;
  const int heads = static_cast<int>(kernel.attributes.at("heads")[0]);
  std::vector<int> dims;
  for (int d = 0; d < batches - heads; ++d) dims.push_back(d);
  dims.push_back(m);
  for (int d = batches - heads; d < batches; ++d) dims.push_back(d);
  dims.push_back(m + 1);
  return dims;
}

// A score's place: batches, query, key.
std::vector<int> ScoreDims(const Kernel& kernel) {
  const int rank = static_cast<int>(kernel.space.size());
  std::vector<int> dims;
  for (int d = 0; d < static_cast<int>(AttentionBatchDims(kernel)); ++d) dims.push_back(d);
  dims.insert(dims.end(), {rank - 4, rank - 2});
  return dims;
}

std::optional<std::string> Check(const KernelProgram& program, const Kernel& kernel) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (kernel.inputs[i]->type != ScalarType::kReal)
      return "attention multiplies reals: write real(x) around whole numbers";
  }
  if (ReadsPages(kernel) && kernel.inputs[3]->type != ScalarType::kInt) return "the pages' numbers are whole numbers";
  if (auto why = CheckScore(kernel, "values")) return why;
  return CheckTargetOfProducts(program, kernel);
}

double Flops(const Kernel& kernel) {
  const std::size_t rank = kernel.space.size();
  const auto extent = [&](std::size_t from_end) { return static_cast<double>(kernel.space[rank - from_end].extent); };
  double batches = 1;
  for (std::size_t d = 0; d < AttentionBatchDims(kernel); ++d) batches *= static_cast<double>(kernel.space[d].extent);
  double score = WeighsBySoftmax(kernel) ? 24 : ReadsRowSum(kernel) ? 1 : 0;  // exp, maximum and sum
  if (!kernel.lets.empty()) score += OperationsPerElement(kernel.lets[0].body);
  return batches * (SeenPairs(kernel) * (2 * (extent(1) + extent(3)) + score) +
                    extent(4) * extent(3) * (1 + OperationsPerElement(kernel.epilogue)));
}

std::string_view RowSum(const Kernel& kernel) { return WeighsBySoftmax(kernel) ? "lse" : "total"; }

constexpr std::string_view kScorePlaces[] = {"query", "key"};

constexpr Attribute kAttributes[] = {
    {"causal", "1: query i sees the keys up to i; 0 if absent"},
    {"heads", "the last so many batch dimensions lie side by side in a query's row: [.., M, heads.., E]; 0 if absent"},
    {"safe", "1: a query whose scores are all -inf gets zeros, not NaN; 0 if absent"},
    {"softmax", "0: scores are weights themselves, those of hidden keys 0; 1 if absent"},
};

}  // namespace

HONE_ROW(Family){
    .name = "attention",
    .doc =
        "softmax(q k^T) v, or without the softmax, for q [.., M, D], k [.., N, D] and v [.., N, E]; batches broadcast.",
    .grammar =
        "attention(EXPR, EXPR, EXPR [, EXPR] [, EXPR, EXPR]) by {causal, heads, safe, softmax} let score = EXPR -> "
        "EXPR",
    .variants = {},
    .operands = 3,
    .further_operands = 3,
    .takes_lets = true,
    .cpu_choice = "path",
    .cuda_choice = "path",
    .attributes = kAttributes,
    .shape = ShapeRule,
    .result_dims = ResultOrder,
    .let_dims = ScoreDims,
    .let_places = kScorePlaces,
    .row_sum = RowSum,
    .check = Check,
    .type = [](const Kernel&) { return ScalarType::kReal; },
    .multiplies = true,
    .flops = Flops,
};

}  // namespace hone::dsl::family_attention
