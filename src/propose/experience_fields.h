// How lessons and what is known of their kinds become JSON.
#pragma once

#include "base/record.h"
#include "propose/experience.h"

namespace hone {

template <SameAs<Lesson> Of>
void Fields(Of& lesson, auto&& field) {
  field("family", lesson.family);
  field("knob", lesson.knob);
  field("before", lesson.before);
  field("after", lesson.after);
  field("dtype", lesson.dtype);
  field("size", lesson.size, WrittenUnless{0});
  field("limit", lesson.limit);
  field("share", lesson.share, WrittenUnless{1.0});
  field("gain", lesson.gain, WrittenUnless{0.0});
  field("refused", lesson.refused, WrittenUnless{false});
}

template <SameAs<Tally> Of>
void Fields(Of& tally, auto&& field) {
  field("lessons", tally.lessons);
  field("refused", tally.refused);
  field("shares_squared", tally.shares_squared);
  field("brought", tally.brought);
  field("helped", tally.helped, WrittenUnless{0.0});
}

}  // namespace hone
