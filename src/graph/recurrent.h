// Recurrent layers kept whole. What the steps read of the input is one contraction over all steps; only what hangs on
// the step before is a sequence (class Sequence in graph/op.h).
#pragma once

#include "graph/op.h"

namespace hone {

enum class Cell { kTanh, kRelu, kGru, kLstm };

// The ATen operators `lstm.input`, `gru.input`, `rnn_tanh.input` and `rnn_relu.input`: any number of layers, one or two
// directions, LSTM with projections; all steps' last hidden values, then the last step's of every layer (and its cell
// values). Dropout between layers has to be off.
void DefineRecurrent(OpCall& call, Cell cell);

// One step of them: `lstm_cell`, `gru_cell`, `rnn_tanh_cell`, `rnn_relu_cell`.
void DefineRecurrentCell(OpCall& call, Cell cell);

}  // namespace hone
