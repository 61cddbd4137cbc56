// Expressions of indices alone at many places.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "expr/expr.h"

namespace hone {

// Whether an expression is of these indices alone, by their ids: no load, no value, no fold.
bool IsOfIndices(const Expr& e, const std::map<int, std::size_t>& ranks);

// Expressions as steps, each of which makes a number of those before it, so that what several share is computed once;
// kBatch places at a time. Truth values are 0 and 1. Not thread-safe.
class IndexSteps {
 public:
  static constexpr std::size_t kBatch = 256;
  using Column = std::array<double, kBatch>;  // a number a place

  // `ranks`: from an index's id to its column of places, each of 0 to their count once.
  explicit IndexSteps(std::map<int, std::size_t> ranks) : ranks_(std::move(ranks)), places_(ranks_.size()) {}

  // The number of the step that makes it. The expression is of these indices alone, and outlives this.
  std::size_t Add(const Expr& e) { return Add(*e); }

  Column& place(std::size_t rank) { return places_[rank]; }  // of an index, to be filled before Run
  // Fills those of these indices with places `first`, `first` + 1 .. of all that they can be at, the last one fastest.
  void Place(const std::vector<IndexVar>& vars, std::int64_t first, std::size_t count);
  void Run();
  const Column& made(std::size_t step) const { return columns_[step]; }
  // Whether all that any step has made is a whole number that a double has exactly.
  bool AllWhole() const;

  // The same for all steps that are the same but for the ids of their indices.
  std::string Key() const;

 private:
  struct Step {
    Expr::Kind kind{};
    ScalarType type{};
    int op = 0;                             // of a unary or a binary one
    double constant = 0;                    // of a constant
    std::array<std::size_t, 3> operands{};  // of an index: its rank
  };

  std::size_t Add(const ExprNode& node);
  void Do(const Step& step, Column& made) const;

  std::map<int, std::size_t> ranks_;
  std::vector<Step> steps_;
  std::unordered_map<const ExprNode*, std::size_t> numbers_;
  std::vector<Column> columns_;  // what each step makes
  std::vector<Column> places_;   // by rank
};

}  // namespace hone
