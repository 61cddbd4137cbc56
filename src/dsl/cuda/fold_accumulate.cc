// What a thread, a block and a cluster fold.
#include <fmt/format.h>

#include <algorithm>

#include "dsl/cuda/fold_writer.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kManyElements = 256;  // that one thread sums: beyond, it sums in double

}  // namespace

bool FoldWriter::SumsNear(const DevicePass& pass, std::size_t i) const {
  if (cluster_ * team_ == 1 || per_lane_ == 0 || out_.wide() || pass.items[i].body->type != ScalarType::kReal)
    return false;
  if (pass.items[i].fold != ReduceOp::kSum) return false;
  return !IsMoment(pass, i) || Pivot(pass, i) >= 0;
}

bool FoldWriter::IsMoment(const DevicePass& pass, std::size_t i) {
  return pass.centre[i] >= 0 ||
         std::find(pass.centre.begin(), pass.centre.end(), static_cast<int>(i)) != pass.centre.end();
}

int FoldWriter::Pivot(const DevicePass& pass, std::size_t i) const {
  const Expr& body = pass.items[i].body;
  return body->kind == Expr::Kind::kLoad && kept_operands_.contains(body->buffer) ? body->buffer : -1;
}

FoldWriter::Accumulator FoldWriter::AccumulatorOf(const DevicePass& pass, std::size_t i) const {
  const FoldPass::Item& item = pass.items[i];
  const ScalarType type = item.body->type;
  const bool moments = IsMoment(pass, i);
  const std::int64_t share = (split_ > 1 ? chunk_ : steps_) / stride_ * (rows_ ? pack_ : 1);
  const bool sums = item.fold == ReduceOp::kSum || item.fold == ReduceOp::kProd;
  const bool wide = type == ScalarType::kReal &&
                    (out_.wide() || moments || (sums && (share > kManyElements || cluster_ * team_ > 1)));
  Accumulator one;
  one.type = type == ScalarType::kReal ? (wide ? "double" : "float") : out_.Type(type);
  one.dtype = type == ScalarType::kReal  ? (wide ? DType::kF64 : DType::kF32)
              : type == ScalarType::kInt ? DType::kI64
                                         : DType::kBool;
  one.near = one.type == "double" && SumsNear(pass, i);
  if (IsArg(item.fold)) {
    one.type = fmt::format("{}<{}>", out_.Helper("Place"), one.type);
    out_.Helper("AcrossPlace");
  }
  return one;
}

