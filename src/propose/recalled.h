// What earlier runs found out that a new one may begin with. A run takes it from the store once, when it begins, and
// keeps it: its decisions follow from that, whatever others find out meanwhile.
//
//   run 0a1b2c, softmax, confirmed:  s = reduce max(x) ... with {vector: 32}  --.
//   run 3d4e5f, attention: a piece with the same text on the same device  <-- settings, with whose they are
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "propose/experience.h"
#include "target/device_model.h"

namespace hone {

// How a piece of a problem was computed by a program that won its run.
struct ProvenPiece {
  std::string text;                             // the piece, as expert/piece_text.h writes it
  std::map<std::string, std::string> settings;  // as the language writes them: "tile" to "64x256x256"
  double share = 0;                             // of the program's time, as predicted, 0 to 1
  double gain = 1;           // how many times as fast the program was as the start that it came from, >= 1
  std::string run, problem;  // whose it was
};

// What a piece is known by: its text, and how accurate it has to be.
std::string PieceKey(const std::string& text, Precision contract);  // 32 hex digits

struct Recalled {
  std::map<std::string, ProvenPiece> proven;  // by key
  Experience experience;
  bool empty() const { return proven.empty() && experience.empty(); }
};
std::string ToJson(const Recalled& recalled);             // "{}" when it is empty
Result<Recalled> ParseRecalled(const std::string& json);  // kCorrupt

// What may be known of all that the expert would begin with on the machine: its pieces' keys, and the families of its
// kernels, each once.
struct Beginnings {
  std::vector<std::string> keys, families;
};
Beginnings BeginningsOf(const Graph& graph, const DeviceModel& machine);

// The pieces of a program that was proved right, by key; none of a text that is no program of this problem's. `gain`,
// `run` and `problem` are left to the caller.
std::map<std::string, ProvenPiece> PiecesOfProgram(const std::string& text, const Problem& problem,
                                                   const DeviceModel& machine);

// Why a piece's text is no program for any device of the target; empty: it is one.
std::string WhyNoProgram(const std::string& piece, std::string_view target);

}  // namespace hone
