// Compiles a program's C++ and runs it on random data beside the interpreter: for tests only.
#pragma once

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <hone/module.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/process.h"
#include "dsl/kernel.h"
#include "dsl/testing/hard_names.h"
#include "dsl/testing/interpreter.h"
#include "problem/element.h"

namespace hone::dsl::testing {

inline const std::vector<std::string>& ModuleFlags() {
  static const std::vector<std::string> flags = {"-std=c++20",
                                                 "-O3",
                                                 "-march=native",
                                                 "-fopenmp",
                                                 "-fno-math-errno",
                                                 "-ffp-contract=fast",
                                                 "-fno-trapping-math",
                                                 "-shared",
                                                 "-fPIC",
                                                 "-x",
                                                 "c++"};
  return flags;
}

// A processor that multiplies pairs of bf16.
inline DeviceModel WithPairs() {
  DeviceModel device;
  device.processor = "a processor";
  device.vector_bytes = 64;
  device.bf16_pairs = true;
  return device;
}

inline KernelProgram MustCheck(const std::string& text, const DeviceModel& device = {}) {
  auto parsed = Parse(text);
  if (auto* complaint = std::get_if<Complaint>(&parsed)) {
    ADD_FAILURE() << ToString(*complaint) << "\n" << text;
    return {};
  }
  auto checked = Check(std::get<Program>(parsed), nullptr, device);
  if (auto* complaint = std::get_if<Complaint>(&checked)) {
    ADD_FAILURE() << ToString(*complaint) << "\n" << text;
    return {};
  }
  return std::get<KernelProgram>(std::move(checked));
}

class Module {
 public:
  explicit Module(const KernelProgram& program) : program_(program), source_(EmitCpu(program)) {
    auto folder = TempDirectory::Create("dsl-test");
    if (!folder) return;
    const std::string source = folder->path() + "/m.cc", library = folder->path() + "/m.so";
    std::ofstream(source) << source_;
    std::vector<std::string> argv = {"g++"};
    argv.insert(argv.end(), ModuleFlags().begin(), ModuleFlags().end());
    const char* root = std::getenv("HONE_SOURCE");
    argv.insert(argv.end(), {"-I" + std::string(root ? root : ".") + "/include", "-Wall", "-Wextra",
                             "-Wno-unknown-pragmas", source, "-o", library});
    const auto exit = hone::Run({.argv = argv, .environment = InheritedEnvironment()});
    if (!exit || !exit->ok()) {
      log_ = exit ? exit->error : exit.error().message;
      return;
    }
    log_ = exit->error;
    if (auto bytes = ReadFile(library)) symbols_ = std::move(*bytes);
    handle_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle_) log_ = dlerror();
  }
  ~Module() = default;  // OpenMP's threads may still hold the code: a test's library stays loaded

  bool ok() const { return handle_ != nullptr; }
  const std::string& log() const { return log_; }
  const std::string& source() const { return source_; }
  const std::string& symbols() const { return symbols_; }  // the library's bytes: names of what it calls stand in them

