// Who calls a verb in a test and wants to hear nothing meanwhile.
#pragma once

#include <string_view>

#include "command/command.h"

namespace hone::testing {

class Silence : public Listener {
  void Progress(std::string_view) override {}
  void Note(std::string_view) override {}
  bool live() const override { return false; }
};

}  // namespace hone::testing
