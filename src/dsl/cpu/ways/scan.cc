//   rows     the axis is the innermost dimension: a vector's elements are combined with those before them in
//            log2(lanes) steps, and only one operation a vector waits for the one before. A long row may be cut: each
//            part is folded, then each is scanned from what is before it.
//   columns  it is another one: rows are combined element by element, a block of columns a thread.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dsl/cpu/expr_writer.h"
#include "dsl/cpu/loop_text.h"
#include "dsl/knobs.h"
#include "dsl/shape/fold_pass.h"
#include "dsl/way.h"

namespace hone::dsl::cpu_way_scan {
namespace {

// A row this long is worth cutting, if there are fewer of them than this.
constexpr std::int64_t kLongRow = 1 << 16, kFewRows = 8;

bool Says(const Kernel& kernel, const std::string& attribute) {
  const auto it = kernel.attributes.find(attribute);
  return it != kernel.attributes.end() && it->second[0] != 0;
}

std::int64_t Extent(const Kernel& kernel) {
  return kernel.axes.empty() ? 1 : kernel.space[static_cast<std::size_t>(kernel.axes[0])].extent;
}
std::int64_t InnerCount(const Kernel& kernel) {
  std::int64_t count = 1;
  for (std::size_t d = static_cast<std::size_t>(kernel.axes[0]) + 1; d < kernel.space.size(); ++d)
    count *= kernel.space[d].extent;
  return count;
}

std::vector<Setting> ColumnsValues(const Kernel& kernel) {
  // Blocks enough for the threads, where the outer dimensions do not give them work.
  const std::int64_t inner = InnerCount(kernel);
  const auto outer = static_cast<std::int64_t>(SpaceCount(kernel)) / std::max<std::int64_t>(1, inner * Extent(kernel));
  const std::int64_t share = outer * inner / std::max(1, 2 * kernel.device->threads) / 64 * 64;
  const std::int64_t block = std::clamp<std::int64_t>(share, 128, 1024);
  return block == 1024 ? std::vector<Setting>{Whole(1024), Whole(256)}
                       : std::vector<Setting>{Whole(block), Whole(1024)};
}
std::optional<std::string> CheckColumns(const Kernel&, const Setting& value) {
  return CheckRange(value, 16, std::int64_t{1} << 20);
}

std::vector<Setting> SplitValues(const Kernel& kernel) {
  const double rows = SpaceCount(kernel) / static_cast<double>(std::max<std::int64_t>(1, Extent(kernel)));
  const bool few = rows < std::min<double>(kFewRows, kernel.device->threads) && Extent(kernel) >= kLongRow;
  if (!few || InnerCount(kernel) > 1) return {Whole(1)};
  return {Whole(4 * kernel.device->threads), Whole(1)};
}
std::optional<std::string> CheckSplit(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckRange(value, 1, 4096)) return why;
  if (std::get<std::int64_t>(value.value) > 1 && InnerCount(kernel) > 1)
    return "only a scan along the innermost dimension is cut; try 1";
  return std::nullopt;
}

class ScanWriter {
 public:
  ScanWriter(const KernelProgram& program, const Kernel& kernel, Writer& writer)
      : kernel_(kernel), writer_(writer), loops_(program, kernel) {
    body_ = kernel.inputs[0];
    if (body_->type == ScalarType::kBool) body_ = Cast(body_, ScalarType::kInt);
    real_ = body_->type == ScalarType::kReal;
    type_ = writer.TypeName(body_->type);
    reverse_ = Says(kernel, "reverse");
    exclusive_ = Says(kernel, "exclusive");
    max_ = kernel.variant == "max";
    for (std::size_t d = 0; d < loops_.dims.size(); ++d) {
      if (loops_.dims[d].reduced) axis_ = static_cast<int>(d);
    }
    // What is read and written as it is goes from memory to registers and back; the rest through a buffer, in the width
    // that the compiler's own loops have: what one store wrote in two parts is slow to load as a whole.
    const KernelBuffer& target = program.buffers[static_cast<std::size_t>(kernel.target)];
    writes_plain_ = IsValue(kernel.epilogue, kIt) && SameType(target.dtype);
    if (body_->kind == Expr::Kind::kLoad) {
      const KernelOperand& operand = kernel.operands[static_cast<std::size_t>(body_->buffer)];
      reads_plain_ = loops_.dims.back().strides[static_cast<std::size_t>(body_->buffer)] == 1 &&
                     SameType(program.buffers[static_cast<std::size_t>(operand.buffer)].dtype);
    }
    // What is carried along a row of floats is summed in double: one addition a vector, and the errors of a row of
    // vectors rather than of elements go.
    carry_type_ = type_ == "float" && kernel.variant == "sum" ? "double" : type_;
    bytes_ = reads_plain_ && writes_plain_ && IntSetting(kernel, "vector") == 64 ? 64 : 32;
    lanes_ = bytes_ / Bytes();
  }

