// The baselines that hone brings, by the names by which options choose them and results show them. PyTorch's are the
// modes of problem/import/bridge/hone_baseline.py; a test holds that, and that help names them all.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

namespace hone {

struct BaselineRow {
  std::string_view name;
  std::string_view words;   // for people
  bool torch = true;        // needs PyTorch
  bool host = false;        // there is one on the processor
  bool device = true;       // and on a CUDA device
  bool usual = true;        // is timed unless others are asked for
  bool as_accurate = true;  // as PyTorch is by default
  bool slow = false;        // getting ready takes it tens of seconds, or minutes
};
inline constexpr BaselineRow kBaselines[] = {
    {.name = "naive", .words = "the naive loop nest, g++ -O3", .torch = false, .host = true, .device = false},
    {.name = "eager", .words = "PyTorch eager", .host = true},
    {.name = "eager_tf32", .words = "PyTorch eager, TF32", .as_accurate = false},
    {.name = "eager_graph", .words = "PyTorch eager in a CUDA graph"},
    {.name = "compile", .words = "torch.compile", .host = true, .slow = true},
    {.name = "compile_max_autotune", .words = "torch.compile, max-autotune", .usual = false, .slow = true},
};

// The words for a baseline; one that we do not bring has its name alone.
inline std::string BaselineWords(const std::string& name) {
  const auto* row =
      std::find_if(std::begin(kBaselines), std::end(kBaselines), [&](const auto& one) { return one.name == name; });
  return row == std::end(kBaselines) ? name : std::string(row->words);
}

}  // namespace hone
