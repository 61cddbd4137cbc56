// Values on the heap for structs that are kept by the million and mostly have none of them: a word each where there is
// nothing. Both are values: a copy is a deep one. As safe from threads as the value itself.
#pragma once

#include <memory>
#include <optional>
#include <utility>

namespace hone {

// What std::optional is, with the value elsewhere.
template <class T>
class Box {
 public:
  Box() = default;
  Box(std::nullopt_t) {}
  Box(T value) : value_(std::make_unique<T>(std::move(value))) {}
  Box(const Box& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Box(Box&&) noexcept = default;
  Box& operator=(const Box& other) { return *this = Box(other); }
  Box& operator=(Box&&) noexcept = default;
  ~Box() = default;

  bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  // There is a value.
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }

  template <class... Arguments>
  T& emplace(Arguments&&... arguments) {
    value_ = std::make_unique<T>(std::forward<Arguments>(arguments)...);
    return *value_;
  }
  void reset() { value_.reset(); }

 private:
  std::unique_ptr<T> value_;
};

// A T that is elsewhere once somebody writes to it; until then it reads as T().
template <class T>
class Seldom {
 public:
  Seldom() = default;
  Seldom(T value) : box_(std::move(value)) {}

  const T& operator*() const { return box_ ? *box_ : Nothing(); }
  const T* operator->() const { return &**this; }
  operator const T&() const { return **this; }
  // To be written to.
  T& operator*() { return box_ ? *box_ : box_.emplace(); }
  T* operator->() { return &**this; }

  bool Written() const { return box_.has_value(); }
  void Clear() { box_.reset(); }

 private:
  static const T& Nothing() {
    static const T nothing{};
    return nothing;
  }
  Box<T> box_;
};

}  // namespace hone
