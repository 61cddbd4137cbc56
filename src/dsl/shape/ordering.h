// What an `order` statement puts in order, as its ways see it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dsl/kernel.h"

namespace hone::dsl {

struct Ordering {
  explicit Ordering(const Kernel& kernel);

  IndexVar along;                // of a row's elements
  IndexVar place;                // of a row's results
  std::vector<IndexVar> others;  // of rows, outermost first
  std::int64_t rows = 1;
  bool descending = false;

  // What dimension d of the kernel's space is called where indices have these names, by their ids; "0" if none.
  static std::vector<std::string> Texts(const Kernel& kernel, const std::map<int, std::string>& names);
};

}  // namespace hone::dsl
