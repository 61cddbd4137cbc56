#include "propose/expert/lesson.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "dsl/family.h"
#include "dsl/knobs.h"

namespace hone::expert {

Lesson LessonAt(const dsl::Kernel& kernel, const std::string& knob) {
  constexpr int kStep = 4;
  double elements = 1;
  for (const IndexVar& index : kernel.space) elements *= static_cast<double>(index.extent);
  Lesson lesson;
  lesson.family = kernel.family->name;
  lesson.knob = knob;
  lesson.dtype = Name(kernel.target_type);
  lesson.size = static_cast<int>(std::log2(std::max(1.0, elements)) / kStep) * kStep;
  return lesson;
}

dsl::Setting ReadSetting(const std::string& text) {
  std::vector<std::int64_t> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('x', at), text.size());
    std::int64_t part = 0;
    const auto read = std::from_chars(text.data() + at, text.data() + end, part);
    if (read.ec != std::errc() || read.ptr != text.data() + end) return dsl::Word(text);
    parts.push_back(part);
    at = end + 1;
  }
  if (parts.empty()) return dsl::Word(text);
  return parts.size() == 1 ? dsl::Whole(parts.front()) : dsl::Tuple(std::move(parts));
}

}  // namespace hone::expert
