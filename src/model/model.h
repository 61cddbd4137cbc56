// A language model that can be asked: one entry of the models file with the provider that serves it.
//
//   Ask --> POST --> 200: read the stream --> whole --> ModelReply
//            ^        |  other status, or cut, or silent
//            '--------'  worth another try: wait, and once more; a parameter is refused: without it; else an error
//
// The rule of the SDKs: what passes (408, 409, 429, 5xx, a connection that fails) is tried again twice, after what
// `retry-after` says or half a second, doubled each time; what money ends is not. Nothing else is asked instead.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/conversation.h"
#include "model/models_file.h"

namespace hone {

// What came of asking.
struct Asked {
  // Else kUsage (what is asked or who asks is refused: 400, 401, 413, money), kIo, kTimeout or kInterrupted, with the
  // model's and the server's names in the message and never a key.
  Result<ModelReply> reply = ModelReply();
  TokenUse usage = {};  // of all tries together, as far as anybody said
  int tries = 0;
  int untold = 0;                       // tries that may have cost something of which nobody said what
  std::vector<std::string> notes = {};  // what a person should know, a line each: a parameter that was dropped
};

// Whether another try may be made, after what those before it came to.
using GoOn = std::function<bool(const Asked&)>;

// One thread asks; it is asked one question at a time.
class Model {
 public:
  virtual ~Model() = default;
  // Blocks. Before each try after the first it asks whether it may: kSpent when it may not.
  virtual Asked Ask(const Conversation& conversation, const GoOn& go_on) = 0;
  // Asks the Ask in work to end soon; from any thread, several times.
  virtual void Interrupt() = 0;
};

// kUsage when there is no such model, or no key where one is named.
Result<std::unique_ptr<Model>> OpenModel(const ModelsFile& file, std::string_view name);

}  // namespace hone
