// One element of a nest as CUDA: what nests and sequences share.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsl/cuda/expr.h"
#include "dsl/cuda/writer.h"
#include "dsl/element.h"
#include "dsl/kernel.h"

namespace hone::dsl {

// The address of what is loaded, as one writes it: the largest steps first.
std::string AddressText(DeviceExpr& expr, const LinearForm& form);

// Lines that declare where `at` stands in a space of these indices; adds their names by index.
void NamePlaces(DeviceWriter& out, const Kernel& kernel, const std::vector<IndexVar>& indices, const std::string& at,
                std::map<int, std::string>& names);

// Ends and launches a kernel of so many threads, whole blocks of them, that reads what the nest reads and writes its
// target.
void LaunchNest(DeviceWriter& out, const Kernel& kernel, std::int64_t count, std::int64_t threads);

// Whether neighbours along the index are neighbours in the target.
bool RunsFastest(const Kernel& kernel, const IndexVar& index);

// How many neighbours along the innermost index a thread can take at once, at most so many bytes of the target's: 1
// where nothing that `read` loads lies so, though it loads something.
std::int64_t NeighboursOf(const Kernel& kernel, const FlatElement& element, const Expr& read,
                          std::int64_t most_bytes = 16);

// Whether data choose which rows an expression reads.
bool LooksUp(const Expr& expr);

// How many neighbours along the innermost folded index are read at once, 16 bytes of them at most: all that is read
// along it lies so. 1 where it does not.
std::int64_t TermsInPacks(const Kernel& kernel, const ExprNode& fold);

// What an expression loads of neighbours along an index, read as packs.
class PackedLoads {
 public:
  PackedLoads(const Kernel& kernel, const IndexVar& along, std::int64_t count)
      : kernel_(kernel), along_(along), count_(count) {}
  // Lines that read them; `names` is where the first of the neighbours is. What `terms` has read, of which it is the
  // one of this name, is not read again.
  void Write(DeviceWriter& out, const Expr& read, const std::map<int, std::string>& names,
             const PackedLoads* terms = nullptr, const std::string& term = "");
  // Neighbour `e` of a load, a value in a register; empty where it was not read so.
  std::string Text(const DeviceWriter& out, const ExprNode& load, const std::string& e) const;

 private:
  const Kernel& kernel_;
  const IndexVar along_;
  const std::int64_t count_;
  std::map<const ExprNode*, std::string> packs_;
};

// Lines that compute and store one element of a kernel's target, its indices named; by a whole warp if `lane`, the
// thread's number in it, is given. `made` stands for the value kIt, where there is one.
struct ElementPlace {
  std::string lane = {}, made = {};
  std::string to = {};                 // where the element goes, if not to the target
  const PackedLoads* packs = nullptr;  // what was read of neighbours, of which it is this one
  std::string neighbour = {};
  const PackedLoads* terms = nullptr;  // what was read of a fold's terms side by side, of which it is this one
  std::string term = {};
  // What was read of it already, a value in memory's type in a register; empty where nothing was.
  std::function<std::string(const ExprNode& load)> read = {};
  bool stored = false;  // it is rounded to what the target holds
};
void WriteElement(DeviceWriter& out, const Kernel& kernel, const FlatElement& element,
                  const std::map<int, std::string>& names, const ElementPlace& place = {});
// An expression of flat form at the named indices, as a value in a register; may write lines.
std::string ValueText(DeviceWriter& out, const Kernel& kernel, const Expr& value,
                      const std::map<int, std::string>& names, const ElementPlace& place = {});
// Likewise of `count` neighbours along the innermost index, whose name says which of such groups; what is read along it
// is read as packs, and so is the target written. `made`: an array, of the neighbours.
void WriteNeighbours(DeviceWriter& out, const Kernel& kernel, const FlatElement& element,
                     std::map<int, std::string> names, std::int64_t count, const std::string& made = "");
// The target's element at the named indices: "y[i * 64 + j]".
std::string TargetText(const DeviceWriter& out, const Kernel& kernel, const std::map<int, std::string>& names);

}  // namespace hone::dsl
