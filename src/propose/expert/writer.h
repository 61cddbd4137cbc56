// Fused pieces as a program of the kernel language.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/kernel.h"
#include "propose/expert/pieces.h"

namespace hone::expert {

// How matrix products of f32 are made on a device: as accurately as f32, or by cuBLASLt in TF32 where that reads their
// operands and the contract allows it: in `torch` those that PyTorch makes in TF32, which are convolutions of one
// place.
enum class Products : std::uint8_t { kF32, kTf32 };
inline constexpr std::string_view kInTf32 = "library_tf32";  // the precision of what is made so

// For a device: of families, only those that run there. Nothing if a piece has no form in the language: `unwritten`, if
// it is not null, is then what that piece makes.
std::optional<dsl::Program> WriteProgram(const Memory& memory, const std::vector<Piece>& pieces,
                                         const DeviceModel& device, Products products = Products::kF32,
                                         std::string* unwritten = nullptr);

}  // namespace hone::expert
