#include "protocol/protocol.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(ProtocolTest, AWorkersSetupReadsBackAsItWasWritten) {
  WorkerSetup setup;
  setup.form = Form::kCudaModule;
  setup.library = "/module.so";
  setup.kernels = std::string("\x7f\0\xff", 3);
  setup.threads = 2;
  setup.views = 5;
  setup.input_bytes = std::int64_t{1} << 40;
  setup.cpu_seconds = 3600;
  setup.inputs.push_back({.name = "x", .shape = {2, 3}, .dtype = DType::kF16});
  setup.outputs.push_back({.name = "y", .shape = {}, .dtype = DType::kI64});
  setup.input_slots = {{{4096, 8192, 64, 12}}, {{12288, 8192, 64, 12}}};
  setup.parameter_places = {};
  const std::string line = ToJson(setup);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto read = ParseWorkerSetup(line);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(ToJson(*read), line);
  EXPECT_EQ(read->form, Form::kCudaModule);
  EXPECT_EQ(read->kernels, setup.kernels);
  EXPECT_EQ(read->inputs.at(0).dtype, DType::kF16);
  EXPECT_EQ(read->input_slots.at(1).at(0).offset, 12288);
}

TEST(ProtocolTest, WhatIsNoSetupIsCorrupt) {
  for (const char* line : {"", "7", "{", R"({"form": "plans"})", R"({"form": "plan", "inputs": 3})"}) {
    const auto read = ParseWorkerSetup(line);
    ASSERT_FALSE(read) << line;
    EXPECT_EQ(read.error().kind, ErrorKind::kCorrupt) << line;
  }
}

TEST(ProtocolTest, EveryFormHasANameThatReadsBack) {
  for (const Form form : {Form::kModule, Form::kPlan, Form::kCudaModule}) EXPECT_EQ(ParseForm(Name(form)), form);
  EXPECT_EQ(ParseForm("poem"), std::nullopt);
}

TEST(ProtocolTest, SystemCallsHaveTheirNames) { EXPECT_EQ(SystemCallName(1'000'000), "system call 1000000"); }

}  // namespace
}  // namespace hone
