// Elements of tensors as C++ has them: code that is written once for every type gets one of these.
#pragma once

#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <utility>

#include "base/dtype.h"
#include "base/small_float.h"
#include "problem/drawing.h"

namespace hone {

namespace element {

template <DType kType>
auto Zero() {
  constexpr const DTypeRow& row = RowOf(kType);
  if constexpr (IsSmallFloat(kType))
    return drawing::Small<SmallFloat<row.exponent, row.mantissa, row.infinity>>{};
  else if constexpr (IsFloat(kType))
    return drawing::Plain<std::conditional_t<row.bytes == 8, double, float>>{};
  else if constexpr (kType == DType::kBool)
    return drawing::Plain<bool>{};
  else if constexpr (kType == DType::kU8)
    return drawing::Plain<std::uint8_t>{};
  else if constexpr (row.bytes == 8)
    return drawing::Plain<std::int64_t>{};
  else if constexpr (row.bytes == 4)
    return drawing::Plain<std::int32_t>{};
  else if constexpr (row.bytes == 2)
    return drawing::Plain<std::int16_t>{};
  else
    return drawing::Plain<std::int8_t>{};
}

template <class Body, std::size_t... kRows>
auto With(DType dtype, const Body& body, std::index_sequence<kRows...>) {
  using Made = decltype(body(Zero<DType::kF32>()));
  using Call = Made (*)(const Body&);
  constexpr Call kCalls[] = {[](const Body& one) -> Made { return one(Zero<static_cast<DType>(kRows)>()); }...};
  return kCalls[static_cast<std::size_t>(dtype)](body);
}

}  // namespace element

// body(element), where the element is a zero of the type that tensors of `dtype` have in memory: drawing::Small or
// drawing::Plain.
template <class Body>
auto WithElement(DType dtype, const Body& body) {
  return element::With(dtype, body, std::make_index_sequence<std::size(kDTypes)>());
}

template <class Element>
Element LoadElement(const void* data, std::int64_t index) {
  Element element;
  std::memcpy(&element, static_cast<const char*>(data) + index * static_cast<std::int64_t>(sizeof element),
              sizeof element);
  return element;
}

// One element, rounded to the type once, and back.
inline double ElementAsDouble(DType dtype, const void* data, std::int64_t index) {
  return WithElement(dtype, [&](auto element) { return LoadElement<decltype(element)>(data, index).Value(); });
}
inline void SetElement(DType dtype, void* data, std::int64_t index, double value) {
  WithElement(dtype, [&](auto element) {
    element = decltype(element)::From(value);
    std::memcpy(static_cast<char*>(data) + index * static_cast<std::int64_t>(sizeof element), &element, sizeof element);
  });
}

}  // namespace hone
