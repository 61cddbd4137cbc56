// attention(q, k, v): softmax of the scores of queries and keys, times the values, without the scores in memory;
// cpu/attend.h and cuda/attention.h say how.
#include "dsl/cuda/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "dsl/cpu/attend.h"
#include "dsl/cpu/window.h"
#include "dsl/family.h"
#include "dsl/knobs.h"

namespace hone::dsl {
namespace {

std::optional<std::string> ShapeRule(Kernel& kernel, const std::vector<Shape>& shapes,
                                     std::vector<std::vector<int>>& operand_dims) {
  const Shape &q = shapes[0], &k = shapes[1], &v = shapes[2];
  const std::string all =
      fmt::format("attention of {}, {} and {}", hone::ToString(q), hone::ToString(k), hone::ToString(v));
  if (q.size() < 2 || k.size() < 2 || v.size() < 2) return all + ": wants q [.., M, D], k [.., N, D] and v [.., N, E]";
  const auto last = [](const Shape& shape, std::size_t from_end) { return shape[shape.size() - from_end]; };
  if (last(q, 1) != last(k, 1)) {
    return fmt::format("{}: q's last extent ({}) must be k's ({})", all, last(q, 1), last(k, 1));
  }
  if (last(k, 2) != last(v, 2)) {
    return fmt::format("{}: there must be as many rows in k ({}) as in v ({})", all, last(k, 2), last(v, 2));
  }
  if (auto why = FillAttribute(kernel.attributes, "causal", 1, 0, 0)) return why;
  if (kernel.attributes["causal"][0] > 1)
    return fmt::format("'causal' is 0 or 1, not {}", kernel.attributes["causal"][0]);
  if (auto why = FillAttribute(kernel.attributes, "safe", 1, 0, 0)) return why;
  if (kernel.attributes["safe"][0] > 1) return fmt::format("'safe' is 0 or 1, not {}", kernel.attributes["safe"][0]);
  const std::size_t batches = std::max({q.size(), k.size(), v.size()}) - 2;
  operand_dims.assign(3, {});
  for (std::size_t b = 0; b < batches; ++b) {
    std::int64_t extent = 1;
    for (const auto& shape : shapes) {
      const std::size_t missing = batches + 2 - shape.size();
      if (b < missing || shape[b - missing] == 1) continue;
      if (extent != 1 && extent != shape[b - missing]) return all + ": the batches do not broadcast";
      extent = shape[b - missing];
    }
    kernel.space.push_back(NewIndex(extent));
    for (auto& dims : operand_dims) dims.push_back(static_cast<int>(b));
  }
  const int m = static_cast<int>(batches), e = m + 1, n = m + 2, d = m + 3;
  for (const auto extent : {last(q, 2), last(v, 1), last(k, 2), last(q, 1)}) kernel.space.push_back(NewIndex(extent));
  for (const auto& index : kernel.space) {
    if (index.extent < 1) return all + ": every extent must be 1 at least";
  }
  operand_dims[0].insert(operand_dims[0].end(), {m, d});
  operand_dims[1].insert(operand_dims[1].end(), {n, d});
  operand_dims[2].insert(operand_dims[2].end(), {n, e});
  kernel.axes = {n, d};
  return std::nullopt;
}

// A score's place: batches, query, key.
std::vector<int> ScoreDims(const Kernel& kernel) {
  const int rank = static_cast<int>(kernel.space.size());
  std::vector<int> dims;
  for (int d = 0; d < rank - 3; ++d) dims.push_back(d);
  dims.push_back(rank - 2);
  return dims;
}

std::optional<std::string> Check(const KernelProgram& program, const Kernel& kernel) {
  for (const auto& input : kernel.inputs) {
    if (input->type != ScalarType::kReal) return "attention multiplies reals: write real(x) around whole numbers";
  }
  if (kernel.lets.size() > 1)
    return fmt::format("attention has one let, the score, and '{}' is one more: write it as one expression",
                       kernel.lets[1].name);
  bool sees = false;
  Visit(kernel.epilogue,
        [&](const ExprNode& node) { sees |= node.kind == Expr::Kind::kLoad && node.buffer <= kLetOperand; });
  if (sees) return fmt::format("'{}' is a score: behind the values there is none any more", kernel.lets[0].name);
  const DType target = program.buffers[static_cast<std::size_t>(kernel.target)].dtype;
  if (target != ComputeType(program, kernel) && target != DType::kF16 && target != DType::kBF16) {
    return fmt::format("attention computes in {} here and cannot write {}: convert in a map of its own",
                       Name(ComputeType(program, kernel)), Name(target));
  }
  return std::nullopt;
}

double Flops(const Kernel& kernel) {
  const std::size_t rank = kernel.space.size();
  const auto extent = [&](std::size_t from_end) { return static_cast<double>(kernel.space[rank - from_end].extent); };
  double batches = 1;
  for (std::size_t d = 0; d + 4 < rank; ++d) batches *= static_cast<double>(kernel.space[d].extent);
  double score = 24;  // exp, maximum and sum
  if (!kernel.lets.empty()) score += OperationsPerElement(kernel.lets[0].body);
  const double pairs = kernel.attributes.at("causal")[0] != 0 ? extent(4) * extent(2) / 2 : extent(4) * extent(2);
  return batches * (pairs * (2 * (extent(1) + extent(3)) + score) +
                    extent(4) * extent(3) * (1 + OperationsPerElement(kernel.epilogue)));
}

// --- Knobs.

constexpr std::int64_t kMostBlock = 1 << 18;  // elements of a thread's blocks, which lie on its stack

std::vector<Setting> AttentionThreads(const Kernel& kernel) { return ThreadsFor(kernel, Flops(kernel)); }

std::int64_t BlockCount(const Kernel& kernel, std::int64_t lanes, std::int64_t keys) {
  const std::size_t rank = kernel.space.size();
  std::int64_t widths = 0;
  for (const std::size_t from_end : {1, 3}) widths += std::min(kernel.space[rank - from_end].extent, kMostBlock);
  // Queries, sums and scores; and copies of keys and values that are expressions.
  return widths * lanes + (widths + lanes) * std::min(keys, kernel.space[rank - 2].extent);
}

std::vector<Setting> PathValues(const Kernel& kernel) {
  const bool few = kernel.space[kernel.space.size() - 4].extent <= 4;
  return few ? std::vector<Setting>{Word("rows"), Word("lanes")} : std::vector<Setting>{Word("lanes")};
}
std::optional<std::string> CheckPath(const Kernel&, const Setting& value) {
  return CheckWord(value, {"lanes", "rows"});
}

std::vector<Setting> MicroValues(const Kernel& kernel) {
  const std::int64_t m = kernel.space[kernel.space.size() - 4].extent;
  // Rows of K or V x queries in registers: as for matmul, and few queries in few lanes.
  std::vector<std::array<std::int64_t, 2>> blocks;
  if (kernel.device->vector_bytes >= 64) {
    blocks = {{6, 64}, {8, 48}, {12, 32}, {14, 16}, {4, 96}};
  } else {
    blocks = {{4, 24}, {6, 16}, {8, 8}};
  }
  std::erase_if(blocks, [&](const auto& block) { return BlockCount(kernel, block[1], 1) > kMostBlock; });
  if (blocks.empty()) blocks = {{8, 8}};
  // Lanes behind the last query are wasted; narrow blocks load more for each product.
  const auto cost = [&](const std::array<std::int64_t, 2>& block) {
    const double lanes = static_cast<double>((m + block[1] - 1) / block[1] * block[1]);
    return lanes * (1 + 0.5 / static_cast<double>(block[0]) + 6.0 / static_cast<double>(block[1]));
  };
  std::stable_sort(blocks.begin(), blocks.end(), [&](const auto& a, const auto& b) { return cost(a) < cost(b); });
  std::vector<Setting> values;
  for (const auto& block : blocks) values.push_back(Tuple({block[0], block[1]}));
  return values;
}
std::optional<std::string> CheckMicro(const Kernel& kernel, const Setting& value) {
  const auto* tuple = std::get_if<std::vector<std::int64_t>>(&value.value);
  if (!tuple || tuple->size() != 2) return "it is rows of K or V x queries; try 6x64";
  if ((*tuple)[0] < 1 || (*tuple)[0] > 32) return "the first goes from 1 to 32; try 8";
  if ((*tuple)[1] < 8 || (*tuple)[1] > 128 || (*tuple)[1] % 8 != 0) {
    return fmt::format("the second must be a multiple of 8 up to 128; try {}",
                       std::clamp<std::int64_t>(((*tuple)[1] + 7) / 8 * 8, 8, 128));
  }
  if ((*tuple)[1] > 8 && BlockCount(kernel, (*tuple)[1], 1) > kMostBlock)
    return fmt::format("queries of these widths are a block on the stack, {} elements at most; try fewer", kMostBlock);
  return std::nullopt;
}

std::vector<Setting> KeysValues(const Kernel& kernel) {
  const auto micro = TupleSetting(kernel, "micro");
  const std::int64_t lanes = micro.size() == 2 ? micro[1] : 64;
  std::vector<Setting> values;
  for (const std::int64_t keys : {128, 64, 256, 512, 16, 1}) {
    if (BlockCount(kernel, lanes, keys) <= kMostBlock || keys == 1) values.push_back(Whole(keys));
    if (keys == 16 && !values.empty()) break;
  }
  return values;
}
std::optional<std::string> CheckKeys(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckRange(value, 1, 1 << 16)) return why;
  const auto micro = TupleSetting(kernel, "micro");
  const std::int64_t keys = std::get<std::int64_t>(value.value);
  if (micro.size() == 2 && keys > 1 && BlockCount(kernel, micro[1], keys) > kMostBlock)
    return fmt::format("scores of so many keys are a block on the stack, {} elements at most; try {}", kMostBlock,
                       std::max<std::int64_t>(1, keys / 2));
  return std::nullopt;
}

// In this order: a default may depend on those before it.
constexpr Knob kKnobs[] = {
    {"threads", "how many threads share the work, 0 = all that the caller allows", AttentionThreads, CheckThreads},
    kVectorKnob,
    {"path", "lanes: a vector along queries; rows: one query at a time, for few of them", PathValues, CheckPath},
    {"micro", "rows of K or V x queries in registers; so many queries are a thread's block", MicroValues, CheckMicro},
    {"keys", "keys of a block, whose scores stay in cache", KeysValues, CheckKeys},
};

constexpr Attribute kAttributes[] = {
    {"causal", "1: query i sees the keys up to i; 0 if absent"},
    {"safe", "1: a query whose scores are all -inf gets zeros, not NaN; 0 if absent"},
};

}  // namespace

HONE_FAMILY(attention){
    .name = "attention",
    .doc = "softmax(q k^T) v for q [.., M, D], k [.., N, D] and v [.., N, E]; batches broadcast.",
    .grammar = "attention(EXPR, EXPR, EXPR) by {causal, safe} let score = EXPR -> EXPR",
    .variants = {},
    .operands = 3,
    .takes_lets = true,
    .knobs = kKnobs,
    .attributes = kAttributes,
    .shape = ShapeRule,
    .let_dims = ScoreDims,
    .check = Check,
    .type = [](const Kernel&) { return ScalarType::kReal; },
    .flops = Flops,
    .emit_cpu = EmitAttention,
    .emit_cuda = EmitAttentionCuda,
    .cuda_knobs = AttentionKnobsCuda,
};

}  // namespace hone::dsl