std::vector<FoldWriter::Accumulator> FoldWriter::Accumulate(const DevicePass& pass) {
  std::vector<Accumulator> accumulators;
  const bool many = !rows_ && pack_ > 1;
  std::vector<Expr> bodies;
  std::vector<std::string> near(pass.items.size());
  std::map<int, std::string> pivots;  // by operand
  for (std::size_t i = 0; i < pass.items.size(); ++i) {
    const FoldPass::Item& item = pass.items[i];
    Accumulator one = AccumulatorOf(pass, i);
    one.name = out_.Fresh(item.name.empty() ? "part" : item.name + "_part");
    if (one.near) {
      if (const int operand = IsMoment(pass, i) ? Pivot(pass, i) : -1; operand >= 0 && !pivots.contains(operand)) {
        std::string& pivot = pivots[operand];
        pivot = out_.Fresh("pivot");
        const int buffer = kernel_.operands[static_cast<std::size_t>(operand)].buffer;
        const std::string first = LoadedText(out_, buffer, fmt::format("{}[0].at[0]", kept_operands_.at(operand)));
        // An outlier would make all squares about it large, and what they differ by small beside their rounding.
        const std::string own = stride_ <= steps_ ? first : fmt::format("{} < {} ? {} : 0.0f", lane_, steps_, first);
        out_.Line(lanes_ >= 32 ? fmt::format("const float {} = {}({});", pivot, out_.Helper("Common"), own)
                               : fmt::format("const float {} = {};", pivot, own));
      }
      near[i] = out_.Fresh(one.name + "_near");
      out_.Line(fmt::format("{} {} = 0;", pass.centre[i] >= 0 ? "double" : "float", near[i]));
      accumulators.push_back(std::move(one));
      bodies.push_back(item.body);
      continue;
    }
    const std::string neutral = out_.Neutral(item.fold, item.body->type);
    if (many) {
      std::string list;
      for (std::int64_t e = 0; e < pack_; ++e) list += (e ? ", " : "") + neutral;
      out_.Line(fmt::format("{} {}[{}] = {{{}}};", one.type, one.name, pack_, list));
    } else {
      out_.Line(fmt::format("{} {} = {};", one.type, one.name, neutral));
    }
    accumulators.push_back(std::move(one));
    bodies.push_back(item.body);
  }
  EachStep([&] {
    LoadPacks(bodies);
    // The square of an outlier swallows others: few are added to it.
    std::map<std::size_t, std::string> squares;
    for (std::size_t i = 0; i < pass.items.size(); ++i) {
      if (near[i].empty() || pass.centre[i] < 0) continue;
      squares[i] = out_.Fresh("squares");
      out_.Line(fmt::format("float {} = 0;", squares.at(i)));
    }
    const std::string e = OpenElements();
    DeviceExpr expr(out_, [&](const ExprNode& load) { return LoadText(load, e); });
    // Terms of 16-bit numbers whose sum is rounded to such, too, unless it tells them apart.
    const bool tells = TellsApart(kernel_.epilogue) || std::ranges::any_of(pass.items, [](const FoldPass::Item& item) {
                         return IsArg(item.fold) || TellsApart(item.finish);
                       });
    if (!keeps_axes() && !tells) {
      std::vector<DType> types = kernel_.operand_types;
      types.push_back(kernel_.target_type);
      expr.BeCoarseWhereRounded(bodies, types);
    }
    for (std::size_t i = 0; i < pass.items.size(); ++i) {
      const std::string value = expr.Text(bodies[i]);
      const std::string name = many ? fmt::format("{}[{}]", accumulators[i].name, e) : accumulators[i].name;
      if (!near[i].empty()) {
        if (!IsMoment(pass, i)) {
          out_.Line(fmt::format("{} += {};", near[i], value));
          continue;
        }
        const std::string away = out_.Fresh("away");
        out_.Line(fmt::format("const float {} = {} - {};", away, value, pivots.at(Pivot(pass, i))));
        out_.Line(pass.centre[i] >= 0 ? fmt::format("{} += {} * {};", squares.at(i), away, away)
                                      : fmt::format("{} += {};", near[i], away));
        continue;
      }
      if (pass.centre[i] >= 0) {
        const std::string x = out_.Fresh("x_wide");
        out_.Line(fmt::format("const double {} = {};", x, value));
        out_.Line(fmt::format("{} += {} * {};", name, x, x));
        continue;
      }
      switch (pass.items[i].fold) {
        case ReduceOp::kSum: out_.Line(fmt::format("{} += {};", name, value)); break;
        case ReduceOp::kProd: out_.Line(fmt::format("{} *= {};", name, value)); break;
        case ReduceOp::kArgMax:
        case ReduceOp::kArgMin: {
          const std::string how = out_.How(pass.items[i].fold);
          const std::string at = rows_ && pack_ > 1 ? fmt::format("{} * {} + {}", q_, pack_, e) : q_;
          out_.Line(fmt::format("{}::Take({}, {}, {});", how, name, value, at));
          break;
        }
        default: {
          const std::string how = out_.How(pass.items[i].fold);
          out_.Line(fmt::format("{0} = {1}::Of({0}, {2}({3}));", name, how, accumulators[i].type, value));
        }
      }
    }
    CloseElements();
    for (const auto& [i, sum] : squares) out_.Line(fmt::format("{} += {};", near[i], sum));
  });
  step_.clear();
  std::string count;
  for (std::size_t i = 0; i < pass.items.size(); ++i) {
    if (near[i].empty()) continue;
    const std::string& name = accumulators[i].name;
    if (!IsMoment(pass, i)) {
      out_.Line(fmt::format("const double {} = {};", name, near[i]));
      continue;
    }
    if (count.empty()) {
      count = fmt::format("{}", per_lane_ * pack_);
      if (steps_ % stride_ != 0) {
        count = out_.Fresh("own_count");
        out_.Line(
            fmt::format("const int {} = ({} - {}) / {} * {};", count, steps_ + stride_ - 1, lane_, stride_, pack_));
      }
    }
    // Back from the distances to the elements.
    const std::string pivot = fmt::format("static_cast<double>({})", pivots.at(Pivot(pass, i)));
    const int mean = pass.centre[i];
    out_.Line(mean < 0 ? fmt::format("const double {} = {} + {} * {};", name, near[i], count, pivot)
                       : fmt::format("const double {0} = {1} + {2} * (2 * static_cast<double>({3}) + {4} * {2});", name,
                                     near[i], pivot, near[static_cast<std::size_t>(mean)], count));
  }
  return accumulators;
}

std::string FoldWriter::InBlock(const FoldPass::Item& item, const Accumulator& accumulator) {
  out_.Helper("Fold");
  std::string shared = fmt::format("static_cast<{}*>(nullptr)", accumulator.type);
  if (lanes_ > 32) {
    shared = out_.Fresh(item.name + "_shared");
    out_.Line(fmt::format("__shared__ __align__(16) {} {}[{}];", accumulator.type, shared,
                          lanes_ * (split_ > 1 ? 1 : RowsABlock()) / 32));
  }
  return fmt::format("Fold<{}, {}>({}, {})", out_.How(item.fold), lanes_, accumulator.name, shared);
}

