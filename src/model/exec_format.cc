#include "model/exec_format.h"

namespace hone {

const ExecFormat* FindExecFormat(std::string_view name) {
  for (const ExecFormat* format : AllExecFormats()) {
    if (format->name == name) return format;
  }
  return nullptr;
}

}  // namespace hone