  // Runs on the given values (one vector a buffer; inputs and parameters are read) and gives the outputs by buffer.
  std::vector<std::vector<double>> Run(const std::vector<std::vector<double>>& values, int threads) {
    std::vector<Array> arrays(program_.buffers.size());
    std::vector<DLTensor> tensors[3];
    for (const auto home : {KernelBuffer::Home::kInput, KernelBuffer::Home::kParameter, KernelBuffer::Home::kOutput}) {
      for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
        const KernelBuffer& buffer = program_.buffers[i];
        if (buffer.home != home) continue;
        arrays[i].Fill(buffer, values[i]);
        if (buffer.updates >= 0) {  // one memory
          arrays[i].Fill(buffer, values[static_cast<std::size_t>(buffer.updates)]);
          const KernelBuffer& input = program_.buffers[static_cast<std::size_t>(buffer.updates)];
          tensors[0][static_cast<std::size_t>(input.position)].data = arrays[i].data();
        }
        auto& list = tensors[static_cast<int>(home)];
        list.resize(std::max<std::size_t>(list.size(), static_cast<std::size_t>(buffer.position) + 1));
        list[static_cast<std::size_t>(buffer.position)].data = arrays[i].data();
      }
    }
    HoneCall call{};
    call.inputs = tensors[0].data();
    call.parameters = tensors[1].data();
    call.outputs = tensors[2].data();
    call.threads = threads;
    if (auto* prepare = reinterpret_cast<int32_t (*)(const HoneCall*, void**)>(dlsym(handle_, "hone_prepare"))) {
      EXPECT_EQ(prepare(&call, &call.state), 0);
    }
    auto* run = reinterpret_cast<int32_t (*)(const HoneCall*)>(dlsym(handle_, "hone_run"));
    EXPECT_EQ(run(&call), 0);
    for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
      const int updated = program_.buffers[i].updates;
      if (updated >= 0) arrays[i].Set(values[static_cast<std::size_t>(updated)]);
    }
    EXPECT_EQ(run(&call), 0);  // the second call finds the first one's scratch memory
    if (auto* release = reinterpret_cast<void (*)(void*)>(dlsym(handle_, "hone_release"))) release(call.state);
    std::vector<std::vector<double>> results(program_.buffers.size());
    for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
      if (program_.buffers[i].home == KernelBuffer::Home::kIntermediate) continue;
      EXPECT_TRUE(arrays[i].FencesHold()) << program_.buffers[i].name << " is written past its end\n" << source_;
      results[i] = arrays[i].Values();
    }
    return results;
  }

 private:
  // Memory of one tensor at 64 bytes with a fence behind it.
  class Array {
   public:
    void Fill(const KernelBuffer& buffer, const std::vector<double>& values) {
      dtype_ = buffer.dtype;
      count_ = static_cast<std::size_t>(ElementCount(buffer.shape));
      bytes_.resize(count_ * Bytes(dtype_) + 64 + kFence, kPoison);
      auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
      data_ = bytes_.data() + ((address + 63) / 64 * 64 - address);
      Set(values);
    }
    void Set(const std::vector<double>& values) {
      for (std::size_t i = 0; i < std::min(count_, values.size()); ++i)
        SetElement(dtype_, data_, static_cast<std::int64_t>(i), values[i]);
    }
    void* data() { return data_; }
    bool FencesHold() const {
      for (const unsigned char* at = data_ + count_ * Bytes(dtype_); at != bytes_.data() + bytes_.size(); ++at) {
        if (*at != kPoison) return false;
      }
      return true;
    }
    std::vector<double> Values() const {
      std::vector<double> values(count_);
      const DType read = dtype_ == DType::kBool ? DType::kU8 : dtype_;  // other bytes than 0 and 1 are seen
      for (std::size_t i = 0; i < count_; ++i) values[i] = ElementAsDouble(read, data_, static_cast<std::int64_t>(i));
      return values;
    }

   private:
    static constexpr unsigned char kPoison = 0xa5;
    static constexpr std::size_t kFence = 256;
    DType dtype_ = DType::kF32;
    std::size_t count_ = 0;
    std::vector<unsigned char> bytes_;
    unsigned char* data_ = nullptr;
  };

  KernelProgram program_;
  std::string source_, log_, symbols_;
  void* handle_ = nullptr;
};

// Values that a tensor of the type can hold exactly.
inline std::vector<double> RandomValues(std::mt19937& random, const KernelBuffer& buffer) {
  std::vector<double> values(static_cast<std::size_t>(ElementCount(buffer.shape)));
  std::normal_distribution<double> normal;
  for (auto& value : values) {
    value = normal(random);
    if (buffer.dtype == DType::kBool)
      value = value > 0;
    else if (IsFloat(buffer.dtype))
      value = WithElement(buffer.dtype, [&](auto element) { return decltype(element)::From(value).Value(); });
    else
      value = buffer.dtype == DType::kU8 ? std::floor(std::fabs(value) * 10) : std::floor(value * 10);
  }
  return values;
}

// Compiles, runs with the given threads and compares all outputs with the interpreter: |got - want| <= tolerance * (1 +
// |want|). Under the names that the program has.
inline void ExpectRightAsNamed(const KernelProgram& program, int threads, std::mt19937& random,
                               double tolerance = 2e-5) {
  Module module(program);
  ASSERT_TRUE(module.ok()) << module.log() << "\n" << module.source();
  std::vector<std::vector<double>> values(program.buffers.size());
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    if (program.buffers[i].home <= KernelBuffer::Home::kParameter) values[i] = RandomValues(random, program.buffers[i]);
  }
  const auto got = module.Run(values, threads);
  Interpreter(program, values).Run();
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    if (program.buffers[b].home != KernelBuffer::Home::kOutput) continue;
    int shown = 0;
    for (std::size_t i = 0; i < values[b].size() && shown < 3; ++i) {
      const double want = values[b][i], is = got[b][i];
      const bool same =
          std::isnan(want) ? std::isnan(is) : want == is || std::fabs(is - want) <= tolerance * (1 + std::fabs(want));
      if (same) continue;
      ++shown;
      ADD_FAILURE() << program.buffers[b].name << "[" << i << "] is " << is << ", not " << want << ", on " << threads
                    << " threads\n"
                    << (shown == 1 ? module.source() : "");
    }
    if (shown) return;
  }
}

// The same under names that are hard to bear, of which all are tried, though not all compiled.
inline void ExpectRight(const KernelProgram& program, int threads, std::mt19937& random, double tolerance = 2e-5) {
  ExpectNamesChangeNothing(program, EmitCpu);
  ExpectRightAsNamed(WithHardNames(program, EmitCpu), threads, random, tolerance);
}

}  // namespace hone::dsl::testing