  void Write() {
    if (axis_ < 0) return WriteSingle();
    if (axis_ + 1 == static_cast<int>(loops_.dims.size())) return WriteRows();
    WriteColumns();
  }

 private:
  int Bytes() const { return type_ == "float" ? 4 : 8; }
  bool SameType(DType dtype) const {
    return ScalarOf(dtype) == body_->type && (type_ == ElementType(dtype) || dtype == DType::kI64);
  }
  std::string Start() const {
    if (kernel_.variant == "sum") return real_ ? writer_.Number(0) : "0";
    if (kernel_.variant == "prod") return real_ ? writer_.Number(1) : "1";
    if (real_) return writer_.Number(max_ ? -INFINITY : INFINITY);
    return max_ ? "-__LONG_MAX__ - 1" : "__LONG_MAX__";
  }
  // Of two numbers.
  std::string Both(const std::string& a, const std::string& b) {
    if (kernel_.variant == "sum") return fmt::format("{} + {}", a, b);
    if (kernel_.variant == "prod") return fmt::format("{} * {}", a, b);
    return fmt::format("{}({}, {})", writer_.Helper(max_ ? "Max" : "Min"), a, b);
  }
  // Of two vectors; a NaN on either side is the result.
  std::string BothVectors(const std::string& a, const std::string& b) const {
    if (kernel_.variant == "sum") return fmt::format("{} + {}", a, b);
    if (kernel_.variant == "prod") return fmt::format("{} * {}", a, b);
    const std::string nan = real_ ? fmt::format(" | ({} != {})", a, a) : "";
    return fmt::format("({} {} {}){} ? {} : {}", a, max_ ? ">" : "<", b, nan, a, b);
  }

  std::vector<std::string> Vars(const std::string& along) const {
    std::vector<std::string> vars = loops_.Vars();
    vars[static_cast<std::size_t>(axis_)] = along;
    return vars;
  }
  // The operand's element there.
  std::string Body(const std::vector<std::string>& vars) {
    ExprWriter expr(writer_, [&](const ExprNode& load) { return loops_.Element(writer_, load.buffer, vars); });
    return expr.Text(body_);
  }
  // Writes the result's element there from what was scanned.
  void Store(const std::vector<std::string>& vars, const std::string& it) {
    ExprWriter expr(writer_, [&](const ExprNode& load) {
      return load.kind == Expr::Kind::kValue ? it : loops_.Element(writer_, load.buffer, vars);
    });
    const std::string value = expr.Text(kernel_.epilogue);
    writer_.Line(fmt::format("{} = {};", loops_.TargetElement(writer_, vars), value));
  }

  // An axis of one element.
  void WriteSingle() {
    const std::vector<std::string> vars = loops_.Vars();
    writer_.ParallelFor(static_cast<int>(vars.size()));
    for (const auto& dim : loops_.dims) writer_.Open(For(dim.var, dim.extent));
    const std::string it = writer_.Fresh("it");
    writer_.Line(fmt::format("const {} {} = {};", type_, it, exclusive_ ? Start() : Body(vars)));
    Store(vars, it);
    for (std::size_t d = 0; d < vars.size(); ++d) writer_.Close();
  }

  // --- Columns.

