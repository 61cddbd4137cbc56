// The kernel language in memory: what the parser makes of a .hk text, what the expert builds, what the printer writes.
// docs/language.md is the grammar with examples:
//
//   program mlp_layer
//   input  x: f32[512, 1024]
//   param  w: f32[4096, 1024]
//   param  b: f32[4096]
//   output y: f32[512, 4096]
//   view wt = w: [1024, 4096] strides [1, 1024]
//   y = matmul(x, wt) with {tile: 64x256x256, threads: 2} -> it + b -> gelu(it)
//
// A plain value; no thread rules.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "problem/problem.h"

namespace hone::dsl {

struct Position {
  int line = 0, column = 0;  // from 1; 0 when built, not parsed
};

// A named index with its range: 0 <= name < extent.
struct LoopIndex {
  std::string name;
  std::int64_t extent = 1;
};

// A scalar expression as written. Names are tensors, views, earlier values or lets; broadcasting is numpy's, aligned at
// the last dimension of the statement's iteration space. In a nest, names are its indices, and elements and folds are
// written out: x[i, j + 1], sum [k < 64] (a[i, k] * b[k, j]).
struct Term;
using TermPtr = std::shared_ptr<const Term>;
struct Term {
  enum class Kind : std::uint8_t { kNumber, kIt, kName, kCall, kElement, kFold };
  Kind kind = Kind::kNumber;
  double number = 0;
  std::string name;  // kName, kElement: what is read; kCall: the function ("exp", "select", "+", "<", "neg") or, in
                     // lets, a fold ("sum", "max_over"); kFold: sum, prod, max, min, any, all, argmax, argmin
  std::vector<TermPtr> arguments;  // kElement: one index a dimension; kFold: what is folded
  Position at;
  std::vector<LoopIndex> over;  // kFold
};
TermPtr Number(double value);
TermPtr It();
TermPtr Name(std::string name);
TermPtr Call(std::string function, std::vector<TermPtr> arguments);
TermPtr Element(std::string name, std::vector<TermPtr> indices);
TermPtr FoldOver(std::string fold, std::vector<LoopIndex> over, TermPtr body);

struct Declaration {
  Role role = Role::kInput;
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  Position at;
  std::string updates = {};  // of an output: the input in whose memory it is made; empty: memory of its own
};

// Another way to index a tensor or an earlier value: element [i, j, ...] of the view is at offset + i * strides[0] + j
// * strides[1] ... (in elements). Transposes, reshapes, broadcasts (stride 0) and slices are all views; they cost
// nothing by themselves.
struct View {
  std::string name, base;
  Shape shape;
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;
  Position at;
};

// A knob's value: a whole number, a word, or a tuple such as 64x256x256.
struct Setting {
  std::variant<std::int64_t, std::string, std::vector<std::int64_t>> value;
  Position at;
  bool operator==(const Setting& other) const { return value == other.value; }
};

// An attribute's value is one number or a tuple of them.
using Attributes = std::map<std::string, std::vector<std::int64_t>>;

struct Let {
  std::string name;
  TermPtr value;  // holds exactly one fold over the statement's axes: sum(...), prod(...), max_over(...), min_over(...)
  Position at;
};

// A further result of a statement, beside the one that its chain makes and of the same shape: its `it` is the chain's
// first, and it sees the lets.
struct Also {
  std::string target;
  std::optional<DType> target_type;  // these three as a statement's own
  Shape target_shape;
  bool has_target_shape = false;
  TermPtr value;
  Position at;
};

// NAME = FAMILY [indices] (operands) over [axes] by {attributes} with {knobs} let ... -> expression -> expression
// also NAME = expression
struct Statement {
  std::string target;
  std::string family;             // a file of dsl/families/
  std::string variant;            // a word after the family: "reduce sum", "softmax log"; empty if none
  std::vector<LoopIndex> loops;   // of a nest: one a dimension of the result
  std::vector<TermPtr> operands;  // expressions: a prologue is fused
  std::vector<int> axes;          // of the operands' broadcast shape, sorted; empty if the family takes none
  Attributes attributes;          // what the family computes, beside its operands: {stride: 2x2, padding: 1x1}
  std::map<std::string, Setting> settings;  // how; every legal one gives the same result up to rounding
  std::vector<Let> lets;
  std::vector<TermPtr> epilogue;  // each sees the one before as `it`
  Shape target_shape;  // optional annotation `NAME: [shape] = ...`: the result is stored reshaped; empty = the family's
                       // shape
  bool has_target_shape = false;
  std::optional<DType> target_type;  // optional annotation `NAME: bf16 = ...`: what a new value is stored as
  std::vector<Also> also;
  Position at;
};

struct Program {
  std::string name;
  std::vector<Declaration> declarations;
  std::vector<View> views;  // in the order of the text, before the statements that use them
  std::vector<Statement> statements;
};

// One complaint about a text: where, which rule is broken, and the mend.
struct Complaint {
  Position at;
  std::string message;  // "unknown family 'sofmax': did you mean 'softmax'?"
};
std::string ToString(
    const Complaint& complaint);  // "line 6, column 9: ..."; only the message when the program was not parsed

// Canonical text: Parse(Print(p)) gives p again and printing that gives the same text.
std::string Print(const Program& program);
std::string Print(const TermPtr& term);
// Either a program or why not.
std::variant<Program, Complaint> Parse(std::string_view text);

}  // namespace hone::dsl
