// How a struct becomes JSON and comes back. It names its fields once, for both directions, in a function beside it:
//
//   template <SameAs<Samples> Of>  // Samples, or const Samples when it is written
//   void Fields(Of& samples, auto&& field) {
//     field("median_us", samples.median_us);
//     field("low_us", "high_us", samples.interval);
//   }
//
// and then there are ToRecord(samples) and FromRecord<Samples>(json, "what it is called in an error"). Fields may be
// numbers, texts, durations, lists and maps of such, other such structs, enumerations with their names (ByName), and
// any of it as an optional, a Box or a Seldom (base/box.h).
//
// What is not there when it is read keeps its value, so that documents of older versions read; a field of another type
// is kCorrupt. What is not written: an optional without a value, an empty text. The marks below say otherwise. A field
// that came later to documents that are compared by their text is written unless it says what held before.
#pragma once

#include <chrono>
#include <cmath>
#include <concepts>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"

namespace hone {

// Marks of a field, its last argument.
struct WrittenAlways {};  // a text also when it is empty, an optional as null
inline constexpr WrittenAlways kAlways;
struct WrittenIfAny {};  // a list, unless it is empty
inline constexpr WrittenIfAny kIfAny;
template <class T>
struct WrittenUnless {  // it has this value
  T value;
};
template <class T>
struct ByText {  // a value that has a text, written unless that is empty; what its parser refuses is kCorrupt
  std::string (*text)(const T&);
  Result<T> (*parse)(std::string_view);
};
template <class E>
struct ByName {  // an enumeration by its names; an unknown one, or none at all, is kCorrupt
  std::string_view (*name)(E);
  std::optional<E> (*parse)(std::string_view);
};

template <class Of, class As>
concept SameAs = std::same_as<std::remove_const_t<Of>, As>;

// The values of an enumeration that counts from 0, by their names in its order.
template <class E, std::size_t count>
std::optional<E> ParseName(const std::string_view (&names)[count], std::string_view name) {
  for (std::size_t i = 0; i < count; ++i) {
    if (names[i] == name) return static_cast<E>(i);
  }
  return std::nullopt;
}

template <class T>
concept HasFields = requires(T& of, void (*field)()) { Fields(of, field); };

template <class T>
concept IsOptional = requires(const T& of) { of.has_value(); };
template <class T>
concept IsSeldom = requires(const T& of) { of.Written(); };
template <class T>
concept IsList = requires(T& of) { of.emplace_back(); };

class RecordWriter {
 public:
  explicit RecordWriter(nlohmann::json& to) : to_(to) {}

  template <class T>
  void operator()(const char* key, const T& value) const {
    if constexpr (IsOptional<T>) {
      if (value) to_[key] = Value(*value);
    } else if constexpr (IsSeldom<T>) {
      to_[key] = Value(*value);
    } else if constexpr (std::same_as<T, std::string>) {
      if (!value.empty()) to_[key] = value;
    } else {
      to_[key] = Value(value);
    }
  }
  template <class T>
  void operator()(const char* key, const T& value, WrittenAlways) const {
    to_[key] = Value(value);
  }
  template <class T>
  void operator()(const char* key, const T& value, WrittenIfAny) const {
    if (!value.empty()) to_[key] = Value(value);
  }
  template <class T>
  void operator()(const char* key, const T& value, const WrittenUnless<T>& unless) const {
    if (value != unless.value) to_[key] = Value(value);
  }
  template <class T>
  void operator()(const char* key, const T& value, ByText<T> by) const {
    if (std::string text = by.text(value); !text.empty()) to_[key] = std::move(text);
  }
  template <class E>
  void operator()(const char* key, const E& value, ByName<E> names) const {
    to_[key] = names.name(value);
  }
  // An interval as two fields; null where there is none.
  template <class T>
  void operator()(const char* low, const char* high, const std::optional<T>& value) const {
    to_[low] = value ? Value(value->low) : nlohmann::json();
    to_[high] = value ? Value(value->high) : nlohmann::json();
  }

 private:
  template <class T>
  static nlohmann::json Value(const T& value) {
    if constexpr (IsOptional<T>) {
      return value ? Value(*value) : nlohmann::json();
    } else if constexpr (std::floating_point<T>) {
      // JSON has no NaN and no infinity: as words, so that "got NaN" survives.
      if (std::isnan(value)) return "nan";
      if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
      return value;
    } else if constexpr (requires { value.count(); }) {
      return value.count();
    } else if constexpr (HasFields<const T>) {
      nlohmann::json out = nlohmann::json::object();
      Fields(value, RecordWriter(out));
      return out;
    } else if constexpr (requires { typename T::mapped_type; }) {
      nlohmann::json out = nlohmann::json::object();
      for (const auto& [key, one] : value) out[key] = Value(one);
      return out;
    } else if constexpr (IsList<T>) {
      nlohmann::json out = nlohmann::json::array();
      for (const auto& one : value) out.push_back(Value(one));
      return out;
    } else {
      return value;
    }
  }

