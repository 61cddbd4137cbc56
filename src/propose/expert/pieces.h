// The expert's view of a graph: pieces of work that a kernel could do, made from the graph's stages and then fused. A
// piece is a map (an element expression), a fold (one reduction with an expression before and after it) or a norm
// (folds over one set of axes and an element expression that reads them). Which operators they came from no longer
// matters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "propose/expert/affine.h"

namespace hone::expert {

// In a piece's expressions a load is Load(buffer, {flat position}) of a buffer that is not a reshape of another, and
// Load(kIt, {}) is the folded value.
inline constexpr int kIt = -1;

struct Fold {
  std::vector<IndexVar> over;
  ReduceOp op = ReduceOp::kSum;
  Expr body;    // over the piece's space and `over`
  Expr finish;  // of kIt, over the piece's space
};

struct Piece {
  int buffer = -1;                // what it makes
  std::vector<IndexVar> space;    // the result's dimensions; row-major over them is the buffer's own order
  std::optional<Fold> fold;       // a fold
  Expr value;                     // a map's or norm's element; not used by a fold
  std::vector<Piece> statistics;  // a norm's folds in order; their spaces are `space` without `axes`
  std::vector<int> axes;          // of a norm: the dimensions of `space` that its statistics fold
  bool is_map() const { return !fold && statistics.empty(); }
};

// What may be fused; each is a choice that the search can take back.
struct Fusion {
  bool maps = true;       // maps into maps and into the bodies of folds
  bool epilogues = true;  // maps behind folds into them
  bool norms = true;      // folds and the map that reads them
  bool operator==(const Fusion&) const = default;
};

// One piece a stage that does work, or nothing if some stage is beyond pieces (a gather, a scan: positions that are not
// affine).
std::optional<std::vector<Piece>> PiecesOf(const Graph& graph);

std::vector<Piece> Fuse(const Graph& graph, std::vector<Piece> pieces, const Fusion& fusion);

// The buffer whose memory this one is (through reshapes).
int RootBuffer(const Graph& graph, int buffer);

// Every load of the expression with its position, in order of first meeting.
struct FlatLoad {
  int buffer = -1;
  Affine position;
  ScalarType type = ScalarType::kReal;
};
std::vector<FlatLoad> LoadsOf(const Expr& expr);

}  // namespace hone::expert
