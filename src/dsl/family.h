// What an operator family is: one file in dsl/families/, one FAMILY(name), collected by a generated table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/kernel.h"

namespace hone::dsl {

// What a machine offers, as far as legal and sensible settings depend on it.
struct Limits {
  int threads = 1;
  int vector_bytes = 32;
  std::int64_t l1_bytes = 32 << 10, l2_bytes = 1 << 20, l3_bytes = 0;
};

// One thing that can be set on a kernel of the family.
struct Knob {
  std::string_view name;  // "tile"
  std::string_view doc;   // "rows x columns x depth of the block that stays in cache"
  // The values worth trying for this kernel on this machine, the default first. The checker accepts more than these: see `check`.
  std::vector<Setting> (*values)(const Kernel& kernel, const Limits& limits);
  // Why this value is not legal here, or nothing.
  std::optional<std::string> (*check)(const Kernel& kernel, const Setting& value);
};

class Writer;  // dsl/cpu/writer.h: indented C++ text and the expression printer

struct Family {
  std::string_view name;
  std::string_view doc;       // a sentence for docs/language.md and --help
  std::string_view grammar;   // "reduce sum|prod|max|min (EXPR) over [AXES]"
  std::span<const std::string_view> variants;  // empty: none allowed
  int operands = 1;
  bool takes_axes = false, takes_lets = false;
  std::span<const Knob> knobs;
  // Result shape of a kernel whose space, axes and inputs are set; or why it cannot be. May fill kernel.result and reshape `space`.
  std::optional<std::string> (*shape)(Kernel& kernel, const std::vector<Shape>& operand_shapes);
  // Floating-point operations of one run, for the cost model.
  double (*flops)(const Kernel& kernel);
  // Writes the kernel's function body.
  void (*emit_cpu)(const KernelProgram& program, const Kernel& kernel, Writer& writer);
};

std::span<const Family* const> AllFamilies();
const Family* FindFamily(std::string_view name);

}  // namespace hone::dsl

#define HONE_FAMILY(id) \
  extern const Family family_##id; \
  constinit const Family family_##id
