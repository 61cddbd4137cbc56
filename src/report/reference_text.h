// The text of a PyTorch module without what it computes: for exports that need its constructor alone.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace hone {

struct ReferenceText {
  std::string before, after;           // around the body of ModelNew.forward; both end in a newline
  std::string indent;                  // of that body
  std::vector<std::string> arguments;  // forward's, without self
};

// `source` with its class Model renamed to ModelNew (other classes and functions get an underscore), so that running it
// beside the original leaves the original's names alone. The bodies of all `forward`s go, so do comments, docstrings,
// get_inputs and get_init_inputs. kUsage, about `name`, if there is no class Model with a forward, or a string does not
// end.
Result<ReferenceText> ConstructorOnly(const std::string& source, const std::string& name);

}  // namespace hone
