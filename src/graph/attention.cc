#include "graph/attention.h"

#include <cmath>
#include <limits>

#include "graph/random.h"
#include "graph/softmax.h"

namespace hone {

void DefineAttention(OpCall& call, std::string_view mask_name, bool with_logsumexp) {
  const Operand q = call.Tensor("query"), k = call.Tensor("key"), v = call.Tensor("value");
  const auto mask = call.MaybeTensor(mask_name);
  call.Ignore({"compute_log_sumexp", "return_debug_mask"});  // results that nobody names are not made
  const bool causal = call.Bool("is_causal", false);
  const double dropout = call.Real("dropout_p", 0);
  if (call.failed()) return;
  if (q.rank() < 2 || k.rank() < 2 || v.rank() < 2)
    return call.Fail("needs query, key and value of two dimensions or more");
  const std::int64_t width = q.shape().back();
  const double scale = call.Real("scale", 1 / std::sqrt(static_cast<double>(width)));
  const std::int64_t rows = q.dim(q.rank() - 2), columns = k.dim(k.rank() - 2);
  if (k.shape().back() != width || v.dim(v.rank() - 2) != columns) return call.Fail("query, key and value do not fit");
  // With grouped heads, several of query share one of key and value.
  const bool grouped = call.Bool("enable_gqa", false) && q.rank() >= 3;
  const auto outer = [](const Operand& x) {
    return Operand(x.buffer(), Shape(x.shape().begin(), x.shape().end() - 2), x.dtype());
  };
  Shape batch = outer(q).shape();
  if (!grouped) batch = call.BroadcastShape({outer(q), outer(k), outer(v)});
  const auto heads = [&](const Operand& x) { return x.dim(x.rank() - 3); };
  if (grouped && (k.rank() != q.rank() || v.rank() != q.rank() || heads(q) % heads(k) != 0 || heads(q) % heads(v) != 0))
    return call.Fail("the heads of query are no multiple of those of key and value");
  if (call.failed()) return;
  const auto load = [&](const Operand& x, Indices at, const Expr& row, const Expr& column) {
    std::vector<Expr> full(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(batch.size()));
    if (grouped && heads(x) != heads(q)) full.back() = Apply(BinaryOp::kFloorDiv, full.back(), heads(q) / heads(x));
    full.push_back(row);
    full.push_back(column);
    return x.Broadcast(full);
  };
  const auto shaped = [&](std::int64_t r, std::int64_t c) {
    Shape shape = batch;
    shape.push_back(r);
    shape.push_back(c);
    return shape;
  };
  if (mask && static_cast<std::size_t>(mask->rank()) > batch.size() + 2)
    return call.Fail("the mask has too many dimensions");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Operand scores = call.Let("scores", shaped(rows, columns), q.dtype(), [&](Indices at) {
    const Expr row = at[batch.size()], column = at[batch.size() + 1];
    Expr score = Fold(ReduceOp::kSum, std::vector<std::int64_t>{width},
                      [&](Indices e) { return load(q, at, row, e[0]) * load(k, at, column, e[0]); });
    score = score * scale;
    if (mask) {
      const Expr given = mask->Broadcast(at);
      score =
          given->type == ScalarType::kBool ? Select(given, score, -kInfinity) : score + Cast(given, ScalarType::kReal);
    }
    return causal ? Select(LessEqual(column, row), score, -kInfinity) : score;
  });
  const int last = static_cast<int>(batch.size()) + 1;
  Operand weights = SoftmaxOf(call, scores, last, q.dtype(), mask ? SoftmaxForm::kSafe : SoftmaxForm::kPlain);
  if (dropout > 0) {
    const Operand all = weights;
    weights = call.Let("kept", all.shape(), q.dtype(), [&](Indices at) {
      return Select(DrawnTruth(call, Flatten(at, all.shape()), 1 - dropout), all(at) * Expr(1 / (1 - dropout)), 0.0);
    });
  }
  call.Output(shaped(rows, v.shape().back()), q.dtype(), [&](Indices at) {
    return Fold(ReduceOp::kSum, std::vector<std::int64_t>{columns},
                [&](Indices s) { return weights(Replaced(at, last, s[0])) * load(v, at, s[0], at.back()); });
  });
  if (!with_logsumexp) return;
  const Shape row_shape = OpCall::ReducedShape(scores.shape(), {last}, false);
  const auto fold = [&](ReduceOp op, Indices at, const std::function<Expr(const Expr&)>& term) {
    return Fold(op, std::vector<std::int64_t>{columns}, [&](Indices s) {
      std::vector<Expr> full(at.begin(), at.end());
      full.push_back(s[0]);
      return term(scores(full));
    });
  };
  const Operand most = call.Let("most", row_shape, KeptIn(q.dtype()),
                                [&](Indices at) { return fold(ReduceOp::kMax, at, [](const Expr& s) { return s; }); });
  call.Output(row_shape, q.dtype(), [&](Indices at) {
    return Log(fold(ReduceOp::kSum, at, [&](const Expr& s) { return Exp(s - most(at)); })) + most(at);
  });
}

}  // namespace hone
