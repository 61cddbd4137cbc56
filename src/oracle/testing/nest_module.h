// Nests of the oracle as modules of the host, for tests.
#pragma once

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "oracle/cuda_nest.h"
#include "oracle/loop_nest.h"
#include "oracle/slabs.h"
#include "oracle/testing/block_threads.h"
#include "target/cpu/compiler.h"

namespace hone::testing {

// What nests give, an array an output: values, scales before they become budgets, and what is honest.
struct Given {
  std::vector<std::vector<double>> value, scale, honest;
};
inline std::vector<double*> RoomFor(const Graph& graph, std::vector<std::vector<double>>& arrays) {
  std::vector<double*> at;
  for (const Tensor* output : graph.problem().Outputs())
    arrays.emplace_back(static_cast<std::size_t>(ElementCount(output->shape)));
  for (auto& array : arrays) at.push_back(array.data());
  return at;
}

// A module of ours; a test fails where it does not compile. It stays loaded, as the threads of OpenMP's runtime do.
class NestModule {
 public:
  explicit NestModule(std::string source) {
    CompileRequest request;
    request.source = std::move(source);
    request.flags = {"-std=c++17", "-ffp-contract=off", "-w", "-O0"};  // what compiles fast: they run on little
    request.trusted = true;
    const auto compiled = CompileModule(request);
    if (!compiled || !compiled->ok()) {
      ADD_FAILURE() << (compiled ? compiled->log : compiled.error().message);
      return;
    }
    library_ = dlopen(compiled->library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    EXPECT_TRUE(library_) << dlerror();
  }
  template <class... Arguments>
  void Call(const char* name, Arguments... arguments) const {
    void* const found = library_ != nullptr ? dlsym(library_, name) : nullptr;
    ASSERT_TRUE(found) << name;
    reinterpret_cast<void (*)(Arguments...)>(found)(arguments...);
  }

 private:
  void* library_ = nullptr;
};

// The launches of a run for the parts from `begin` to `end` of its group.
inline void AddRun(std::string& text, const CudaNests& nests, const SlabGroup& group, const CudaNests::Run& run) {
  text += fmt::format("  for (std::int64_t i = 0; i < {0}; ++i) {{ const std::int64_t step = {1};\n", run.steps,
                      run.reversed ? fmt::format("{} - i", run.steps - 1) : "i");
  for (const auto& launch : run.launches) {
    if (launch.scratch_bytes > 0) text += fmt::format("    scratch.resize({});\n", launch.scratch_bytes);
    const std::int64_t of_part = launch.count / group.parts;
    text += fmt::format("    Launch({}, {}, [&] {{ {}<R>(", launch.Blocks(of_part * group.each), launch.threads,
                        nests.kernels[static_cast<std::size_t>(launch.kernel)].name);
    for (const auto& argument : launch.arguments) {
      using Kind = CudaNests::Argument::Kind;
      if (argument.kind == Kind::kMemory) {
        const auto& memory = nests.memories[static_cast<std::size_t>(argument.index)];
        const bool within = group.within.contains(argument.index);
        text += fmt::format("Any{{m{}.data() - {} * begin * (tracked ? {} : {})}}, ", argument.index,
                            within ? memory.elements / group.parts : 0, memory.tracked_bytes, memory.honest_bytes);
        continue;
      }
      const char* format = argument.kind == Kind::kInput   ? "Any{{in[{}]}}, "
                           : argument.kind == Kind::kValue ? "value[{}], "
                           : argument.kind == Kind::kScale ? "scale[{}], "
                                                           : "Any{{scratch.data() + {}}}, ";
      text += fmt::format(fmt::runtime(format), argument.index);
    }
    text += fmt::format("step, {0} * begin, {0} * end", of_part);
    if (!launch.numbers.empty()) {
      text += fmt::format(", hone::KernelNumbers<{}>{{{{", launch.numbers.size());
      for (const auto number : launch.numbers) text += fmt::format("hone::KernelNumberOf({}), ", number);
      text += "}}";
    }
    text += "); });\n";
  }
  text += "  }\n";
}

// The kernels as C++ functions, behind what blocks are (block_threads.h), and a function that launches them in order.
inline std::string Emulation(const CudaNests& nests, const SlabPlan& plan, std::string_view blocks) {
  std::string text(blocks);
  text += nests.Source(0, nests.kernels.size());
  text +=
      "#include <vector>\nstruct Any { const void* at; template <class T> operator T*() const { return (T*)at; } };\n"
      "template <class R, bool tracked> void Pass(const void* const* in, double* const* value, double* const* scale) "
      "{\n";
  for (std::size_t m = 0; m < nests.memories.size(); ++m) {
    const auto& memory = nests.memories[m];
    // Only a slab, where it is within a group: whatever is read beside that is not there.
    std::int64_t elements = memory.elements;
    for (const auto& group : plan.groups) {
      if (group.within.contains(static_cast<int>(m))) elements = elements / group.parts * group.each;
    }
    text += fmt::format("  std::vector<char> m{}({} * (tracked ? {} : {}));\n", m, elements, memory.tracked_bytes,
                        memory.honest_bytes);
  }
  text += "  std::vector<char> scratch;\n";
  for (const auto& group : plan.groups) {
    text += fmt::format(
        "  for (std::int64_t slab = 0; slab < {}; ++slab) {{\n"
        "  const std::int64_t begin = slab * {}, end = std::min<std::int64_t>({}, begin + {});\n",
        group.Slabs(), group.each, group.parts, group.each);
    for (const auto run : group.runs) AddRun(text, nests, group, nests.runs[run]);
    text += "  }\n";
  }
  text +=
      "}\nextern \"C\" __attribute__((visibility(\"default\"))) void emulate(const void* const* in, double* const* "
      "value, "
      "double* const* scale, double* const* honest) {\n  Pass<" +
      nests.honest + ", false>(in, honest, scale);\n  Pass<Tracked, true>(in, value, scale);\n}\n";
  return text;
}

// The nests of a device on the host.
class EmulatedNests {
 public:
  explicit EmulatedNests(const CudaNests& nests, std::int64_t most_bytes = kAnyBytes,
                         std::string_view blocks = kBlocksOfOneThread)
      : module_(Emulation(nests, PlanSlabs(nests, most_bytes), blocks)) {}
  Given Run(const Graph& graph, const std::vector<const void*>& inputs) const {
    Given given;
    const auto value = RoomFor(graph, given.value), scale = RoomFor(graph, given.scale),
               honest = RoomFor(graph, given.honest);
    module_.Call("emulate", inputs.data(), value.data(), scale.data(), honest.data());
    return given;
  }

 private:
  NestModule module_;
};
inline Given Emulated(const CudaNests& nests, const Graph& graph, const std::vector<const void*>& inputs) {
  return EmulatedNests(nests).Run(graph, inputs);
}

// Those of the host.
class HostNests {
 public:
  explicit HostNests(const OracleSources& sources) : values_(sources.values), honest_(sources.honest) {}
  Given Run(const Graph& graph, const std::vector<const void*>& inputs) const {
    Given given;
    const auto value = RoomFor(graph, given.value), scale = RoomFor(graph, given.scale),
               honest = RoomFor(graph, given.honest);
    honest_.Call("hone_oracle", inputs.data(), honest.data(), scale.data(), 2);  // its scales are overwritten
    values_.Call("hone_oracle", inputs.data(), value.data(), scale.data(), 2);
    return given;
  }

 private:
  NestModule values_, honest_;
};

}  // namespace hone::testing
