#include "problem/import/bridge.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hone {
namespace {

constexpr std::size_t kLongestArgument = 100 << 10;

// The lines of the text, as many of them in each piece as an argument may hold.
std::vector<std::string> Pieces(std::string_view text) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    std::size_t length = std::min(text.size(), kLongestArgument);
    if (const std::size_t end = text.rfind('\n', length - 1); length < text.size() && end != std::string_view::npos)
      length = end + 1;
    pieces.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return pieces;
}

}  // namespace

extern const std::string_view kImportBridge, kShrinkBridge, kBaselineBridge;  // embedded by CMake

std::string_view ImportBridge() { return kImportBridge; }
std::string_view ShrinkBridge() { return kShrinkBridge; }
std::string_view BaselineBridge() { return kBaselineBridge; }

std::vector<std::string> ProgramArguments(std::string_view text) {
  std::vector<std::string> arguments = {"-I", "-c"}, pieces = Pieces(text);
  if (pieces.size() > 1) {
    // Of the arguments, only those that are meant for the program are left.
    arguments.emplace_back(
        "import sys; pieces = int(sys.argv[1]); program = ''.join(sys.argv[2 : 2 + pieces]); "
        "del sys.argv[1 : 2 + pieces]; exec(compile(program, '<string>', 'exec'))");
    arguments.push_back(std::to_string(pieces.size()));
  }
  std::ranges::move(pieces, std::back_inserter(arguments));
  return arguments;
}

}  // namespace hone
