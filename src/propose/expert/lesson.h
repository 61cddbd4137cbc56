// Changes of settings as lessons (propose/experience.h), and settings as texts.
#pragma once

#include <string>

#include "dsl/kernel.h"
#include "propose/experience.h"

namespace hone::expert {

// The lesson that changes this kernel's knob; before, after and share are left to the caller.
Lesson LessonAt(const dsl::Kernel& kernel, const std::string& knob);

// The setting that dsl::ToString wrote.
dsl::Setting ReadSetting(const std::string& text);

}  // namespace hone::expert