std::vector<std::string> FoldWriter::CombineAll(const DevicePass& pass, const std::vector<Accumulator>& accumulators) {
  if (team_ > 1) return CombineTeam(pass, accumulators);
  std::vector<std::string> totals;
  for (std::size_t i = 0; i < pass.items.size(); ++i) totals.push_back(Combine(pass.items[i], accumulators[i]));
  return totals;
}

std::string FoldWriter::Combine(const FoldPass::Item& item, const Accumulator& accumulator) {
  const std::string how = out_.How(item.fold);
  const std::string& type = accumulator.type;
  const std::string total = out_.Fresh(item.name.empty() ? "total" : item.name + "_all");
  if (rows_) {
    const std::string folded = InBlock(item, accumulator);
    if (cluster_ == 1) {
      out_.Line(fmt::format("const {} {} = {};", type, total, folded));
      return total;
    }
    const std::string slots = out_.Fresh(item.name + "_slots");
    out_.Line(fmt::format("__shared__ {} {}[{}];", type, slots, cluster_));
    out_.Line(fmt::format("const {} {} = {}<{}, {}>({}, {});", type, total, out_.Helper("FoldCluster"), how, cluster_,
                          folded, slots));
    return total;
  }
  const std::string shared = out_.Fresh(item.name + "_shared"), y = out_.Fresh("y");
  const bool many = pack_ > 1;
  out_.Line(fmt::format("__shared__ __align__(16) {} {}[{}];", type, shared, 32 * lanes_));
  out_.Line(many ? fmt::format("{} {}[{}];", type, total, pack_) : fmt::format("{} {};", type, total));
  const std::string e = OpenElements();
  const std::string own = many ? fmt::format("{}[{}]", accumulator.name, e) : accumulator.name;
  out_.Line("__syncthreads();");
  out_.Line(fmt::format("{}[threadIdx.x] = {};", shared, own));
  out_.Line("__syncthreads();");
  const std::string folded = out_.Fresh("folded");
  out_.Line(fmt::format("{} {} = {}[threadIdx.x % 32];", type, folded, shared));
  out_.Unroll();
  out_.Line(fmt::format("for (int {0} = 1; {0} < {1}; ++{0}) {2} = {3}::Of({2}, {4}[{0} * 32 + threadIdx.x % 32]);", y,
                        lanes_, folded, how, shared));
  out_.Line(fmt::format("{}{} = {};", total, many ? "[" + e + "]" : "", folded));
  CloseElements();
  return total;
}

void FoldWriter::FinishAll(const DevicePass& pass, const std::vector<std::string>& totals,
                           const std::vector<Accumulator>& accumulators) {
  const bool many = !rows_ && pack_ > 1;
  for (std::size_t i = 0; i < pass.items.size(); ++i) {
    const FoldPass::Item& item = pass.items[i];
    const std::string type = out_.Type(item.finish->type);
    const std::string name = out_.Fresh(item.name.empty() ? "value" : item.name);
    if (many) out_.Line(fmt::format("{} {}[{}];", type, name, pack_));
    const std::string e = many ? OpenElements() : "";
    const auto at = [&](const std::string& total) { return many ? fmt::format("{}[{}]", total, e) : total; };
    it_ = at(totals[i]);
    if (pass.centre[i] >= 0) {
      const std::string mean = at(totals[static_cast<std::size_t>(pass.centre[i])]), squares = out_.Fresh("squares");
      out_.Line(fmt::format("const double {} = {} - {} * {} / {};", squares, it_, mean, mean, loops_.Count(true)));
      it_ = fmt::format("static_cast<{}>({} < 0 ? 0 : {})", out_.Type(ScalarType::kReal), squares, squares);
    } else if (IsArg(item.fold)) {
      it_ = fmt::format("({0}.at == kNowhere ? 0 : {0}.at)", it_);  // all alike: the first
    } else if (accumulators[i].type != out_.Type(item.body->type)) {
      it_ = fmt::format("static_cast<{}>({})", out_.Type(item.body->type), it_);
    }
    DeviceExpr expr(out_, [&](const ExprNode& load) { return LoadText(load, e); });
    if (!many) expr.TakeTime();
    const std::string value = expr.Text(item.finish);
    if (many) {
      out_.Line(fmt::format("{}[{}] = {};", name, e, value));
      CloseElements();
    } else {
      out_.Line(fmt::format("const {} {} = {};", type, name, value));
    }
    let_names_[item.let] = name;
    if (!many && divisors_.contains(item.let)) {
      // One division a row, and not one an element.
      reciprocals_[item.let] = out_.Fresh(name + "_inverse");
      out_.Line(fmt::format("const float {} = {} / {};", reciprocals_.at(item.let), out_.Number(1), name));
    }
  }
}

}  // namespace hone::dsl
