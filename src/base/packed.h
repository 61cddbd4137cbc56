// A struct as bytes, by the fields that it names for base/record.h, and back: a tenth of the time of its JSON. The
// bytes hold no names, so they are for whoever has the same fields: keep PackedShape<T>() beside them, and read nothing
// that has another. For caches of what is kept in full elsewhere, not for records.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/record.h"

namespace hone {

// Numbers of seven bits a byte, words of eight bytes as they are in memory, texts behind their length.
class Packer {
 public:
  explicit Packer(std::string& to) : to_(to) {}
  void Number(std::uint64_t number) {
    for (; number >= 0x80; number >>= 7U) to_.push_back(static_cast<char>(number | 0x80U));
    to_.push_back(static_cast<char>(number));
  }
  void Signed(std::int64_t number) {  // small ones of either sign are short
    const auto bits = static_cast<std::uint64_t>(number);
    Number(number < 0 ? ~(bits << 1U) : bits << 1U);
  }
  void Word(std::uint64_t word) {
    const auto bytes = std::bit_cast<std::array<char, sizeof word>>(word);
    to_.append(bytes.data(), bytes.size());
  }
  void Real(double real) { Word(std::bit_cast<std::uint64_t>(real)); }
  void Text(std::string_view text) {
    Number(text.size());
    to_.append(text);
  }

 private:
  std::string& to_;
};

// The same back. What is read past the end is 0 or empty, and then `ok` is false.
class Unpacker {
 public:
  explicit Unpacker(std::string_view from) : from_(from) {}
  bool ok() const { return ok_; }
  bool AtEnd() const { return from_.empty(); }
  std::uint64_t Number() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (from_.empty()) break;
      const auto byte = static_cast<unsigned char>(from_.front());
      from_.remove_prefix(1);
      number |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
      if (byte < 0x80U) return number;
    }
    ok_ = false;
    return 0;
  }
  std::int64_t Signed() {
    const std::uint64_t bits = Number();
    return static_cast<std::int64_t>((bits & 1U) != 0 ? ~(bits >> 1U) : bits >> 1U);
  }
  std::uint64_t Word() {
    std::uint64_t word = 0;
    if (from_.size() < sizeof word) {
      ok_ = false;
      return 0;
    }
    std::memcpy(&word, from_.data(), sizeof word);
    from_.remove_prefix(sizeof word);
    return word;
  }
  double Real() { return std::bit_cast<double>(Word()); }
  std::string_view Text() {  // of what is unpacked, which outlives it
    const std::uint64_t size = Number();
    if (size > from_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view text = from_.substr(0, size);
    from_.remove_prefix(size);
    return text;
  }

 private:
  std::string_view from_;
  bool ok_ = true;
};

namespace packed {

// What a value is, for the three below: each goes over all fields the same way.
template <class T>
concept Duration = requires(const T& value) { value.count(); };
template <class T>
concept Map = requires { typename T::mapped_type; };

class FieldPacker {
 public:
  explicit FieldPacker(Packer& to) : to_(to) {}
  template <class T, class... Marks>
  void operator()(const char*, const T& value, const Marks&...) const {
    Write(value);
  }
  template <class T>
  void operator()(const char*, const T& value, const ByText<T>& by) const {
    to_.Text(by.text(value));
  }
  template <class T>
  void operator()(const char*, const char*, const std::optional<T>& value) const {
    to_.Number(value ? 1 : 0);
    if (!value) return;
    to_.Real(value->low);
    to_.Real(value->high);
  }

 private:
  template <class T>
  void Write(const T& value) const {
    if constexpr (IsOptional<T>) {
      to_.Number(value ? 1 : 0);
      if (value) Write(*value);
    } else if constexpr (IsSeldom<T>) {
      to_.Number(value.Written() ? 1 : 0);
      if (value.Written()) Write(*value);
    } else if constexpr (std::floating_point<T>) {
      to_.Real(value);
    } else if constexpr (std::is_enum_v<T>) {
      to_.Number(static_cast<std::uint64_t>(value));
    } else if constexpr (std::integral<T>) {
      to_.Signed(static_cast<std::int64_t>(value));
    } else if constexpr (Duration<T>) {
      to_.Signed(static_cast<std::int64_t>(value.count()));
    } else if constexpr (std::same_as<T, std::string>) {
      to_.Text(value);
    } else if constexpr (HasFields<const T>) {
      Fields(value, *this);
    } else if constexpr (Map<T>) {
      to_.Number(value.size());
      for (const auto& [key, one] : value) {
        to_.Text(key);
        Write(one);
      }
    } else {
      to_.Number(value.size());
      for (const auto& one : value) Write(one);
    }
  }
  Packer& to_;
};

class FieldUnpacker {
 public:
  FieldUnpacker(Unpacker& from, bool& wrong) : from_(from), wrong_(wrong) {}
  template <class T, class... Marks>
  void operator()(const char*, T& value, const Marks&...) const {
    Read(value);
  }
  template <class T>
  void operator()(const char*, T& value, const ByText<T>& by) const {
    if (Result<T> parsed = by.parse(std::string(from_.Text()))) {
      value = std::move(*parsed);
    } else {
      wrong_ = true;
    }
  }
  template <class T>
  void operator()(const char*, const char*, std::optional<T>& value) const {
    value.reset();
    if (from_.Number() == 0) return;
    value.emplace().low = from_.Real();
    value->high = from_.Real();
  }

