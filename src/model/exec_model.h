// A model that a program asks for us: an agent's command line, or any other that reads a question from its standard
// input and prints an answer. It runs in an empty folder, gets no variable but those that are named, and its time-out
// ends it with all that it started. SIGPIPE has to be ignored.
#pragma once

#include <memory>

#include "model/model.h"

namespace hone {

std::unique_ptr<Model> MakeExecModel(ModelEntry entry, Provider provider);

}  // namespace hone
