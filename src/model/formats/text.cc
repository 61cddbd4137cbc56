// The answer and nothing else. What it took is not told.
#include "model/exec_format.h"

namespace hone::format_text {

HONE_ROW(ExecFormat){.name = "text",
                     .doc = "the answer and nothing else: llm, ollama run",
                     .read = [](const std::string& output) { return Result<ModelReply>(ModelReply{.text = output}); }};

}  // namespace hone::format_text
