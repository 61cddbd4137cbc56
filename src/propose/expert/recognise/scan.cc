// A step that combines the one before with an element: scan.
#include "propose/expert/recognise/recognise.h"

namespace hone::expert::recogniser_scan {

namespace {

std::optional<dsl::Statement> RecogniseScan(Names& names, const Piece& piece) {
  const auto scan = ScanOf(piece);
  if (!scan) return std::nullopt;
  Shape reached(piece.space.size(), 1);
  for (const auto& load : names.memory().Loads(scan->element)) {
    if (load.buffer == piece.buffer || !load.position) return std::nullopt;
    for (std::size_t d = 0; d < reached.size(); ++d) {
      if (load.position->of(piece.space[d]) != 0) reached[d] = piece.space[d].extent;
    }
  }
  if (reached != Extents(piece.space)) return std::nullopt;
  // What operands are broadcast to has no outer dimensions of extent 1.
  int ones = 0;
  while (reached[static_cast<std::size_t>(ones)] == 1 && ones < piece.along) ++ones;
  auto term = names.Term(scan->element, piece.space, {});
  if (!term) return std::nullopt;
  dsl::Statement statement;
  statement.family = "scan";
  statement.variant = scan->word;
  statement.operands.push_back(std::move(*term));
  statement.axes = {piece.along - ones};
  if (piece.reversed) statement.attributes["reverse"] = {1};
  if (scan->exclusive) statement.attributes["exclusive"] = {1};
  statement.target_shape.assign(reached.begin() + ones, reached.end());
  return statement;
}

}  // namespace

HONE_ROW(Recogniser){.name = "scan", .form = Form::kStep, .place = 10, .recognise = RecogniseScan};

}  // namespace hone::expert::recogniser_scan