  void WriteColumns() {
    const std::size_t inner = loops_.dims.size() - 1, axis = static_cast<std::size_t>(axis_);
    const LoopDim &row = loops_.dims[axis], &last = loops_.dims[inner];
    const std::int64_t block = std::min(IntSetting(kernel_, "columns"), last.extent);
    const bool cut = last.extent > block;
    int outer = 0;
    for (std::size_t d = 0; d < inner; ++d) outer += d == axis ? 0 : 1;
    const std::string carry = writer_.Fresh("carry");
    const std::string start = last.var + "0", end = cut ? writer_.Fresh(last.var + "_end") : "";
    writer_.ParallelFor(outer + (cut ? 1 : 0));
    if (writer_.parallel() && outer == 0 && !cut) Unshared();
    for (std::size_t d = 0; d < inner; ++d) {
      if (d != axis) writer_.Open(For(loops_.dims[d].var, loops_.dims[d].extent));
    }
    if (cut) {
      writer_.Open(fmt::format("for (long {} = 0; {} < {}; {} += {})", start, start, last.extent, start, block));
      writer_.Line(last.extent % block == 0 ? fmt::format("const long {} = {} + {};", end, start, block)
                                            : fmt::format("const long {} = {} + {} < {} ? {} + {} : {};", end, start,
                                                          block, last.extent, start, block, last.extent));
    }
    const std::string at = fmt::format("{}[{}{}]", carry, last.var, cut ? " - " + start : "");
    writer_.Line(fmt::format("alignas(64) {} {}[{}];", type_, carry, block));
    const std::string lane = writer_.Fresh("lane");
    writer_.Line(fmt::format("{} {}[{}] = {};", For(lane, block), carry, lane, Start()));
    writer_.Open(reverse_ ? fmt::format("for (long {} = {}; {} >= 0; --{})", row.var, row.extent - 1, row.var, row.var)
                          : For(row.var, row.extent));
    writer_.Line("#pragma omp simd");
    writer_.Open(cut ? fmt::format("for (long {} = {}; {} < {}; ++{})", last.var, start, last.var, end, last.var)
                     : For(last.var, last.extent));
    const std::vector<std::string> vars = loops_.Vars();
    const std::string it = writer_.Fresh("it");
    const std::string value = Body(vars);
    const std::string next =
        Both(at, kernel_.variant == "sum" || kernel_.variant == "prod" ? "(" + value + ")" : value);
    writer_.Line(fmt::format("const {} {} = {};", type_, it, exclusive_ ? at : next));
    writer_.Line(fmt::format("{} = {};", at, exclusive_ ? next : it));
    Store(vars, it);
    for (int n = 0; n < outer + (cut ? 1 : 0) + 2; ++n) writer_.Close();
  }

  // --- Rows.

