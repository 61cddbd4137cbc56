#include "graph/recurrent.h"

#include <fmt/format.h>

namespace hone {
namespace {

int Gates(Cell cell) { return cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 1; }

// The gates of one hidden unit: from the input and from the hidden values of the step before, biases included.
using GateFunction = std::function<Expr(int gate)>;

Expr LstmMemory(const GateFunction& gate, const Expr& before) {
  return Sigmoid(gate(1)) * before + Sigmoid(gate(0)) * Tanh(gate(2));
}

Expr LstmHidden(const GateFunction& gate, const Expr& memory) { return Sigmoid(gate(3)) * Tanh(memory); }

Expr GruHidden(const GateFunction& of_input, const GateFunction& of_hidden, const Expr& before) {
  const Expr reset = Sigmoid(of_input(0) + of_hidden(0)), keep = Sigmoid(of_input(1) + of_hidden(1));
  const Expr fresh = Tanh(of_input(2) + reset * of_hidden(2));
  return fresh + keep * (before - fresh);
}

Expr RnnHidden(Cell cell, const Expr& gate) { return cell == Cell::kTanh ? Tanh(gate) : Max(gate, 0.0); }

struct Weights {
  Operand input, hidden;
  std::optional<Operand> input_bias, hidden_bias, projection;
};

Expr Contraction(std::int64_t extent, const std::function<Expr(const Expr&)>& element, const Operand& weight,
                 const Expr& row, const std::optional<Operand>& bias) {
  const Expr sum = Fold(ReduceOp::kSum, std::vector<std::int64_t>{extent},
                        [&](Indices k) { return element(k[0]) * weight({row, k[0]}); });
  return bias ? sum + (*bias)({row}) : sum;
}

// Values by step, row of the batch and unit.
using Units = std::function<Expr(const Expr& step, const Expr& row, const Expr& unit)>;

struct Layer {
  StepValue hidden;
  std::optional<StepValue> memory;
};

struct Run {
  OpCall& call;
  Cell cell;
  DType dtype;
  std::int64_t steps, rows, units, outputs;  // outputs: units, or fewer after a projection
};

// One layer in one direction. `state` is the number of its first values in h0 and c0.
Layer AddLayer(const Run& run, const std::string& hint, const Units& x, std::int64_t width, const Weights& w,
               Reversed reversed, const Operand& h0, const std::optional<Operand>& c0, std::int64_t state) {
  const int gates = Gates(run.cell);
  const Shape all_gates = {run.steps, run.rows, gates * run.units};
  const Operand of_input = run.call.Let(hint + "_input", all_gates, run.dtype, [&](Indices at) {
    return Contraction(width, [&](const Expr& k) { return x(at[0], at[1], k); }, w.input, at[2], w.input_bias);
  });
  Sequence steps(run.call, reversed);
  const StepValue of_hidden = steps.Value(hint + "_gates", all_gates, run.dtype, 0);
  std::optional<StepValue> memory, raw;
  if (run.cell == Cell::kLstm) memory = steps.Value(hint + "_memory", {run.steps, run.rows, run.units}, run.dtype, 0);
  if (w.projection) raw = steps.Value(hint + "_raw", {run.steps, run.rows, run.units}, run.dtype, 0);
  const StepValue hidden = steps.Value(hint + "_hidden", {run.steps, run.rows, run.outputs}, run.dtype, 0);

  steps.Define(of_hidden, [&](Indices at) {
    const Expr sum = Contraction(
        run.outputs, [&](const Expr& k) { return hidden.Before({at[0], at[1], k}, h0({state, at[1], k})); }, w.hidden,
        at[2], w.hidden_bias);
    return run.cell == Cell::kGru ? sum : of_input(at) + sum;  // a GRU's reset gate scales one of them alone
  });
  const auto gate_of = [&](const Operand& values, Indices at) {
    return [&values, at, &run](int gate) { return values({at[0], at[1], at[2] + gate * run.units}); };
  };
  if (memory) {
    steps.Define(*memory, [&](Indices at) {
      return LstmMemory(gate_of(of_hidden, at), memory->Before(at, (*c0)({state, at[1], at[2]})));
    });
  }
  const auto unit = [&](Indices at) {
    if (memory) return LstmHidden(gate_of(of_hidden, at), (*memory)(at));
    if (run.cell != Cell::kGru) return RnnHidden(run.cell, of_hidden(at));
    return GruHidden(gate_of(of_input, at), gate_of(of_hidden, at), hidden.Before(at, h0({state, at[1], at[2]})));
  };
  if (raw) steps.Define(*raw, unit);
  steps.Define(hidden, [&](Indices at) {
    if (!raw) return unit(at);
    return Contraction(run.units, [&](const Expr& k) { return (*raw)({at[0], at[1], k}); }, *w.projection, at[2], {});
  });
  return {hidden, memory};
}

// The last values of all layers and directions, one after another.
void OutputLast(const Run& run, const std::vector<StepValue>& values, bool two_directions) {
  const Shape shape = {static_cast<std::int64_t>(values.size()), run.rows, values[0].dim(2)};
  run.call.Output(shape, run.dtype, [&](Indices at) {
    Expr value;
    for (std::size_t i = values.size(); i-- > 0;) {
      const bool reversed = two_directions && i % 2 == 1;
      const Expr last = values[i]({reversed ? 0 : run.steps - 1, at[1], at[2]});
      value = value ? Select(Equal(at[0], static_cast<std::int64_t>(i)), last, value) : last;
    }
    return value;
  });
}

}  // namespace

void DefineRecurrent(OpCall& call, Cell cell) {
  const bool lstm = cell == Cell::kLstm;
  const Operand x = call.Tensor("input");
  const auto params = call.Tensors("params");
  const auto states = lstm ? call.Tensors("hx") : std::vector<Operand>{call.Tensor("hx")};
  const bool biased = call.Bool("has_biases"), batch_first = call.Bool("batch_first");
  const bool two_directions = call.Bool("bidirectional");
  const std::int64_t layers = call.Int("num_layers"), directions = two_directions ? 2 : 1;
  const double dropout = call.Real("dropout");
  if (call.Bool("train") && dropout > 0 && layers > 1)
    return call.Fail("dropout between layers makes the result random: put the module in eval mode, or set it to 0");
  if (call.failed()) return;
  const std::size_t each = params.size() / static_cast<std::size_t>(std::max<std::int64_t>(layers * directions, 1));
  const bool projected = lstm && each == (biased ? 5u : 3u);
  if (layers < 1 || params.size() != each * static_cast<std::size_t>(layers * directions) ||
      each != (biased ? 4u : 2u) + (projected ? 1u : 0u)) {
    return call.Fail(fmt::format("{} parameters do not make {} layers", params.size(), layers));
  }
  if (states.size() != (lstm ? 2u : 1u)) return call.Fail("hx needs the first hidden values and the first cell values");
  if (x.rank() != 3 || states[0].rank() != 3) return call.Fail("needs input and hx of three dimensions");
  const Run run{call,
                cell,
                x.dtype(),
                x.dim(batch_first ? 1 : 0),
                x.dim(batch_first ? 0 : 1),
                params[1].dim(0) / Gates(cell),
                states[0].dim(2)};
  if (run.steps < 1) return call.Fail("needs at least one step");
  const Shape state_shape = {layers * directions, run.rows, run.outputs};
  if (states[0].shape() != state_shape || (lstm && states[1].shape() != Shape{state_shape[0], run.rows, run.units}))
    return call.Fail("hx does not fit the number of layers, the batch and the hidden size");

  Units values = [&](const Expr& step, const Expr& row, const Expr& k) {
    return batch_first ? x({row, step, k}) : x({step, row, k});
  };
  std::int64_t width = x.dim(2);
  std::vector<StepValue> hidden, memory;
  Operand result;
  for (std::int64_t l = 0; l < layers; ++l) {
    for (std::int64_t d = 0; d < directions; ++d) {
      const std::int64_t number = l * directions + d;
      const Operand* given = &params[static_cast<std::size_t>(number) * each];
      Weights weights{given[0], given[1], {}, {}, {}};
      if (biased) weights.input_bias = given[2], weights.hidden_bias = given[3];
      if (projected) weights.projection = given[each - 1];
      const std::int64_t rows = Gates(cell) * run.units;
      if (weights.input.shape() != Shape{rows, width} || weights.hidden.shape() != Shape{rows, run.outputs} ||
          (biased && (given[2].shape() != Shape{rows} || given[3].shape() != Shape{rows})) ||
          (projected ? weights.projection->shape() != Shape{run.outputs, run.units} : run.outputs != run.units)) {
        return call.Fail(fmt::format("the weights of layer {} do not fit", l));
      }
      const Layer layer = AddLayer(run, fmt::format("l{}{}", l, d == 1 ? "r" : ""), values, width, weights,
                                   d == 1 ? Reversed::yes : Reversed::no, states[0],
                                   lstm ? std::optional(states[1]) : std::nullopt, number);
      hidden.push_back(layer.hidden);
      if (layer.memory) memory.push_back(*layer.memory);
    }
    width = directions * run.outputs;
    result = hidden.back();
    if (two_directions) {
      const StepValue &ahead = hidden[hidden.size() - 2], &back = hidden.back();
      result = call.Let(fmt::format("l{}_both", l), {run.steps, run.rows, width}, run.dtype, [&](Indices at) {
        return Select(Less(at[2], run.outputs), ahead(at), back({at[0], at[1], at[2] - run.outputs}));
      });
    }
    values = [result](const Expr& step, const Expr& row, const Expr& k) { return result({step, row, k}); };
  }
  if (batch_first) {
    call.Output({run.rows, run.steps, width}, run.dtype, [&](Indices at) { return result({at[1], at[0], at[2]}); });
  } else {
    call.Output(result);
  }
  OutputLast(run, hidden, two_directions);
  if (lstm) OutputLast(run, memory, two_directions);
}

void DefineRecurrentCell(OpCall& call, Cell cell) {
  const bool lstm = cell == Cell::kLstm;
  const Operand x = call.Tensor("input");
  const auto states = lstm ? call.Tensors("hx") : std::vector<Operand>{call.Tensor("hx")};
  Weights w{call.Tensor("w_ih"), call.Tensor("w_hh"), call.MaybeTensor("b_ih"), call.MaybeTensor("b_hh"), {}};
  if (call.failed()) return;
  if (states.size() != (lstm ? 2u : 1u)) return call.Fail("hx needs the hidden values and the cell values");
  const std::int64_t units = w.hidden.dim(1), rows = Gates(cell) * units;
  const Shape shape = {x.dim(0), units};
  if (x.rank() != 2 || states[0].shape() != shape || states.back().shape() != shape ||
      w.input.shape() != Shape{rows, x.dim(1)} || w.hidden.shape() != Shape{rows, units}) {
    return call.Fail("input, hx and weights do not fit");
  }
  const Operand& h = states[0];
  const auto gates = [&](std::string_view hint, const Operand& values, const Operand& weight,
                         const std::optional<Operand>& bias) {
    return call.Let(hint, {x.dim(0), rows}, x.dtype(), [&](Indices at) {
      return Contraction(values.dim(1), [&](const Expr& k) { return values({at[0], k}); }, weight, at[1], bias);
    });
  };
  const Operand of_input = gates("input", x, w.input, w.input_bias);
  const Operand of_hidden = gates("gates", h, w.hidden, w.hidden_bias);
  const auto one = [&](const Operand& values, Indices at) {
    return [&values, at, units](int gate) { return values({at[0], at[1] + gate * units}); };
  };
  const auto both = [&](Indices at) {
    return [&of_input, &of_hidden, at, units](int gate) {
      return of_input({at[0], at[1] + gate * units}) + of_hidden({at[0], at[1] + gate * units});
    };
  };
  if (!lstm) {
    return call.Output(shape, x.dtype(), [&](Indices at) {
      if (cell != Cell::kGru) return RnnHidden(cell, both(at)(0));
      return GruHidden(one(of_input, at), one(of_hidden, at), h(at));
    });
  }
  const Operand memory =
      call.Let("memory", shape, x.dtype(), [&](Indices at) { return LstmMemory(both(at), states[1](at)); });
  call.Output(shape, x.dtype(), [&](Indices at) { return LstmHidden(both(at), memory(at)); });
  call.Output(memory);
}

}  // namespace hone
