// A device's text with wgmma, barriers and the copy engine, run on the host: threads of all blocks of a cluster take
// turns, each until it has to wait. What the text says in PTX has stand-ins that do it at once, so that places in
// memory, who waits for whom and what is computed are as on a device; what comes late there does not here.
#pragma once

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <random>
#include <regex>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/files.h"
#include "base/process.h"
#include "base/testing/taking_turns.h"
#include "candidate/plan.h"
#include "dsl/cuda/attention_wgmma.h"
#include "dsl/cuda/device_helpers.h"
#include "dsl/cuda/tensor_product.h"
#include "dsl/lower.h"
#include "dsl/testing/device_stand_ins.h"
#include "dsl/testing/interpreter.h"
#include "problem/element.h"
#include "target/shipped_model.h"

namespace hone {
extern const std::string_view kTensorCoreText;      // dsl/cuda/tensor_core.cuh
extern const std::string_view kTensorEndText;       // dsl/cuda/tensor_end.cuh
extern const std::string_view kTensorPixelsText;    // dsl/cuda/tensor_pixels.cuh
extern const std::string_view kAttentionPairsText;  // dsl/cuda/attention_pairs.cuh
extern const std::string_view kMmaText;             // dsl/cuda/mma.cuh
extern const std::string_view kMmaTf32Text;         // dsl/cuda/mma_tf32.cuh
extern const std::string_view kStoredRealsText;     // dsl/cuda/stored_reals.cuh
extern const std::string_view kStoredWeightsText;   // dsl/cuda/stored_weights.cuh
}  // namespace hone