  void WriteRows() {
    const std::size_t outer = loops_.dims.size() - 1;
    const LoopDim& row = loops_.dims[outer];
    const std::int64_t split = std::min(IntSetting(kernel_, "split"), std::max<std::int64_t>(1, row.extent / lanes_));
    lanes_type_ = writer_.Fresh("Lanes");
    writer_.Line(fmt::format("typedef {} {} __attribute__((vector_size({}), aligned({}), may_alias));", type_,
                             lanes_type_, bytes_, Bytes()));
    const std::string carry = writer_.Fresh("carry");
    if (split == 1) {
      if (outer > 0) {
        writer_.ParallelFor(static_cast<int>(outer));
      } else if (writer_.parallel()) {
        Unshared();
      }
      for (std::size_t d = 0; d < outer; ++d) writer_.Open(For(loops_.dims[d].var, loops_.dims[d].extent));
      writer_.Line(fmt::format("{} {} = {};", carry_type_, carry, Start()));
      WriteRow("0", fmt::format("{}", row.extent), carry);
      for (std::size_t d = 0; d < outer; ++d) writer_.Close();
      return;
    }
    // Each part is folded; what is before it is the fold of the parts before; then each is scanned from there.
    const std::int64_t length = ((row.extent + split - 1) / split + lanes_ - 1) / lanes_ * lanes_;
    const std::int64_t parts = (row.extent + length - 1) / length;
    const std::string before = writer_.Fresh("before"), part = writer_.Fresh("part"), begin = writer_.Fresh("begin"),
                      end = writer_.Fresh("end"), total = writer_.Fresh("total"), running = writer_.Fresh("running");
    const auto open_parts = [&] {
      if (writer_.parallel())
        writer_.Line(fmt::format("#pragma omp parallel for num_threads({}) schedule(static)", writer_.ThreadsText()));
      writer_.Open(For(part, parts));
      writer_.Line(fmt::format("const long {} = {} * {};", begin, part, length));
      writer_.Line(fmt::format("const long {} = {} + {} < {} ? {} + {} : {};", end, begin, length, row.extent, begin,
                               length, row.extent));
    };
    for (std::size_t d = 0; d < outer; ++d) writer_.Open(For(loops_.dims[d].var, loops_.dims[d].extent));
    writer_.Line(fmt::format("{} {}[{}];", carry_type_, before, parts));
    open_parts();
    writer_.Line(fmt::format("{} {} = {};", carry_type_, total, Start()));
    const std::string clause = kernel_.variant == "sum"    ? "+"
                               : kernel_.variant == "prod" ? "*"
                               : real_                     ? writer_.MapMax(max_)
                               : max_                      ? "max"
                                                           : "min";
    writer_.Line(fmt::format("#pragma omp simd reduction({} : {})", clause, total));
    writer_.Open(fmt::format("for (long {} = {}; {} < {}; ++{})", row.var, begin, row.var, end, row.var));
    const std::string value = Body(Vars(row.var));
    const bool infix = kernel_.variant == "sum" || kernel_.variant == "prod";
    writer_.Line(fmt::format("{} = {};", total, Both(total, infix ? "(" + value + ")" : value)));
    writer_.Close();
    writer_.Line(fmt::format("{}[{}] = {};", before, part, total));
    writer_.Close();
    writer_.Line(fmt::format("{} {} = {};", carry_type_, running, Start()));
    writer_.Open(reverse_ ? fmt::format("for (long {} = {}; {} >= 0; --{})", part, parts - 1, part, part)
                          : For(part, parts));
    writer_.Line(fmt::format("const {} {} = {}[{}];", carry_type_, total, before, part));
    writer_.Line(fmt::format("{}[{}] = {};", before, part, running));
    writer_.Line(fmt::format("{} = {};", running, Both(running, total)));
    writer_.Close();
    open_parts();
    writer_.Line(fmt::format("{} {} = {}[{}];", carry_type_, carry, before, part));
    WriteRow(begin, end, carry);
    writer_.Close();
    for (std::size_t d = 0; d < outer; ++d) writer_.Close();
  }

