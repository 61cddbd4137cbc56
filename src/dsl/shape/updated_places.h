// Nests that are written into an input (KernelBuffer::updates) and leave most of it as it is: at which places something
// is written.
//
//   k_after = nest [b, h, s, d] (select(s == at[0], new[b, h, 0, d], k[b, h, s, d]))
//
// is made at s = at[0] alone.
#pragma once

#include <optional>
#include <string>

#include "dsl/element.h"
#include "dsl/kernel.h"

namespace hone::dsl {

struct UpdatedPlaces {
  Kernel kernel;        // its space is that of places at which something may be written: fewer than the target has
  FlatElement element;  // what is written there, in flat form
  Expr condition;       // whether it is; null: always
  Expr address;         // where, in the target
};

// Nothing of a nest that is of another form.
std::optional<UpdatedPlaces> UpdatedPlacesOf(const Kernel& kernel);
// Why a way that writes such places alone cannot make a nest, or nothing.
std::optional<std::string> WhyNoUpdatedPlaces(const Kernel& kernel);
// Whether a kernel reads what its target replaces: it is written into an input that it reads.
bool ReplacesOperand(const Kernel& kernel);
// Whether a kernel of several results reads of each element what one of them replaces: then all of them are computed
// before any is stored.
bool ReadsWhatItReplaces(const Kernel& kernel);
// Bytes of the target that such a nest leaves alone, which are neither read nor written; as Way::bytes_beside has it.
double BytesLeftAlone(const KernelProgram& program, const Kernel& kernel);

}  // namespace hone::dsl
