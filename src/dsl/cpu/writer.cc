#include "dsl/cpu/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "dsl/cpu/math.h"

namespace hone::dsl {
namespace {

struct HelperText {
  std::string_view name, text;
};

constexpr HelperText kHelpers[] = {
    {"AtLeast", R"(// x, or the bound if x is below it; a NaN stays one.
template <class T>
inline T AtLeast(T x, T bound) {
  return x < bound ? bound : x;
}
)"},
    {"AtMost", R"(// x, or the bound if x is above it; a NaN stays one.
template <class T>
inline T AtMost(T x, T bound) {
  return x > bound ? bound : x;
}
)"},
    {"FirstInOrder",
     R"(// The first elements in order of those that were taken: a NaN is larger than all numbers, and of equals the first stays
// first. An element and its place are one whole number, so that none are equal; what comes behind the last of the first
// so far is left out, and the rest is put in order now and then. No branch hangs on what data say.
template <class T, class Key, bool DESCENDING>
struct FirstInOrder {
  static constexpr int kBits = 8 * sizeof(T), kPlaceBits = 8 * sizeof(Key) - kBits;
  typedef decltype([] { if constexpr (kBits == 32) return 0u; else return 0ul; }()) Bits;
  Key* keys;  // as many as there is room for: as are taken at a time more than `most` at least
  Key* other;
  const long most, room;
  long count = 0, kept = 0;  // of which so many are in order
  Key limit = ~Key(0);

  static Key KeyOf(T value, long place) {
    constexpr Bits kSign = Bits(1) << (kBits - 1);
    Bits bits = __builtin_bit_cast(Bits, value == 0 ? T(0) : value);  // -0 is 0
    if constexpr (T(0.5) == 0)
      bits ^= kSign;
    else
      bits = value != value ? ~Bits(0) : bits ^ (bits & kSign ? ~Bits(0) : kSign);
    return Key(DESCENDING ? ~bits : bits) << kPlaceBits | Key(place);
  }
  static void Merge(const Key* a, long a_count, const Key* b, long b_count, Key* to, long most) {
    long i = 0, j = 0, n = 0;
    for (; n < most && i < a_count && j < b_count; ++n) {
      const Key x = a[i], y = b[j];
      const bool second = y < x;
      to[n] = second ? y : x;
      j += second;
      i += !second;
    }
    for (; n < most && i < a_count; ++n) to[n] = a[i++];
    for (; n < most && j < b_count; ++n) to[n] = b[j++];
  }
  // Puts `from` in order, with room for as many in `aside`.
  static void Order(Key* from, Key* aside, long size) {
    constexpr long kBlock = 16;
    for (long at = 0; at < size; at += kBlock) {
      const long some = size - at < kBlock ? size - at : kBlock;
      for (long i = 0; i < some; ++i) {
        long before = 0;
        for (long j = 0; j < some; ++j) before += from[at + j] < from[at + i];
        aside[at + before] = from[at + i];
      }
    }
    Key *in = aside, *out = from;
    for (long width = kBlock; width < size; width *= 2) {
      for (long at = 0; at < size; at += 2 * width) {
        const long first = size - at < width ? size - at : width, rest = size - at - first;
        Merge(in + at, first, in + at + first, rest < width ? rest : width, out + at, 2 * width);
      }
      Key* const swap = in;
      in = out;
      out = swap;
    }
    if (in != from) {
      for (long i = 0; i < size; ++i) from[i] = in[i];
    }
  }
  void Sort() {
    Order(keys + kept, other + kept, count - kept);
    if (kept > 0) {
      Merge(keys, kept, keys + kept, count - kept, other, most);
      Key* const swap = keys;
      keys = other;
      other = swap;
    }
    kept = count = count < most ? count : most;
    if (most > 0 && count == most) limit = keys[most - 1];
  }
  // Mostly none of them is one of the first.
  void Take(const Key* some, long size) {
    long first = 0;
    for (long i = 0; i < size; ++i) first += some[i] < limit;
    if (first == 0) return;
    if (count + size > room) Sort();
    long at = count;
    for (long i = 0; i < size; ++i) {
      keys[at] = some[i];
      at += some[i] < limit;
    }
    count = at;
  }
  long Place(long n) const { return long(keys[n] & (~Key(0) >> kBits)); }
};
)"},
    {"FloorDiv", R"(// The quotient towards minus infinity.
inline long FloorDiv(long a, long b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
)"},
    {"FloorMod", R"(// The remainder that has the sign of b.
template <class T>
inline T FloorMod(T a, T b) {
  const T r = Remainder(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
)"},
    {"Larger", R"(// The larger; what comes of a NaN does not matter.
template <class T>
inline T Larger(T a, T b) {
  return a > b ? a : b;
}
)"},
    {"Max", R"(// The larger; a NaN on either side is the result.
template <class T>
inline T Max(T a, T b) {
  const T larger = a > b ? a : b;  // b if b is a NaN
  return a != a ? a : larger;
}
)"},
    {"Min", R"(// The smaller; a NaN on either side is the result.
template <class T>
inline T Min(T a, T b) {
  const T smaller = a < b ? a : b;  // b if b is a NaN
  return a != a ? a : smaller;
}
)"},
    {"Remainder", R"(inline long Remainder(long a, long b) { return a % b; }
inline float Remainder(float a, float b) { return __builtin_fmodf(a, b); }
inline double Remainder(double a, double b) { return __builtin_fmod(a, b); }
)"},
    {"ReduceMax_float",
     "#pragma omp declare reduction(nanmax : float : omp_out = Max(omp_out, omp_in)) initializer(omp_priv = "
     "omp_orig)\n"},
    {"ReduceMax_double",
     "#pragma omp declare reduction(nanmax : double : omp_out = Max(omp_out, omp_in)) initializer(omp_priv = "
     "omp_orig)\n"},
    {"ReduceMin_float",
     "#pragma omp declare reduction(nanmin : float : omp_out = Min(omp_out, omp_in)) initializer(omp_priv = "
     "omp_orig)\n"},
    {"ReduceMin_double",
     "#pragma omp declare reduction(nanmin : double : omp_out = Min(omp_out, omp_in)) initializer(omp_priv = "
     "omp_orig)\n"},
    {"Sign", R"(template <class T>
inline T Sign(T x) {
  return T(x > 0) - T(x < 0);
}
)"},
    {"Stream",
     R"(// Writes a block past the caches: nobody reads the output soon, and a line that is written whole need not be read first.
#ifdef __AVX512F__
typedef double Line __attribute__((vector_size(64)));
inline void StreamLine(double* to, Line line) { __builtin_ia32_movntpd512(to, line); }
#elif defined(__AVX__)
typedef double Line __attribute__((vector_size(32)));
inline void StreamLine(double* to, Line line) { __builtin_ia32_movntpd256(to, line); }
#else
typedef double Line __attribute__((vector_size(16)));
inline void StreamLine(double* to, Line line) { *reinterpret_cast<Line*>(to) = line; }
#endif
inline void Stream(void* to, const void* from, long bytes) {
  char* out = static_cast<char*>(to);
  const char* in = static_cast<const char*>(from);
  const long head = -reinterpret_cast<long>(out) & (sizeof(Line) - 1);
  long at = head < bytes ? head : bytes;
  __builtin_memcpy(out, in, at);
  for (; at + static_cast<long>(sizeof(Line)) <= bytes; at += sizeof(Line)) {
    Line line;
    __builtin_memcpy(&line, in + at, sizeof(Line));
    StreamLine(reinterpret_cast<double*>(out + at), line);
  }
  __builtin_memcpy(out + at, in + at, bytes - at);
#ifdef __SSE__
  __builtin_ia32_sfence();
#endif
}
)"},
    {"Vector_double", R"(// The processor's vectors, at any address.
#ifdef __AVX512F__
typedef double DoubleVector __attribute__((vector_size(64), aligned(8), may_alias));
#else
typedef double DoubleVector __attribute__((vector_size(32), aligned(8), may_alias));
#endif
)"},
    {"Vector_float", R"(// The processor's vectors, at any address.
#ifdef __AVX512F__
typedef float FloatVector __attribute__((vector_size(64), aligned(4), may_alias));
#else
typedef float FloatVector __attribute__((vector_size(32), aligned(4), may_alias));
#endif
)"},
    {"Vector_pairs", R"(// Pairs of bf16, the first in the lower half.
typedef unsigned PairVector __attribute__((vector_size(64), aligned(4), may_alias));
// sum += the products of the pairs' seconds, then of their firsts, in f32; subnormal numbers are zeros.
inline void AddPairs(FloatVector& sum, PairVector row, PairVector pair) {
  asm("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(row), "v"(pair));
}
)"},
};

}  // namespace

Writer::Writer(const KernelProgram& program) : program_(program) {
  for (const auto& buffer : program.buffers) names_.push_back(Spelled(buffer.name));
}

void Writer::Line(std::string_view line) {
  text_.append(static_cast<std::size_t>(depth_) * 2, ' ');
  text_ += line;
  text_ += '\n';
}
void Writer::Open(std::string_view head) {
  Line(std::string(head) + (head.empty() ? "{" : " {"));
  ++depth_;
}
void Writer::Close(std::string_view tail) {
  --depth_;
  Line(fmt::format("}}{}", tail));
}
void Writer::Comment(std::string_view text) {
  const std::size_t width = 100;
  std::string line;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = text.find_first_of(" \n", at);
    if (end == std::string_view::npos) end = text.size();
    if (!line.empty() && line.size() + end - at > width) {
      Line("// " + line);
      line.clear();
    }
    if (end > at) line += (line.empty() ? "" : " ") + std::string(text.substr(at, end - at));
    at = end + 1;
  }
  if (!line.empty()) Line("// " + line);
}
void Writer::Blank() { text_ += '\n'; }
std::string Writer::Take() { return std::exchange(text_, {}); }

void Writer::BeginFunction() {
  outer_text_ = std::exchange(text_, {});
  outer_depth_ = std::exchange(depth_, 0);
}
void Writer::EndFunction() {
  functions_ += std::exchange(text_, std::exchange(outer_text_, {})) + "\n";
  depth_ = outer_depth_;
}
std::string Writer::TakeFunctions() { return std::exchange(functions_, {}); }

void Writer::Begin(const Kernel& kernel) {
  kernel_ = &kernel;
  real_ = ComputeType(program_, kernel) == DType::kF64 ? "double" : "float";
  parallel_ = IntSetting(kernel, "threads") != 1;
  taken_ = {names_.begin(), names_.end()};
}

std::string Writer::TypeName(ScalarType type) const {
  return type == ScalarType::kReal ? real_ : type == ScalarType::kInt ? "long" : "bool";
}

std::string Writer::Number(double value) const {
  const std::string suffix = wide() ? "" : "f";
  if (std::isnan(value)) return wide() ? "__builtin_nan(\"\")" : "__builtin_nanf(\"\")";
  if (!wide()) value = static_cast<double>(static_cast<float>(value));
  if (std::isinf(value)) return fmt::format("{}__builtin_inf{}()", value < 0 ? "-" : "", suffix);
  std::string text = wide() ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + suffix;
}

const std::string& Writer::BufferName(int buffer) const { return names_[static_cast<std::size_t>(buffer)]; }

std::string Writer::Fresh(const std::string& hint) {
  std::string name = hint;
  for (int n = 2; !taken_.insert(name).second; ++n) name = fmt::format("{}_{}", hint, n);
  return name;
}

std::string Writer::ThreadsText() const {
  const std::int64_t wanted = IntSetting(*kernel_, "threads");
  return wanted == 0 ? "threads" : fmt::format("(threads < {} ? threads : {})", wanted, wanted);
}

void Writer::ParallelFor(int collapse, std::string_view schedule) {
  if (!parallel_) return;
  Line(fmt::format("#pragma omp parallel for{} num_threads({}) schedule({})",
                   collapse > 1 ? fmt::format(" collapse({})", collapse) : "", ThreadsText(), schedule));
}

std::string Writer::Helper(std::string_view name) {
  if (name == "FloorMod") Helper("Remainder");
  if (const MathFunction* own = FindOwnFunction(name)) {
    for (const auto& other : own->needs) {
      if (!other.empty()) helpers_.emplace(other);
    }
  }
  helpers_.emplace(name);
  return std::string(name);
}

std::string Writer::Libm(const std::string& function) {
  if (const MathFunction* own = wide() ? nullptr : FindMathFunction(function)) {
    return Helper(own->name);
  }
  const std::string name = function + (wide() ? "" : "f");
  libm_.insert(name);
  return name;
}

std::string Writer::MapMax(bool max) {
  Helper(max ? "Max" : "Min");
  Helper(fmt::format("Reduce{}_{}", max ? "Max" : "Min", real_));
  return max ? "nanmax" : "nanmin";
}

std::string Writer::Scratch(const std::string& hint, const std::string& type, std::int64_t count) {
  const std::string base = fmt::format("{}_{}", TargetName(), hint);
  std::string name = base;
  const auto used = [&](const std::string& text) {
    return std::find(names_.begin(), names_.end(), text) != names_.end() ||
           std::any_of(scratch_.begin(), scratch_.end(), [&](const ScratchMemory& one) { return one.name == text; });
  };
  for (int n = 2; used(name); ++n) name = fmt::format("{}_{}", base, n);
  taken_.insert(name);
  scratch_.push_back({.name = name, .type = type, .count = std::max<std::int64_t>(count, 1), .kernel = kernel_});
  return name;
}

std::string Writer::Head() const {
  std::string head;
  if (!libm_.empty()) {
    head += "// libm, with the vector versions that glibc has of it.\nextern \"C\" {\n";
    for (const auto& name : libm_) {
      const std::string type = name.ends_with("f") && name != "erf" ? "float" : "double";
      const bool two = name.starts_with("pow") || name.starts_with("atan2");
      head += fmt::format("__attribute__((simd(\"notinbranch\"), const)) {} {}({}{});\n", type, name, type,
                          two ? ", " + type : "");
    }
    head += "}\n\n";
  }
  head += "namespace {\n\n";
  // Remainder stands before FloorMod, and Max and Min before the reductions made of them.
  for (const bool first : {true, false}) {
    for (const auto& helper : kHelpers) {
      const bool early = helper.name == "Remainder" || helper.name == "Max" || helper.name == "Min";
      if (early == first && helpers_.contains(std::string(helper.name))) head += std::string(helper.text) + "\n";
    }
  }
  for (const auto& function : MathFunctions()) {
    if (helpers_.contains(std::string(function.name))) head += std::string(function.text) + "\n";
  }
  return head;
}

}  // namespace hone::dsl
