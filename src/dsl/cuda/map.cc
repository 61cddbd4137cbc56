#include "dsl/cuda/map.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "dsl/cuda/expr.h"
#include "dsl/cuda/turned_map.h"
#include "dsl/shape/updated_places.h"

namespace hone::dsl {
namespace {

// Of a block that has a multiprocessor for itself: as many loads under way as several smaller ones have.
constexpr std::int64_t kFewThreads = 1024, kFewUnroll = 4;
// A thread of such a block has 64 registers: packs of more operands and further results than this are two at a time.
constexpr std::size_t kFewOperands = 2;

std::vector<std::size_t> AllOf(const Loops& loops) {
  std::vector<std::size_t> all(loops.dims.size());
  for (std::size_t d = 0; d < all.size(); ++d) all[d] = d;
  return all;
}

// A thread's packs, one after the other.
struct Unrolled {
  std::int64_t pack = 1, unroll = 1;
  const std::string& at;     // the variable that is a pack's number
  const std::string& which;  // and that which counts them
  std::function<void()> open;
};

// Loads all packs of a thread before any of them is stored, and says by operand what they are called then (empty: it is
// not loaded in packs). NVRTC 13.0 leaves a load behind the store that stands before it, though the two never meet.
std::vector<std::string> LoadAhead(const KernelProgram& program, const Kernel& kernel, const Loops& loops,
                                   const Unrolled& packs, DeviceWriter& out) {
  std::vector<std::string> loaded(kernel.operands.size()), dims;
  for (const LoopDim& dim : loops.dims) dims.push_back(dim.var);
  struct Ahead {
    std::string address, array, type, buffer;
    int operand = 0;
  };
  std::vector<Ahead> ahead;  // in the order of the operands
  for (const int operand : OperandsOf(ElementsOf(kernel))) {
    const auto o = static_cast<std::size_t>(operand);
    if (!LoadsInPacks(loops, kernel, o, packs.pack)) continue;
    const int buffer = kernel.operands[o].buffer;
    const std::string name = out.BufferName(buffer);
    const std::string address = name + " " + loops.OperandAddress(operand, dims);
    auto it = std::ranges::find(ahead, address, &Ahead::address);
    if (it == ahead.end()) {
      const DType dtype = program.buffers[static_cast<std::size_t>(buffer)].dtype;
      it = ahead.insert(
          it, {address, out.Fresh(name + "_packs"), PackType(out, DeviceType(dtype), packs.pack), name, operand});
      out.Line(fmt::format("{} {}[{}];", it->type, it->array, packs.unroll));
    }
    loaded[o] = fmt::format("{}[{}]", it->array, packs.which);
  }
  if (ahead.empty()) return loaded;
  packs.open();
  const std::vector<std::string> places = OpenPlaces(out, loops, AllOf(loops), packs.at, packs.pack);
  for (const Ahead& one : ahead) {
    out.Line(fmt::format("{}[{}] = {};", one.array, packs.which,
                         PackText(one.type, one.buffer, loops.OperandAddress(one.operand, places))));
  }
  out.Close();
  return loaded;
}

}  // namespace

std::int64_t PackOf(const Loops& loops, std::int64_t wanted) {
  std::int64_t pack = wanted;
  while (pack > 1 && loops.dims.back().extent % pack != 0) pack /= 2;
  return pack;
}

bool LoadsInPacks(const Loops& loops, const Kernel& kernel, std::size_t operand, std::int64_t pack) {
  if (pack == 1 || loops.dims.back().strides[operand] != 1 || kernel.operands[operand].offset % pack != 0) return false;
  for (std::size_t d = 0; d + 1 < loops.dims.size(); ++d) {
    if (loops.dims[d].strides[operand] % pack != 0) return false;
  }
  return true;
}

std::vector<std::string> OpenPlaces(DeviceWriter& out, const Loops& loops, const std::vector<std::size_t>& which,
                                    const std::string& at, std::int64_t pack) {
  std::vector<std::string> names(which.size());
  std::string left = at;
  for (std::size_t n = which.size(); n-- > 0;) {
    const LoopDim& dim = loops.dims[which[n]];
    const bool inner = which[n] + 1 == loops.dims.size();
    const std::int64_t extent = inner ? dim.extent / pack : dim.extent;
    std::string text = n == 0 ? left : fmt::format("{} % {}", left, extent);
    if (inner && pack > 1) text = fmt::format("{} * {}", n == 0 ? left : text, pack);
    if (text == left) {
      names[n] = left;
    } else {
      names[n] = out.Fresh(dim.var);
      out.Line(fmt::format("const {} {} = {};", out.index_type(), names[n], text));
    }
    if (n > 0)
      left = left == at || !left.starts_with("(") ? fmt::format("({} / {})", left, extent)
                                                  : fmt::format("({} / {})", left, extent);
  }
  return names;
}

void EmitMapCuda(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  if (EmitTurnedMap(program, kernel, out)) return;
  const Loops loops(program, kernel);
  const std::int64_t pack = PackOf(loops, IntSetting(kernel, "pack"));
  const std::int64_t packs = loops.Count(false) / pack;
  // A part is what one block does at a time: all blocks have one each, or few of them go through all.
  const bool few = kernel.settings.contains(std::string(kMultiprocessorsKnob));
  const std::int64_t threads = few ? kFewThreads : IntSetting(kernel, "block");
  std::int64_t unroll = IntSetting(kernel, "unroll");
  if (few) {
    const std::size_t packs_at_once = OperandsOf(ElementsOf(kernel)).size() + kernel.also.size();
    unroll = std::max(unroll, packs_at_once > kFewOperands ? kFewUnroll / 2 : kFewUnroll);
  }
  while (unroll > 1 && packs % (threads * unroll) != 0) unroll /= 2;
  const std::int64_t parts = (packs + threads * unroll - 1) / (threads * unroll);
  const std::int64_t blocks = few ? std::min(parts, IntSetting(kernel, std::string(kMultiprocessorsKnob))) : parts;

  out.BeginKernel("map", threads);
  const std::string& index = out.index_type();
  std::string block = index == "long" ? "static_cast<long>(blockIdx.x)" : "static_cast<int>(blockIdx.x)";
  const std::string thread = "static_cast<int>(threadIdx.x)";
  if (few) {
    const std::string part = out.Fresh("part");
    out.Open(fmt::format("for ({} {} = {}; {} < {}; {} += {})", index, part, block, part, parts, part, blocks));
    block = part;
  }
  std::string at;
  std::vector<std::string> loaded(kernel.operands.size());  // packs that are loaded as one
  if (few && unroll == 1) {
    at = out.Fresh("at");
    out.Line(fmt::format("const {} {} = {} * {} + {};", index, at, block, threads, thread));
    if (packs % threads != 0) out.Line(fmt::format("if ({} >= {}) break;", at, packs));
  } else if (unroll > 1) {
    at = out.Fresh("at");
    const std::string first = out.Fresh("first"), u = out.Fresh("u");
    out.Line(fmt::format("const {} {} = {} * {} + {};", index, first, block, threads * unroll, thread));
    const auto open = [&] {
      out.Unroll();
      out.Open(fmt::format("for (int {} = 0; {} < {}; ++{})", u, u, unroll, u));
      out.Line(fmt::format("const {} {} = {} + {} * {};", index, at, first, u, threads));
    };
    loaded =
        LoadAhead(program, kernel, loops, {.pack = pack, .unroll = unroll, .at = at, .which = u, .open = open}, out);
    open();
  } else {
    at = out.OpenThreads("at", packs);
  }
  const std::vector<std::string> places = OpenPlaces(out, loops, AllOf(loops), at, pack);

  std::vector<int> reads;
  std::map<std::string, std::string> known;
  for (const int operand : OperandsOf(ElementsOf(kernel))) {
    const auto o = static_cast<std::size_t>(operand);
    const int buffer = kernel.operands[o].buffer;
    reads.push_back(buffer);
    if (!loaded[o].empty() || !LoadsInPacks(loops, kernel, o, pack)) continue;
    const std::string type = PackType(out, DeviceType(program.buffers[static_cast<std::size_t>(buffer)].dtype), pack);
    const std::string text = PackText(type, out.BufferName(buffer), loops.OperandAddress(operand, places));
    auto [it, fresh] = known.emplace(text, "");
    if (fresh) {
      it->second = out.Fresh(out.BufferName(buffer) + "_pack");
      out.Line(fmt::format("const {} {} = {};", type, it->second, text));
    }
    loaded[o] = it->second;
  }
  const std::string to = loops.TargetAddress(places);
  const std::vector<int> targets = ElementTargetsOf(kernel);
  const std::vector<Expr> elements = ElementsOf(kernel);
  const auto stored_as = [&](std::size_t t) { return program.buffers[static_cast<std::size_t>(targets[t])].dtype; };
  std::string lane;
  std::vector<std::string> made;  // a pack of each target
  if (pack > 1) {
    for (std::size_t t = 0; t < targets.size(); ++t) {
      made.push_back(out.Fresh("made"));
      out.Line(fmt::format("{} {};", PackType(out, DeviceType(stored_as(t)), pack), made.back()));
    }
    lane = out.Fresh("e");
    out.Unroll();
    out.Open(fmt::format("for (int {} = 0; {} < {}; ++{})", lane, lane, pack, lane));
  }
  DeviceExpr expr(out, [&](const ExprNode& load) {
    const auto o = static_cast<std::size_t>(load.buffer);
    const int buffer = kernel.operands[o].buffer;
    if (!loaded[o].empty()) return LoadedText(out, buffer, fmt::format("{}.at[{}]", loaded[o], lane));
    std::vector<std::string> vars = places;
    if (pack > 1) vars.back() = fmt::format("{} + {}", vars.back(), lane);
    return LoadedText(out, buffer,
                      fmt::format("{}[{}]", out.BufferName(buffer), loops.OperandAddress(load.buffer, vars)));
  });
  std::vector<DType> types;
  for (std::size_t t = 0; t < targets.size(); ++t) types.push_back(stored_as(t));
  expr.BeCoarseWhereRounded(elements, types);
  std::vector<std::string> values = expr.Texts(elements);
  for (std::size_t t = 0; t < targets.size(); ++t) {
    values[t] = DeviceExpr::Stored(values[t], elements[t]->type, stored_as(t));
    if (pack > 1 || !ReadsWhatItReplaces(kernel)) continue;
    const std::string value = out.Fresh("value");
    out.Line(fmt::format("const {} {} = {};", DeviceType(stored_as(t)), value, values[t]));
    values[t] = value;
  }
  for (std::size_t t = 0; t < targets.size(); ++t) {
    const std::string& value = values[t];
    out.Line(pack > 1 ? fmt::format("{}.at[{}] = {};", made[t], lane, value)
                      : fmt::format("{}[{}] = {};", out.BufferName(targets[t]), to, value));
  }
  if (pack > 1) out.Close();
  for (std::size_t t = 0; t < made.size(); ++t) {
    out.Line(fmt::format("*reinterpret_cast<Pack<{}, {}>*>({} + {}) = {};", DeviceType(stored_as(t)), pack,
                         out.BufferName(targets[t]), to, made[t]));
  }
  if (unroll > 1) out.Close();
  if (few) out.Close();
  out.Launch({.grid_x = blocks, .reads = reads, .writes = targets});
}

}  // namespace hone::dsl