  // One row, or a part of it, from `carry` on.
  void WriteRow(const std::string& begin, const std::string& end, const std::string& carry) {
    const std::string var = loops_.dims.back().var;
    const std::string part = writer_.Fresh("values"), lane = writer_.Fresh("lane"), v = writer_.Fresh("v"),
                      none = writer_.Fresh("none"), first = writer_.Fresh("first");
    std::string neutral;
    for (int l = 0; l < lanes_; ++l) neutral += (l ? ", " : "") + Start();
    writer_.Line(fmt::format("const {} {} = {{{}}};", lanes_type_, none,
                             Start() == "0" || Start() == writer_.Number(0) ? std::string() : neutral));
    writer_.Line(fmt::format("long {} = {};", var, reverse_ ? end : begin));
    if (reverse_) {
      writer_.Open(fmt::format("for (; {} - {} >= {}; {} -= {})", var, lanes_, begin, var, lanes_));
      writer_.Line(fmt::format("const long {} = {} - {};", first, var, lanes_));
    } else {
      writer_.Open(fmt::format("for (; {} + {} <= {}; {} += {})", var, lanes_, end, var, lanes_));
    }
    const std::string at = fmt::format("{} + {}", reverse_ ? first : var, lane);
    const std::vector<std::string> at_first = Vars(reverse_ ? first : var);
    if (!reads_plain_ || !writes_plain_) writer_.Line(fmt::format("alignas(64) {} {}[{}];", type_, part, lanes_));
    if (!reads_plain_) {
      writer_.Line("#pragma omp simd");
      writer_.Open(For(lane, lanes_));
      writer_.Line(fmt::format("{}[{}] = {};", part, lane, Body(Vars(at))));
      writer_.Close();
    }
    writer_.Line(fmt::format("{} {} = *reinterpret_cast<const {}*>({});", lanes_type_, v, lanes_type_,
                             reads_plain_ ? "&" + loops_.Element(writer_, body_->buffer, at_first) : part));
    for (int distance = 1; distance < lanes_; distance *= 2) {
      const std::string other = writer_.Fresh("by");
      writer_.Line(fmt::format("const {} {} = {};", lanes_type_, other, Shifted(v, none, distance)));
      writer_.Line(fmt::format("{} = {};", v, BothVectors(v, other)));
    }
    const std::string from = writer_.Fresh("from");
    writer_.Line(fmt::format("const {} {} = {} - {}{{}};", lanes_type_, from, Carried(carry), lanes_type_));
    std::string scanned = v;
    if (exclusive_) {
      scanned = writer_.Fresh("earlier");
      writer_.Line(fmt::format("const {} {} = {};", lanes_type_, scanned, Shifted(v, none, 1)));
    }
    writer_.Line(fmt::format("*reinterpret_cast<{}*>({}) = {};", lanes_type_,
                             writes_plain_ ? "&" + loops_.TargetElement(writer_, at_first) : part,
                             BothVectors(from, scanned)));
    writer_.Line(fmt::format("{} = {};", carry, Both(carry, fmt::format("{}[{}]", v, reverse_ ? 0 : lanes_ - 1))));
    if (!writes_plain_) {
      writer_.Line("#pragma omp simd");
      writer_.Open(For(lane, lanes_));
      Store(Vars(at), fmt::format("{}[{}]", part, lane));
      writer_.Close();
    }
    writer_.Close();
    // What is left, one by one.
    if (reverse_) {
      writer_.Open(fmt::format("for (; {} > {}; --{})", var, begin, var));
    } else {
      writer_.Open(fmt::format("for (; {} < {}; ++{})", var, end, var));
    }
    const std::vector<std::string> vars = Vars(reverse_ ? var + " - 1" : var);
    const bool infix = kernel_.variant == "sum" || kernel_.variant == "prod";
    const std::string value = Body(vars), it = writer_.Fresh("it");
    const std::string next = Both(carry, infix ? "(" + value + ")" : value);
    if (exclusive_) writer_.Line(fmt::format("const {} {} = {};", type_, it, Carried(carry)));
    writer_.Line(fmt::format("{} = {};", carry, next));
    Store(vars, exclusive_ ? it : Carried(carry));
    writer_.Close();
  }

  // The vector with each element moved by so many, `none` where there is none.
  std::string Shifted(const std::string& v, const std::string& none, int distance) const {
    std::string text = fmt::format("__builtin_shufflevector({}, {}", v, none);
    for (int l = 0; l < lanes_; ++l) {
      const int from = reverse_ ? l + distance : l - distance;
      text += fmt::format(", {}", from < 0 || from >= lanes_ ? lanes_ : from);
    }
    return text + ")";
  }

  std::string Carried(const std::string& carry) const {
    return carry_type_ == type_ ? carry : fmt::format("static_cast<{}>({})", type_, carry);
  }

  void Unshared() { writer_.Line("(void)threads;"); }

  const Kernel& kernel_;
  Writer& writer_;
  LoopText loops_;
  Expr body_;
  bool real_ = true, reverse_ = false, exclusive_ = false, max_ = false;
  std::string type_, carry_type_, lanes_type_;
  int lanes_ = 16, bytes_ = 64;  // of a vector
  bool reads_plain_ = false, writes_plain_ = false;
  int axis_ = -1;  // of the loops
};

void Emit(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  ScanWriter(program, kernel, writer).Write();
}

constexpr Knob kKnobs[] = {
    kThreadsKnob,
    kVectorKnob,
    {"columns", "columns that a thread takes at a time, where the axis is not the innermost", ColumnsValues,
     CheckColumns},
    {"split", "parts into which a row is cut, for more threads than rows; 1 = whole", SplitValues, CheckSplit},
};

}  // namespace

HONE_ROW(Way){
    .family = "scan",
    .knobs = kKnobs,
    .emit_cpu = Emit,
};

}  // namespace hone::dsl::cpu_way_scan