 private:
  // As many as are left at most: each takes a byte.
  template <class Each>
  void Repeat(const Each& each) const {
    for (std::uint64_t left = from_.Number(); left > 0 && from_.ok(); --left) each();
  }
  template <class T>
  void Read(T& value) const {
    if constexpr (IsOptional<T>) {
      value.reset();
      if (from_.Number() != 0) Read(value.emplace());
    } else if constexpr (IsSeldom<T>) {
      if (from_.Number() != 0) Read(*value);
    } else if constexpr (std::floating_point<T>) {
      value = static_cast<T>(from_.Real());
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(from_.Number());
    } else if constexpr (std::integral<T>) {
      value = static_cast<T>(from_.Signed());
    } else if constexpr (Duration<T>) {
      value = T(static_cast<typename T::rep>(from_.Signed()));
    } else if constexpr (std::same_as<T, std::string>) {
      value = from_.Text();
    } else if constexpr (HasFields<T>) {
      Fields(value, *this);
    } else if constexpr (Map<T>) {
      value.clear();
      Repeat([&] {
        std::string key(from_.Text());
        Read(value[std::move(key)]);
      });
    } else {
      value.clear();
      Repeat([&] {
        typename T::value_type one{};  // no reference, where they are bits
        Read(one);
        value.push_back(std::move(one));
      });
    }
  }
  Unpacker& from_;
  bool& wrong_;
};

// Names and kinds of all fields, one after another.
class FieldNamer {
 public:
  explicit FieldNamer(std::string& to) : to_(to) {}
  template <class T, class... Marks>
  void operator()(const char* key, T&, const Marks&...) const {
    to_.append(key).push_back(' ');
    Name<T>();
  }
  template <class T>
  void operator()(const char* key, T&, const ByText<T>&) const {
    to_.append(key).append(" t ");
  }
  template <class T>
  void operator()(const char* low, const char* high, std::optional<T>&) const {
    to_.append(low).append(" ").append(high).append(" ? ");
  }

 private:
  template <class T>
  void Name() const {
    if constexpr (IsOptional<T> || IsSeldom<T>) {
      to_ += "? ";
      Name<std::remove_cvref_t<decltype(*std::declval<T&>())>>();
    } else if constexpr (std::floating_point<T>) {
      to_ += "r ";
    } else if constexpr (std::is_enum_v<T>) {
      to_ += "e ";
    } else if constexpr (std::integral<T> || Duration<T>) {
      to_ += "i ";
    } else if constexpr (std::same_as<T, std::string>) {
      to_ += "t ";
    } else if constexpr (HasFields<T>) {
      T value{};
      to_ += "{ ";
      Fields(value, *this);
      to_ += "} ";
    } else if constexpr (Map<T>) {
      to_ += "map ";
      Name<typename T::mapped_type>();
    } else {
      to_ += "list ";
      Name<typename T::value_type>();
    }
  }
  std::string& to_;
};

}  // namespace packed

// `value` names its fields.
template <class T>
void PackFields(const T& value, Packer& to) {
  Fields(value, packed::FieldPacker(to));
}
// False when the bytes are not those of such fields.
template <class T>
bool UnpackFields(Unpacker& from, T& value) {
  bool wrong = false;
  Fields(value, packed::FieldUnpacker(from, wrong));
  return from.ok() && !wrong;
}
// The same for two that pack alike. Fields that are there only where others say so do not show.
template <class T>
std::string PackedShape() {
  T value{};
  std::string shape;
  Fields(value, packed::FieldNamer(shape));
  return shape;
}

}  // namespace hone