namespace hone::dsl::testing {

class DeviceBlocksTest : public ::testing::Test {
 protected:
  // Runs the program on random numbers; every output has to be the interpreter's, but for `tolerance` of the elements'
  // size.
  void ExpectBlocksSay(std::string_view text, double tolerance, const DeviceModel& device = TypicalDevice()) {
    SCOPED_TRACE(text);
    const auto lowered = Lower(fmt::format("program p\n{}\n", text), nullptr, device);
    ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<Complaint>(lowered));
    const auto& program = std::get<KernelProgram>(lowered);
    const Plan plan = EmitCuda(program);
    std::map<std::string, std::vector<char>> memory;
    std::map<std::string, std::size_t> element_bytes;
    std::vector<std::vector<double>> values(program.buffers.size());
    std::mt19937 random(5);
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
      const KernelBuffer& buffer = program.buffers[b];
      auto& bytes = memory[buffer.name];
      element_bytes[buffer.name] = Bytes(buffer.dtype);
      bytes.assign(static_cast<std::size_t>(ElementCount(buffer.shape)) * Bytes(buffer.dtype), '\xff');
      if (buffer.home > KernelBuffer::Home::kParameter) continue;
      values[b].resize(static_cast<std::size_t>(ElementCount(buffer.shape)));
      for (std::size_t i = 0; i < values[b].size(); ++i) {
        const int drawn = static_cast<int>(random() % 4096) - 1024;
        const int whole = buffer.dtype == DType::kI8 ? drawn % 100 : std::abs(drawn % 100);
        SetElement(buffer.dtype, bytes.data(), static_cast<std::int64_t>(i),
                   IsFloat(buffer.dtype) ? drawn / 2048.0 : whole);
        values[b][i] = ElementAsDouble(buffer.dtype, bytes.data(), static_cast<std::int64_t>(i));
      }
    }
    for (const PlanBuffer& buffer : plan.buffers) {
      element_bytes[buffer.name] = Bytes(buffer.dtype);
      memory[buffer.name].assign(static_cast<std::size_t>(ElementCount(buffer.shape)) * Bytes(buffer.dtype), '\xff');
    }
    for (const KernelBuffer& buffer : program.buffers) {
      if (buffer.updates >= 0)
        memory[buffer.name] = memory[program.buffers[static_cast<std::size_t>(buffer.updates)].name];
    }
    std::vector<void*> addresses;
    std::map<std::string, std::size_t> numbers;
    for (auto& [name, bytes] : memory) {
      numbers[name] = addresses.size();
      addresses.push_back(bytes.data());
    }
    RunOnHost(SourceOf(plan, numbers, element_bytes), addresses);
    Interpreter(program, values).Run();
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
      const KernelBuffer& buffer = program.buffers[b];
      if (buffer.home != KernelBuffer::Home::kOutput) continue;
      double size = 0;
      for (const double want : values[b])
        size += std::isfinite(want) ? std::fabs(want) / static_cast<double>(values[b].size()) : 0;
      int wrong = 0;
      for (std::size_t i = 0; i < values[b].size() && wrong < 3; ++i) {
        const double want = values[b][i],
                     is = ElementAsDouble(buffer.dtype, memory[buffer.name].data(), static_cast<std::int64_t>(i));
        if (std::isinf(want) ? is == want : std::fabs(is - want) <= tolerance * (size + std::fabs(want))) continue;
        ++wrong;
        ADD_FAILURE() << buffer.name << "[" << i << "] is " << is << ", not " << want;
      }
    }
  }

 private:
  // The plan's text with stand-ins, and a function that launches its steps.
  static std::string SourceOf(const Plan& plan, const std::map<std::string, std::size_t>& numbers,
                              const std::map<std::string, std::size_t>& bytes) {
    std::string text = plan.sources.at(0).text;
    const auto replace = [&](std::string_view what, std::string_view with) {
      for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
        text.replace(at, what.size(), with);
    };
    replace(kTensorCoreText, "");
    replace(kTensorEndText, "");
    replace(kTensorPixelsText, "");
    replace(kAttentionPairsText, "");
    replace(kMmaText, "");
    replace(kMmaTf32Text, "");
    replace(kStoredRealsText, "");
    replace(kStoredWeightsText, "");
    replace(kRoundedText, "");
    replace("asm(\"ex2.approx.ftz.f32 %0, %1;\" : \"=f\"(y) : \"f\"(x));", "y = std::exp2(x);");
    for (const DType type : {DType::kF16, DType::kBF16}) {
      for (std::int64_t n = 8; n <= 256; n += 8) replace(AttentionProductsText(n, type), "");
    }
    for (const DType type : {DType::kF16, DType::kBF16, DType::kF32}) {
      const ProductKind kind{type, type};
      for (std::int64_t n = 64; n <= 256; n += 32)
        replace(ProductText(n, kind),
                fmt::format("const auto {} = Products<{}, {}>::Of;\n", kind.Name(), RowOf(type).cuda, n));
    }
    replace("template <class T, int N>\nstruct Products;", "");
    replace("#include", "//");
    replace("extern __shared__ unsigned char tiles[];", "unsigned char* const tiles = Dynamic();");
    replace("__shared__ __align__(8) unsigned long full[kStages], empty[kStages];",
            "unsigned long* const full = &Static<unsigned long>(), *const empty = full + kStages;");
    replace("__shared__ __align__(8) unsigned long kept[1];", "unsigned long* const kept = empty + kStages;");
    replace("extern __shared__ __align__(16) unsigned char memory[];", "unsigned char* const memory = Dynamic();");
    replace("__shared__ Block::Shared shared;", "Block::Shared& shared = Static<Block::Shared>();");
    replace("asm(\"max.NaN.f32 %0, %1, %2;\" : \"=f\"(most) : \"f\"(a), \"f\"(b));", "most = a > b || a != a ? a : b;");
    replace("asm(\"min.NaN.f32 %0, %1, %2;\" : \"=f\"(least) : \"f\"(a), \"f\"(b));",
            "least = a < b || a != a ? a : b;");
    replace("asm(\"ex2.approx.ftz.f32 %0, %1;\" : \"=f\"(power) : \"f\"(x));", "power = x < -126 ? 0 : std::exp2(x);");
    replace("asm(\"rcp.approx.ftz.f32 %0, %1;\" : \"=f\"(inverse) : \"f\"(x));", "inverse = 1 / x;");
    text = WithArrays(text);
    std::string run = "extern \"C\" void run(void** buffers) {\n";
    for (const PlanStep& step : plan.steps) {
      const auto& launch = std::get<LaunchStep>(step);
      std::string arguments;
      for (const PlanArgument& argument : launch.arguments) {
        arguments += arguments.empty() ? "" : ", ";
        if (const auto* map = std::get_if<TensorMapArgument>(&argument)) {
          arguments += MapText(*map, numbers.at(map->buffer), bytes.at(map->buffer));
        } else {
          arguments += fmt::format("Pointer{{buffers[{}]}}", numbers.at(std::get<BufferArgument>(argument).name));
        }
      }
      run += fmt::format("  for (blockIdx.y = 0; blockIdx.y < {}; ++blockIdx.y)\n", launch.grid[1]);
      run += fmt::format("    RunGrid({}, {}, {}, [&] {{ {}({}); }});\n", launch.grid[0], launch.block[0],
                         launch.cluster[0], launch.kernel, arguments);
    }
    return "#include \"stand_ins.h\"\n" + text + run + "}\n";
  }
  // The arrays in shared memory, which fit side by side, each at a place of its own.
  static std::string WithArrays(std::string text) {
    static const std::regex declared(R"(__shared__ __align__\((\d+)\) (\w+) (\w+)\[(\d+)\];)");
    std::int64_t offset = 0;
    for (std::smatch found; std::regex_search(text, found, declared);) {
      const std::string array = fmt::format("{0}* const {1} = Array<{0}>({2});", found.str(2), found.str(3), offset);
      offset += std::stoll(found.str(4)) * 8 / 16 * 16 + 16;  // no element is larger
      text.replace(static_cast<std::size_t>(found.position()), static_cast<std::size_t>(found.length()), array);
    }
    return text;
  }
  static std::string MapText(const TensorMapArgument& map, std::size_t buffer, std::size_t bytes) {
    const auto list = [](const std::vector<std::int64_t>& of) { return fmt::format("{{{}}}", fmt::join(of, ", ")); };
    const PixelWalk walk = map.pixels.value_or(PixelWalk{});
    return fmt::format(
        "TensorMap{{static_cast<unsigned char*>(buffers[{}]) + {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}}", buffer,
        map.offset * static_cast<std::int64_t>(bytes), bytes, map.tf32, list(map.shape), list(map.strides),
        map.pixels ? map.box[0] : map.box[map.box.size() - 2], walk.lower.size(), list(walk.lower), list(walk.upper),
        list(walk.stride), map.box.back() * static_cast<std::int64_t>(bytes));
  }

  static void RunOnHost(const std::string& source, std::vector<void*>& addresses) {
    static const std::string stand_ins = StandInsForAll();
    const auto folder = TempDirectory::Create("device_blocks");
    ASSERT_TRUE(folder);
    const std::string file = folder->path() + "/blocks.cc", library = folder->path() + "/blocks.so";
    std::ofstream(file) << source;
    CompileForHost({"-shared", file, "-I", stand_ins, "-o", library});
    void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle, nullptr) << dlerror();
    reinterpret_cast<void (*)(void**)>(dlsym(handle, "run"))(addresses.data());
  }
  static void CompileForHost(const std::vector<std::string>& arguments) {
    std::vector<std::string> argv = {"g++", "-std=c++20", "-O1", "-w", "-fno-strict-aliasing", "-fPIC", "-pthread"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    const auto exit = hone::Run({.argv = argv, .environment = InheritedEnvironment()});
    ASSERT_TRUE(exit);
    ASSERT_TRUE(exit->ok()) << exit->error;
  }
  // The folder of the header that all texts begin with, read by the compiler once for all of a process's tests.
  static std::string StandInsForAll() {
    static const auto folder = TempDirectory::Create("device_stand_ins");
    if (!folder) return "";
    const std::string header = folder->path() + "/stand_ins.h";
    std::ofstream(header) << kDeviceStandIns << hone::testing::kTakingTurns << kDeviceBlocks << kDeviceProducts;
    CompileForHost({"-x", "c++-header", header, "-o", header + ".gch"});
    return folder->path();
  }
};

}  // namespace hone::dsl::testing
