// Rows that outgrow a block, kept by a team of blocks wherever on the device these are: each thread has a part of its
// share in registers and the rest in shared memory, so that a multiprocessor holds several blocks, and some load while
// others wait or store. The blocks of a row meet in memory, without atomics and fences: a value is written 32 bits at a
// time, each beside a mark that it is there, and whoever wants it looks until all marks are. A block's row comes from
// the order in which blocks begin, so that those that a block waits for run or are the next to run.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "dsl/cuda/fold_writer.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kRegisters = 64 << 10, kSharedBytes = 228 << 10, kThreads = 2048;  // of a multiprocessor
constexpr std::int64_t kMostRegisters = 255;                                              // of a thread
constexpr std::int64_t kOwnRegisters = 30;         // of them, what does not hold elements of the row
constexpr std::int64_t kMostBlocks = 8;            // of a multiprocessor
constexpr std::int64_t kOwnSharedBytes = 3 << 10;  // of a block: what the system takes, and what is folded
constexpr std::int64_t kCounterWords = 16;         // 64 bits each, in front of what is told: the counter of the blocks

std::int64_t TypeBytes(const std::string& type) {
  if (type == "bool" || type == "float" || type == "int") return 4;
  return type == "double" || type == "long" || type == "Place<float>" ? 8 : 16;
}

// 64 bits for each 32 of a struct of these.
std::int64_t MarkedWords(const std::vector<std::string>& types) {
  std::int64_t bytes = 0;
  for (const auto& type : types) bytes += (TypeBytes(type) + 7) / 8 * 8;
  return bytes / 4;
}

}  // namespace

bool FoldWriter::ShareOut(std::int64_t per_lane) {
  std::int64_t bytes = 0, words = 0;  // of a pack of each operand
  for (const auto& [operand, name] : kept_operands_) {
    bytes += pack_ * ElementBytes(operand);
    words += (pack_ * ElementBytes(operand) + 3) / 4;
  }
  for (std::int64_t blocks = std::min(kMostBlocks, kThreads / lanes_); blocks > 0; --blocks) {
    const std::int64_t registers = std::min(kRegisters / (blocks * lanes_) / 8 * 8, kMostRegisters) - kOwnRegisters;
    const std::int64_t room = (kSharedBytes / blocks - kOwnSharedBytes) / (lanes_ * bytes);
    const std::int64_t most = std::min(per_lane, registers / words);
    if (most < 1 || per_lane - most > (CopiesPacks() ? room : 0)) continue;
    // Half and half: fewer registers leave some for what is computed.
    const std::int64_t half = std::max((per_lane + 1) / 2, per_lane - room);
    shared_packs_ = CopiesPacks() ? per_lane - std::min(most, half) : 0;
    blocks_a_processor_ = blocks;
    return true;
  }
  return false;
}

std::int64_t FoldWriter::SharedBytes() const {
  std::int64_t bytes = 0;
  for (const auto& [operand, name] : kept_operands_) bytes += shared_packs_ * lanes_ * pack_ * ElementBytes(operand);
  return bytes;
}

void FoldWriter::PrepareMeeting(const std::vector<DevicePass>& passes) {
  std::int64_t words = kCounterWords;
  for (const auto& pass : passes) {
    std::vector<std::string> types;
    for (std::size_t i = 0; i < pass.items.size(); ++i) types.push_back(AccumulatorOf(pass, i).type);
    words += MarkedWords(types) * team_ * row_count_;
  }
  meeting_ = out_.Scratch("meeting", DType::kI64, words);
  meeting_at_ = kCounterWords;
}

void FoldWriter::OpenTeam() {
  const std::string number = out_.Fresh("number");
  member_ = out_.Fresh("member");
  out_.Line(fmt::format("const int {} = {}({});", number, out_.Helper("NextNumber"), meeting_));
  out_.Line(fmt::format("const int {} = {} % {};", member_, number, team_));
  out_.Line(fmt::format("const int {} = {} * {} + threadIdx.x;", lane_, member_, lanes_));
  out_.Line(fmt::format("const {} {} = {} / {};", index(), row_, number, team_));
}

