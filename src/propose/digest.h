// What earlier runs found out, in words, for those who write texts.
#pragma once

#include <string>

#include "propose/recalled.h"

namespace hone {

// A section of a question in Markdown: the surest lessons of what changes of settings bring, and the pieces that won.
// Empty where little is known. It is data: what may come from another store stands in fences.
std::string DigestOf(const Recalled& recalled);

}  // namespace hone
