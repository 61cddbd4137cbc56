// max, sum of exp(x - max), and an element that holds exp(x - max) / sum or (x - max) - log(sum): softmax.
#include "propose/expert/recognise/recognise.h"
#include "propose/expert/rewrite.h"

namespace hone::expert::recogniser_softmax {

namespace {

std::optional<dsl::Statement> RecogniseSoftmax(Names& names, const Piece& piece) {
  if (piece.statistics.size() != 2 || piece.axes.size() != 1 || !piece.also.empty()) return std::nullopt;
  const Piece& most = piece.statistics[0];
  const Piece& sum = piece.statistics[1];
  const auto plain = [](const Fold& fold) { return IsValue(fold.finish, kIt); };
  if (most.fold->op != ReduceOp::kMax || sum.fold->op != ReduceOp::kSum || !plain(*most.fold) || !plain(*sum.fold))
    return std::nullopt;
  const Expr x = most.fold->body;
  const auto read = [](const Piece& statistic) { return Load(statistic.buffer, {Expr(0)}, ScalarType::kReal); };
  const Expr shifted = x - read(most);
  if (!SameExpr(sum.fold->body, Exp(shifted))) return std::nullopt;
  bool logarithm = false, found = false;
  const Expr soft = Exp(shifted) / read(sum), log_soft = shifted - Log(read(sum));
  const Expr rest = Rewrite(piece.value, [&](const Expr& e) -> Expr {
    for (const bool log : {false, true}) {
      if ((!found || logarithm == log) && SameExpr(e, log ? log_soft : soft)) {
        found = true;
        logarithm = log;
        return Value(kIt, ScalarType::kReal);
      }
    }
    return {};
  });
  if (!found) return std::nullopt;
  for (const auto& load : names.memory().Loads(rest)) {
    if (load.buffer == most.buffer || load.buffer == sum.buffer) return std::nullopt;
  }
  auto operand = names.Term(x, piece.space, {});
  if (!operand) return std::nullopt;
  dsl::Statement statement;
  statement.family = "softmax";
  if (logarithm) statement.variant = "log";
  statement.operands.push_back(std::move(*operand));
  statement.axes = piece.axes;
  statement.target_shape = Extents(piece.space);
  if (!AddEpilogue(names, statement, rest, piece.space)) return std::nullopt;
  return statement;
}

}  // namespace

HONE_ROW(Recogniser){.name = "softmax", .form = Form::kMerged, .place = 40, .recognise = RecogniseSoftmax};

}  // namespace hone::expert::recogniser_softmax
