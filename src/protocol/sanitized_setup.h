// What the process that compute-sanitizer watches is told, as one line of JSON on its standard input
// (worker/sanitized.h).
#pragma once

#include <string>

#include "base/record.h"
#include "protocol/protocol.h"

namespace hone {

struct SanitizedSetup {
  std::string problem, folder;  // as JSON, and where its files are
  Form form = Form::kPlan;
  std::string built;  // path of a built plan or a compiled module
};

template <SameAs<SanitizedSetup> Of>
void Fields(Of& setup, auto&& field) {
  field("problem", setup.problem);
  field("folder", setup.folder);
  field("form", setup.form, ByName<Form>{Name, ParseForm});
  field("built", setup.built);
}

}  // namespace hone