  nlohmann::json& to_;
};

class RecordReader {
 public:
  // `wrong` becomes what no exception says.
  RecordReader(const nlohmann::json& from, std::string& wrong) : from_(from), wrong_(wrong) {}

  template <class T>
  void operator()(const char* key, T& value) const {
    if (!from_.contains(key)) return;
    if constexpr (IsOptional<T>) {
      if (!from_[key].is_null()) Read(from_[key], value.emplace());
    } else if constexpr (IsSeldom<T>) {
      if (!from_[key].empty()) Read(from_[key], *value);
    } else {
      Read(from_[key], value);
    }
  }
  template <class T>
  void operator()(const char* key, T& value, WrittenAlways) const {
    (*this)(key, value);
  }
  template <class T>
  void operator()(const char* key, T& value, WrittenIfAny) const {
    (*this)(key, value);
  }
  template <class T>
  void operator()(const char* key, T& value, const WrittenUnless<T>&) const {
    (*this)(key, value);
  }
  template <class T>
  void operator()(const char* key, T& value, ByText<T> by) const {
    if (!from_.contains(key)) return;
    Result<T> parsed = by.parse(from_[key].template get_ref<const std::string&>());
    if (parsed) {
      value = std::move(*parsed);
    } else {
      wrong_ = parsed.error().message;
    }
  }
  template <class E>
  void operator()(const char* key, E& value, ByName<E> names) const {
    const auto& name = from_.at(key).template get_ref<const std::string&>();
    if (const auto parsed = names.parse(name)) {
      value = *parsed;
    } else {
      wrong_ = "it has the unknown " + std::string(key) + " '" + name + "'";
    }
  }
  template <class T>
  void operator()(const char* low, const char* high, std::optional<T>& value) const {
    if (!from_.contains(low) || !from_.contains(high) || from_[low].is_null() || from_[high].is_null()) return;
    Read(from_[low], value.emplace().low);
    Read(from_[high], value->high);
  }

 private:
  template <class T>
  void Read(const nlohmann::json& from, T& value) const {
    if constexpr (std::floating_point<T>) {
      if (from.is_number()) {
        value = from.get<T>();
        return;
      }
      const auto& word = from.get_ref<const std::string&>();
      value = word == "nan" ? std::nan("") : word == "-inf" ? -HUGE_VAL : HUGE_VAL;
      if (word != "nan" && word != "inf" && word != "-inf") wrong_ = "'" + word + "' is no number";
    } else if constexpr (requires { value.count(); }) {
      value = T(from.get<typename T::rep>());
    } else if constexpr (HasFields<T>) {
      static_cast<void>(from.get_ref<const nlohmann::json::object_t&>());  // or throws
      Fields(value, RecordReader(from, wrong_));
    } else if constexpr (requires { typename T::mapped_type; }) {
      value.clear();
      for (const auto& [key, one] : from.get_ref<const nlohmann::json::object_t&>()) Read(one, value[key]);
    } else if constexpr (IsList<T>) {
      value.clear();
      for (const auto& one : from.get_ref<const nlohmann::json::array_t&>()) Read(one, value.emplace_back());
    } else {
      value = from.get<T>();
    }
  }

  const nlohmann::json& from_;
  std::string& wrong_;
};

template <class T>
nlohmann::json ToRecord(const T& value) {
  nlohmann::json out = nlohmann::json::object();
  Fields(value, RecordWriter(out));
  return out;
}

// kCorrupt: "not WHAT: why".
template <class T>
Result<T> FromRecord(const nlohmann::json& from, const std::string& what) try {
  static_cast<void>(from.get_ref<const nlohmann::json::object_t&>());
  T value;
  std::string wrong;
  Fields(value, RecordReader(from, wrong));
  if (!wrong.empty()) return Fail(ErrorKind::kCorrupt, "not " + what + ": " + wrong);
  return value;
} catch (const nlohmann::json::exception& error) {
  return Fail(ErrorKind::kCorrupt, "not " + what + ": " + error.what());
}

std::string_view NameOf(ErrorKind kind);  // "not_found"
std::optional<ErrorKind> ParseErrorKind(std::string_view name);

// What goes wrong in one process is said in another. Where it happened stays behind.
template <SameAs<Error> Of>
void Fields(Of& error, auto&& field) {
  field("kind", error.kind, ByName<ErrorKind>{NameOf, ParseErrorKind});
  field("message", error.message, kAlways);
}

}  // namespace hone
