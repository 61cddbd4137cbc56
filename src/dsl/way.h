// A way is one kernel by which what a family says is computed on one kind of device: one file in dsl/cpu/ways/ or
// dsl/cuda/ways/, one HONE_ROW(Way), collected by a generated table each. Nothing else names
// it: the language, help and the expert go through the tables.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/row.h"
#include "dsl/family.h"
#include "dsl/kernel.h"

namespace hone::dsl {

class Writer;        // dsl/cpu/writer.h
class DeviceWriter;  // dsl/cuda/writer.h

struct Way {
  std::string_view family;     // what it computes: "matmul"
  std::string_view name = {};  // the word by which a text chooses it: "simt"; empty where the family has no other way
  std::string_view doc = {};   // when one chooses it, for docs/language.md and --help
  // Why it cannot make this kernel on the kernel's device, or nothing. Null: it makes all that the family says.
  std::optional<std::string> (*why_not)(const Kernel& kernel) = nullptr;
  // About how many times as long as the device's limits allow the kernel takes. The least is the default, and the
  // expert tries the others in this order; what has none is made only where a text asks for it. Null: 1.
  std::optional<double> (*cost)(const Kernel& kernel) = nullptr;
  // Whether its products are the tensor cores', where the family does not say so.
  bool multiplies = false;
  // Whether a family's products may be of whole numbers: other ways are not asked for such.
  bool wholes = false;
  // Of convolutions: whether it reads images and weights with their channels last however the result lies, and ends
  // elements itself (dsl/cuda/channels_last.h).
  bool reads_channels_last = false;
  // Likewise: whether it reads them however they lie, writes the result as `layout` says, and ends elements itself.
  bool reads_as_it_lies = false;
  // How many of its elements look at all terms of their folds, for predictions. Null: all.
  double (*looks)(const Kernel& kernel) = nullptr;
  // Bytes that it moves beside each operand and result once, for predictions. Null: none.
  double (*bytes_beside)(const KernelProgram& program, const Kernel& kernel) = nullptr;
  // The inputs that it copies into an order of its own before, each by a launch, if they are no parameters. Null: none.
  std::vector<std::size_t> (*packs)(const Kernel& kernel) = nullptr;
  double least_us = 0;  // that a launch takes at least, if that is more than any does (propose/expert/cost.cc)
  // Whether its chain may rotate pairs of columns (RotatedValue): other ways are not asked for such.
  bool rotates = false;
  // Whether it reads a row whole before it writes any of it (shape/updated_rows.h): other ways are not asked for a nest
  // that needs that.
  bool reads_rows = false;
  std::span<const Knob> knobs = {};  // in this order: a default may depend on those before it
  // One of them: writes the kernel's function body, or adds its kernels and launches to a plan.
  void (*emit_cpu)(const KernelProgram& program, const Kernel& kernel, Writer& writer) = nullptr;
  void (*emit_cuda)(const KernelProgram& program, const Kernel& kernel, DeviceWriter& writer) = nullptr;
};

std::span<const Way* const> AllCpuWays();
std::span<const Way* const> AllCudaWays();

// Those of a family, by their files' names; none: it does not run on such a device.
std::vector<const Way*> WaysOf(const Family& family, DeviceKind device);
// As Way::cost has it; nothing: it cannot make the kernel, or is made only where a text asks for it.
std::optional<double> CostOf(const Way& way, const Kernel& kernel);
// As Way::looks has it, of the kernel's way.
double LooksOf(const Kernel& kernel);
// How many times as long as the kernel's own way the one takes that the choice names, by what both say: 1 where one of
// them does not say.
double SlowerBy(const Setting& choice, const Kernel& kernel);
// The knob by which a text chooses among several; empty where there is one way at most.
std::string_view ChoiceOf(const Family& family, DeviceKind device);

// Sets kernel.way: to what the settings choose, else to the best that can make it, which the settings then name. Or
// says why not. Of the settings the choice is looked at, and what ways ask for.
std::optional<std::string> ChooseWay(Kernel& kernel);
// Sets what the settings leave open to the way's defaults.
void FillSettings(Kernel& kernel);

// What can be set on a kernel whose way is chosen: the choice, if there is one, then the way's own knobs.
std::vector<Knob> KnobsOf(const Kernel& kernel);

// What can be set on the kernels of a family, of whatever way, for people.
struct KnobRow {
  std::string name, doc;
};
std::vector<KnobRow> KnobRows(const Family& family, DeviceKind device);

}  // namespace hone::dsl