void FoldWriter::LoadShares() {
  if (shared_packs_ > 0) {
    const std::string memory = out_.Fresh("memory");
    out_.Line(fmt::format("extern __shared__ __align__(16) unsigned char {}[];", memory));
    std::int64_t offset = 0;
    for (const auto& [operand, unused] : kept_operands_) {
      const int buffer = kernel_.operands[static_cast<std::size_t>(operand)].buffer;
      shared_names_[operand] = out_.Fresh(out_.BufferName(buffer) + "_rest");
      out_.Line(fmt::format("{0}* const {1} = reinterpret_cast<{0}*>({2} + {3}) + threadIdx.x;", PackType(operand),
                            shared_names_.at(operand), memory, offset));
      offset += shared_packs_ * lanes_ * pack_ * ElementBytes(operand);
    }
    in_shared_ = true;
    EachKept(per_lane_ - shared_packs_, shared_packs_, [&] {
      for (const auto& [operand, unused] : kept_operands_) {
        const std::string from = PackAt(operand);  // "*reinterpret_cast<const T*>(...)"
        out_.Line(fmt::format("{}({} + {} * {}, {});", out_.Helper("CopyAhead"), shared_names_.at(operand), step_,
                              lanes_, from.substr(1)));
      }
    });
    in_shared_ = false;
    copies_under_way_ = true;
  }
  for (auto& [operand, name] : kept_operands_) {
    name = out_.Fresh(out_.BufferName(kernel_.operands[static_cast<std::size_t>(operand)].buffer) + "_row");
    out_.Line(fmt::format("{} {}[{}];", PackType(operand), name, per_lane_ - shared_packs_));
  }
  EachKept(0, per_lane_ - shared_packs_, [&] {
    for (const auto& [operand, name] : kept_operands_)
      out_.Line(fmt::format("{}[{}] = {};", name, step_, PackAt(operand)));
  });
  step_.clear();
}

std::vector<std::string> FoldWriter::TellAndHear(const std::vector<Told>& values) {
  const std::string folded = out_.Fresh("Folded"), own = out_.Fresh("own"), other = out_.Fresh("other");
  std::vector<std::string> types, heard;
  std::string fields, mine, neutrals;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string type = values[i].type == "bool" ? "int" : values[i].type;
    types.push_back(type);
    fields += fmt::format("{}{} of_{};", i ? " " : "", type, i);
    mine += fmt::format("{}{}", i ? ", " : "", values[i].own);
    neutrals += fmt::format("{}{}", i ? ", " : "", values[i].neutral);
    heard.push_back(fmt::format("{}.of_{}", other, i));
  }
  const std::int64_t words = MarkedWords(types);
  const std::string place = out_.Fresh("place");
  out_.Helper("Hear");
  out_.Open(fmt::format("struct {}", folded));
  out_.Line(fields);
  out_.CloseWith(";");
  out_.Line(fmt::format("long* const {} = {} + {} + static_cast<long>({}) * {};", place, meeting_, meeting_at_, row_,
                        team_ * words));
  out_.Line(fmt::format("const {} {} = {{{}}};", folded, own, mine));
  out_.Line(fmt::format("if (threadIdx.x == 0) Tell({} + {} * {}, {});", place, member_, words, own));
  out_.Line(fmt::format("{} {} = {{{}}};", folded, other, neutrals));
  out_.Line(
      fmt::format("if (threadIdx.x < {}) {} = Hear<{}>({} + threadIdx.x * {});", team_, other, folded, place, words));
  meeting_at_ += words * team_ * row_count_;
  return heard;
}

