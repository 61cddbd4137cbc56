// What the expert's expressions read. A load is written as in the graph, one index a dimension of the buffer (which may
// be a reshape of another), or as Load(buffer, {flat}) with the row-major position alone. What a fold has made is kIt.
#pragma once

#include <optional>
#include <vector>

#include "analysis/range.h"
#include "expr/affine.h"
#include "graph/graph.h"

namespace hone::expert {

struct FlatLoad {
  int buffer = -1;  // whose memory it is: not a reshape of another
  std::optional<Affine> position;
  ScalarType type = ScalarType::kReal;
};

// Of one graph, which has to outlive it.
class Memory {
 public:
  explicit Memory(const Graph& graph);

  const Graph& graph() const { return *graph_; }
  const Shape& shape(int buffer) const { return shapes_[static_cast<std::size_t>(buffer)]; }
  // What loads of the buffer's memory say where its second dimension lies innermost, as a piece makes it that has its
  // space so: a buffer for expressions alone, whose root is this one. Nothing if it has less than three dimensions.
  std::optional<int> ChannelsLast(int buffer) const;
  // The buffer whose elements this one has in the same order, through reshapes; itself if it is none. An output that
  // needs memory of its own (because it would share an input's or another output's) reads from where it is copied.
  int Root(int buffer) const { return roots_[static_cast<std::size_t>(buffer)]; }
  // The buffer of the piece that makes the output.
  int Maker(std::size_t output) const { return makers_[output]; }
  bool IsOutput(int buffer) const;
  // What PyTorch keeps of a root's elements: its own type, or halves where all that computes with them reads halves.
  DType KeptAs(int root) const { return kept_as_[static_cast<std::size_t>(root)]; }
  // What elements of a buffer may be, as far as types and definitions say.
  const Range& RangeOf(int buffer) const { return ranges_[static_cast<std::size_t>(buffer)]; }

  std::optional<Affine> Position(const ExprNode& load) const;  // row-major; nothing if it depends on data
  // Every load of memory with its position, in order of first meeting.
  std::vector<FlatLoad> Loads(const Expr& expr) const;
  // The expression with each affine load in its flat form.
  Expr Flat(const Expr& expr) const;

 private:
  const Graph* graph_;
  std::vector<Shape> shapes_;   // by buffer, then those of ChannelsLast
  std::vector<int> roots_;      // likewise
  std::vector<int> makers_;     // by output
  std::vector<DType> kept_as_;  // by buffer
  std::vector<Range> ranges_;   // by buffer
};

}  // namespace hone::expert
