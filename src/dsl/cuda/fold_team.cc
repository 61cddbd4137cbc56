// Rows that outgrow a block, kept by a team of blocks wherever on the device these are: each thread has a part of its
// share in registers and the rest in shared memory, so that a multiprocessor holds several blocks, and some load while
// others wait or store. The blocks of a row meet in memory, without atomics and fences: a value is written 32 bits at a
// time, each beside a mark that it is there, and whoever wants it looks until all marks are. A block's row comes from
// the order in which blocks begin, so that those that a block waits for run or are the next to run.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "dsl/cuda/fold_writer.h"
#include "dsl/knobs.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kMostRegisters = 255;       // of a thread
constexpr std::int64_t kOwnRegisters = 34;         // of them, what does not hold elements of the row, at least
constexpr std::int64_t kManyRegisters = 48;        // the same where much is computed
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

bool FoldWriter::ComputesMuch() const {
  constexpr double kFew = 8;  // operations
  double operations = OperationsPerElement(kernel_.epilogue);
  for (const auto& input : kernel_.inputs) operations += OperationsPerElement(input);
  return operations > kFew || kept_operands_.size() < kernel_.operands.size();
}

bool FoldWriter::ShareOut(std::int64_t per_lane) {
  std::int64_t bytes = 0, words = 0;  // of a pack of each operand
  for (const auto& [operand, name] : kept_operands_) {
    bytes += pack_ * ElementBytes(operand);
    words += (pack_ * ElementBytes(operand) + 3) / 4;
  }
  const MultiprocessorLimits& limits = kernel_.device->limits;
  for (std::int64_t blocks = std::min(kMostBlocks, limits.warps * 32 / lanes_); blocks > 0; --blocks) {
    const std::int64_t registers =
        std::min(limits.registers / (blocks * lanes_) / 8 * 8, kMostRegisters) - kOwnRegisters;
    const std::int64_t room = (limits.shared_bytes / blocks - kOwnSharedBytes) / (lanes_ * bytes);
    const std::int64_t most = std::min(per_lane, registers / words);
    if (most < 1 || per_lane - most > (CopiesPacks() ? room : 0)) continue;
    // Half and half, and less in registers where others need them and shared memory has room.
    const std::int64_t half =
        std::min((per_lane + 1) / 2, ComputesMuch() ? (registers + kOwnRegisters - kManyRegisters) / words : most);
    shared_packs_ = CopiesPacks() ? per_lane - std::clamp(half, std::max<std::int64_t>(per_lane - room, 1), most) : 0;
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
  // What all rows read is to stay in the first-level cache. Of what is written here the compiler has to know that.
  const bool shares = kept_operands_.size() < kernel_.operands.size();
  const std::vector<int> targets = TargetsOf(kernel_);
  EachKept(0, per_lane_ - shared_packs_, [&] {
    for (const auto& [operand, name] : kept_operands_) {
      const std::string from = PackAt(operand);
      const int buffer = kernel_.operands[static_cast<std::size_t>(operand)].buffer;
      const bool once = shares && std::ranges::find(targets, buffer) == targets.end();
      out_.Line(once ? fmt::format("{}[{}] = {}({});", name, step_, out_.Helper("LoadOnce"), from.substr(1))
                     : fmt::format("{}[{}] = {};", name, step_, from));
    }
  });
  step_.clear();
}

void FoldWriter::DeclareTold(const std::vector<Told>& values) {
  std::vector<std::string> types;
  std::string fields;
  for (const auto& value : values) {
    types.push_back(value.type == "bool" ? "int" : value.type);
    fields += fmt::format("{}{} {};", fields.empty() ? "" : " ", types.back(), value.name);
  }
  told_words_ = MarkedWords(types);
  told_ = out_.Fresh("Told");
  out_.Open(fmt::format("struct {}", told_));
  out_.Line(fields);
  out_.CloseWith(";");
}

std::string FoldWriter::Nothing(const std::vector<Told>& values) {
  std::string neutrals;
  for (const auto& value : values) neutrals += (neutrals.empty() ? "" : ", ") + value.neutral;
  return fmt::format("{}{{{}}}", told_, neutrals);
}

void FoldWriter::FoldWarp(const std::string& name, const std::vector<Told>& values, std::int64_t lanes) {
  out_.Helper("Across");
  const std::string step = out_.Fresh("step");
  out_.Unroll();
  out_.Open(fmt::format("for (int {0} = {1}; {0} > 0; {0} /= 2)", step, lanes / 2));
  for (const auto& value : values)
    out_.Line(fmt::format("{0}.{1} = {2}::Of({0}.{1}, Across({0}.{1}, {3}));", name, value.name, value.how, step));
  out_.Close();
}

void FoldWriter::Tell(const std::string& own, const std::vector<Told>& values) {
  const std::int64_t warps = lanes_ / 32;
  const std::string of_warps = out_.Fresh("of_warps");
  out_.Line(fmt::format("__shared__ {} {}[{}];", told_, of_warps, warps));
  FoldWarp(own, values, 32);
  out_.Line(fmt::format("if (threadIdx.x % 32 == 0) {}[threadIdx.x / 32] = {};", of_warps, own));
  out_.Line("__syncthreads();");
  out_.Open("if (threadIdx.x < 32)");
  out_.Line(fmt::format("{} = {}[threadIdx.x % {}];", own, of_warps, warps));
  FoldWarp(own, values, warps);
  out_.Line(fmt::format("if (threadIdx.x == 0) {}({} + {} + (static_cast<long>({}) * {} + {}) * {}, {});",
                        out_.Helper("Tell"), meeting_, meeting_at_, row_, team_, member_, told_words_, own));
  out_.Close();
}

std::string FoldWriter::OpenHearing(const std::vector<Told>& values) {
  const std::string other = out_.Fresh("other");
  of_team_ = out_.Fresh("of_team");
  out_.Line(fmt::format("__shared__ {} {}[{}];", told_, of_team_, HearingWarps()));
  out_.Open(fmt::format("if (threadIdx.x < {})", 32 * HearingWarps()));
  out_.Line(fmt::format("{} {} = {};", told_, other, Nothing(values)));
  out_.Line(fmt::format("{}{} = {}<{}>({} + {} + (static_cast<long>({}) * {} + threadIdx.x) * {});",
                        team_ % 32 == 0 ? "" : fmt::format("if (threadIdx.x < {}) ", team_), other, out_.Helper("Hear"),
                        told_, meeting_, meeting_at_, row_, team_, told_words_));
  meeting_at_ += told_words_ * team_ * row_count_;
  return other;
}

void FoldWriter::CloseHearing(const std::string& other) {
  out_.Line(fmt::format("if (threadIdx.x % 32 == 0) {}[threadIdx.x / 32] = {};", of_team_, other));
  out_.Close();
  out_.Line("__syncthreads();");
}

std::vector<std::string> FoldWriter::CombineTeam(const DevicePass& pass, const std::vector<Accumulator>& accumulators) {
  std::vector<Told> values;
  std::string parts;
  for (std::size_t i = 0; i < pass.items.size(); ++i) {
    const FoldPass::Item& item = pass.items[i];
    values.push_back(
        {fmt::format("of_{}", i), accumulators[i].type, out_.How(item.fold), out_.Neutral(item.fold, item.body->type)});
    parts += (i ? ", " : "") + accumulators[i].name;
  }
  DeclareTold(values);
  const std::string own = out_.Fresh("own");
  out_.Line(fmt::format("{} {} = {{{}}};", told_, own, parts));
  Tell(own, values);
  const std::string other = OpenHearing(values);
  FoldWarp(other, values, 32);
  CloseHearing(other);
  std::vector<std::string> totals;
  for (std::size_t i = 0; i < pass.items.size(); ++i) {
    const FoldPass::Item& item = pass.items[i];
    std::string text = fmt::format("{}[0].{}", of_team_, values[i].name);
    for (std::int64_t warp = 1; warp < HearingWarps(); ++warp)
      text = fmt::format("{}::Of({}, {}[{}].{})", values[i].how, text, of_team_, warp, values[i].name);
    totals.push_back(out_.Fresh(item.name.empty() ? "total" : item.name + "_all"));
    out_.Line(fmt::format("const {} {} = {};", accumulators[i].type, totals.back(), text));
  }
  return totals;
}

bool FoldWriter::IsSumOfPowers(const DevicePass& top, const DevicePass& sum) const {
  if (top.items.size() != 1 || sum.items.size() != 1) return false;
  const FoldPass::Item &max = top.items[0], &adds = sum.items[0];
  if (max.fold != ReduceOp::kMax || adds.fold != ReduceOp::kSum || max.body->type != ScalarType::kReal) return false;
  if (!IsValue(max.finish, kIt)) return false;
  const Expr& power = adds.body;
  if (power->kind != Expr::Kind::kUnary || power->unary != UnaryOp::kExp) return false;
  const Expr& away = power->operands[0];
  return away->kind == Expr::Kind::kBinary && away->binary == BinaryOp::kSub && SameExpr(away->operands[0], max.body) &&
         IsValue(away->operands[1], LetValue(max.let));
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
  const std::string wide = sums[0].type, exp = out_.wide() ? "exp" : "expf";
  const std::vector<Told> values = {{"top", real, out_.How(ReduceOp::kMax), low},
                                    {"sum", wide, out_.How(ReduceOp::kSum), "0"}};
  DeclareTold(values);
  const std::string own = out_.Fresh("own");
  out_.Line(fmt::format("{} {} = {{{}, {}}};", told_, own, block, sums[0].name));
  Tell(own, values);
  const std::string other = OpenHearing(values);
  // Sums by their own maxima become sums by the largest of them.
  const auto lower = [&](const std::string& one, const std::string& to) {
    return fmt::format("{0}.top == {1} ? 0 : {0}.sum * static_cast<{2}>({3}({0}.top - {4}))", one, low, wide, exp, to);
  };
  const std::string top_warp = out_.Fresh(max.name + "_warp");
  out_.Line(fmt::format("{} {} = {}.top;", real, top_warp, other));
  const std::string step = out_.Fresh("step");
  out_.Unroll();
  out_.Line(fmt::format("for (int {0} = 16; {0} > 0; {0} /= 2) {1} = {2}::Of({1}, Across({1}, {0}));", step, top_warp,
                        values[0].how));
  out_.Line(fmt::format("{}.sum = {};", other, lower(other, top_warp)));
  out_.Line(fmt::format("{}.top = {};", other, top_warp));
  FoldWarp(other, {values[1]}, 32);
  CloseHearing(other);
  std::string text = fmt::format("{}[0].top", of_team_);
  for (std::int64_t warp = 1; warp < HearingWarps(); ++warp)
    text = fmt::format("{}::Of({}, {}[{}].top)", values[0].how, text, of_team_, warp);
  const std::string top_all = out_.Fresh(max.name + "_all"), sum_all = out_.Fresh(adds.name + "_all");
  out_.Line(fmt::format("const {} {} = {};", real, top_all, text));
  text.clear();
  for (std::int64_t warp = 0; warp < HearingWarps(); ++warp)
    text += fmt::format("{}({})", warp ? " + " : "", lower(fmt::format("{}[{}]", of_team_, warp), top_all));
  out_.Line(fmt::format("const {} {} = {};", wide, sum_all, text));
  FinishAll(top, {top_all}, tops);
  FinishAll(sum, {sum_all}, sums);
}

}  // namespace hone::dsl