std::vector<std::string> FoldWriter::CombineTeam(const DevicePass& pass, const std::vector<Accumulator>& accumulators) {
  std::vector<Told> values;
  for (std::size_t i = 0; i < pass.items.size(); ++i) {
    const FoldPass::Item& item = pass.items[i];
    const std::string own = out_.Fresh(item.name.empty() ? "block" : item.name + "_block");
    out_.Line(fmt::format("const {} {} = {};", accumulators[i].type, own, InBlock(item, accumulators[i])));
    values.push_back({accumulators[i].type, own, out_.Neutral(item.fold, item.body->type)});
  }
  const std::vector<std::string> heard = TellAndHear(values);
  std::vector<std::string> totals;
  for (std::size_t i = 0; i < pass.items.size(); ++i) {
    const FoldPass::Item& item = pass.items[i];
    Accumulator of_blocks = accumulators[i];
    of_blocks.name = out_.Fresh(item.name.empty() ? "of_blocks" : item.name + "_of_blocks");
    out_.Line(fmt::format("const {} {} = {};", of_blocks.type, of_blocks.name, heard[i]));
    const std::string total = out_.Fresh(item.name.empty() ? "total" : item.name + "_all");
    out_.Line(fmt::format("const {} {} = {};", of_blocks.type, total, InBlock(item, of_blocks)));
    totals.push_back(total);
  }
  return totals;
}

bool FoldWriter::IsSumOfPowers(const DevicePass& top, const DevicePass& sum) const {
  if (top.items.size() != 1 || sum.items.size() != 1) return false;
  const FoldPass::Item &max = top.items[0], &adds = sum.items[0];
  if (max.fold != ReduceOp::kMax || adds.fold != ReduceOp::kSum || max.body->type != ScalarType::kReal) return false;
  const auto reads = [](const Expr& e, int buffer) { return e->kind == Expr::Kind::kLoad && e->buffer == buffer; };
  if (!reads(max.finish, kItOperand)) return false;
  const Expr& power = adds.body;
  if (power->kind != Expr::Kind::kUnary || power->unary != UnaryOp::kExp) return false;
  const Expr& away = power->operands[0];
  return away->kind == Expr::Kind::kBinary && away->binary == BinaryOp::kSub && SameExpr(away->operands[0], max.body) &&
         reads(away->operands[1], kLetOperand - max.let);
}

void FoldWriter::FoldPowers(const DevicePass& top, const DevicePass& sum) {
  const FoldPass::Item &max = top.items[0], &adds = sum.items[0];
  const auto tops = Accumulate(top);
  const std::string real = out_.Type(ScalarType::kReal), low = out_.Neutral(ReduceOp::kMax, ScalarType::kReal);
  const std::string block = out_.Fresh(max.name + "_block"), by = out_.Fresh(max.name + "_by");
  out_.Line(fmt::format("const {} {} = {};", real, block, InBlock(max, tops[0])));
  // Where there is nothing but minus infinity, any other number will do.
  out_.Line(fmt::format("const {} {} = {} == {} ? {} : {};", real, by, block, low, out_.Number(0), block));
  let_names_[max.let] = by;
  const auto sums = Accumulate(sum);
  const std::string powers = out_.Fresh(adds.name + "_block");
  out_.Line(fmt::format("const {} {} = {};", sums[0].type, powers, InBlock(adds, sums[0])));
  const auto heard = TellAndHear({{sums[0].type, powers, "0"}, {real, block, low}});

  Accumulator of_blocks = tops[0];
  of_blocks.name = heard[1];
  const std::string top_all = out_.Fresh(max.name + "_all");
  out_.Line(fmt::format("const {} {} = {};", real, top_all, InBlock(max, of_blocks)));
  of_blocks = sums[0];
  of_blocks.name = out_.Fresh(adds.name + "_of_blocks");
  out_.Line(fmt::format("const {0} {1} = {2} == {3} ? 0 : {4} * static_cast<{0}>({5}({2} - {6}));", sums[0].type,
                        of_blocks.name, heard[1], low, heard[0], out_.wide() ? "exp" : "expf", top_all));
  const std::string sum_all = out_.Fresh(adds.name + "_all");
  out_.Line(fmt::format("const {} {} = {};", sums[0].type, sum_all, InBlock(adds, of_blocks)));
  FinishAll(top, {top_all}, tops);
  FinishAll(sum, {sum_all}, sums);
}

}  // namespace hone::dsl
