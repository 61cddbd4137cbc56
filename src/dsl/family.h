// What an operator family is: one file in dsl/families/, one HONE_ROW(Family), collected by a generated table. It says
// what is computed: grammar, shapes, meaning. How it is computed, on which device, say its ways (dsl/way.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/row.h"
#include "dsl/kernel.h"

namespace hone::dsl {

// One thing that can be set on a kernel.
struct Knob {
  std::string_view name;  // "tile"
  std::string_view doc;   // "rows x columns x depth of the block that stays in cache"
  // The values worth trying for this kernel on its device, the default first; none where it means nothing for this
  // kernel, which then has no such setting. The checker accepts more than these: see `check`.
  std::vector<Setting> (*values)(const Kernel& kernel);
  // Why this value is not legal here, or nothing.
  std::optional<std::string> (*check)(const Kernel& kernel, const Setting& value);
  // Whether a value pays where the neighbours have it too: the expert tries the second one in all statements at once.
  bool with_neighbours = false;
  // Whether it is there to save energy and not time: it has no default, and the expert tries its values only for who
  // asks for less energy.
  bool saves_energy = false;
};

// A number, or one a dimension, that is part of what a kernel computes: a stride, a padding.
struct Attribute {
  std::string_view name;
  std::string_view doc;
};

// What a product made, its columns taken as pairs so far apart, a power of two, and each pair turned by a quarter:
// minus the second one in the first one's place, and the first one in the second one's.
constexpr NamedValue RotatedValue(int distance) { return {NamedValue::Kind::kIt, distance}; }

struct Family {
  std::string_view name;
  std::string_view doc;                        // a sentence for docs/language.md and --help
  std::string_view grammar;                    // "reduce sum|prod|max|min (EXPR) over [AXES]"
  std::span<const std::string_view> variants;  // empty: none allowed
  int operands = 1;
  int further_operands = 0;  // that may be left out
  bool takes_axes = false, takes_lets = false;
  bool takes_indices = false;  // a nest: its operand is an element expression over indices of its own
  bool takes_also = false;     // further results
  bool keeps_axes = false;     // the result has the reduced dimensions too, as softmax and norms have
  // The knob by which a text chooses among its ways, where a device has several.
  std::string_view cpu_choice = "way", cuda_choice = "way";
  std::span<const Attribute> attributes = {};
  // Null: the space is the operands' broadcast shape. Otherwise sets kernel.space and kernel.axes from the operands'
  // shapes, the attributes (to which it adds those left out) and the axes as written, and says which dimensions of the
  // space each operand's dimensions are; or returns why the shapes do not fit. A dimension that is read at a computed
  // place (the window of a convolution) is one of its own, among `axes`; the family's back end says where it stands.
  // Where indices are taken, the space is known by then and there are no operand shapes.
  std::optional<std::string> (*shape)(Kernel& kernel, const std::vector<Shape>& operand_shapes,
                                      std::vector<std::vector<int>>& operand_dims) = nullptr;
  // Null: the result's dimensions stand as in the space. Else which dimensions of the space they are, in their order.
  std::vector<int> (*result_dims)(const Kernel& kernel) = nullptr;
  // Null: lets fold over the axes. Else a let is an expression of `it`, a real of the family's, over these dimensions
  // of the space.
  std::vector<int> (*let_dims)(const Kernel& kernel) = nullptr;
  // Where lets do not fold: the function whose argument that expression is, and which then has no `it`; or none.
  std::string_view let_function = {};
  // Functions of such an expression that take nothing: where it stands along the last of those dimensions.
  std::span<const std::string_view> let_places = {};
  // Null, or the function of the chain that takes nothing and is kRowSum.
  std::string_view (*row_sum)(const Kernel& kernel) = nullptr;
  // A function of the chain that takes how far apart two columns are: RotatedValue; or none.
  std::string_view rotation = {};
  // Null, or what else must hold of a kernel whose expressions are known: why it does not.
  std::optional<std::string> (*check)(const KernelProgram& program, const Kernel& kernel) = nullptr;
  // Null: `it` in the chain has the operand's type.
  ScalarType (*type)(const Kernel& kernel) = nullptr;
  // Its work is products of matrices, for which devices have units of their own where operands have 16 bits.
  bool multiplies = false;
  // Floating-point operations of one run, for the cost model.
  double (*flops)(const Kernel& kernel) = nullptr;
};

std::span<const Family* const> AllFamilies();
const Family* FindFamily(std::string_view name);

}  // namespace hone::dsl
