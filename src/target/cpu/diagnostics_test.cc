#include "target/cpu/diagnostics.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(DiagnosticsTest, ErrorHasLineColumnAndMessage) {
  const auto errors = ParseDiagnostics(
      "kernel.cc: In function 'int f()':\n"
      "kernel.cc:3:12: error: expected ';' before '}' token\n"
      "    3 |   return 1 }\n"
      "      |            ^~\n",
      "kernel.cc");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].line, 3);
  EXPECT_EQ(errors[0].column, 12);
  EXPECT_EQ(errors[0].message, "expected ';' before '}' token");
}

TEST(DiagnosticsTest, WarningsAndNotesAreLeftOut) {
  EXPECT_TRUE(
      ParseDiagnostics("kernel.cc:1:1: warning: no error: here\nkernel.cc:1:1: note: x\n", "kernel.cc").empty());
}

TEST(DiagnosticsTest, ErrorInHeaderIsPlacedWhereItCameFrom) {
  const auto errors = ParseDiagnostics(
      "/usr/include/c++/12/bits/stl_algo.h: In instantiation of 'void std::sort(It, It) [with It = S]':\n"
      "kernel.cc:7:12:   required from here\n"
      "/usr/include/c++/12/bits/stl_algo.h:1938:22: error: no match for 'operator-'\n"
      "In file included from kernel.cc:2:\n"
      "/usr/include/x.h:4:2: error: #error too old\n"
      "/usr/include/y.h:5:2: error: alone\n",
      "kernel.cc");
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_EQ(errors[0].line, 7);
  EXPECT_EQ(errors[1].line, 2);
  EXPECT_EQ(errors[2].line, 0);
}

TEST(DiagnosticsTest, MissingHeaderIsAnError) {
  const auto errors = ParseDiagnostics(
      "kernel.cc:1:10: fatal error: nope.h: No such file or directory\ncompilation terminated.\n", "kernel.cc");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].message, "nope.h: No such file or directory");
}

TEST(DiagnosticsTest, LinkerErrorIsNotHiddenByItsSummary) {
  const auto errors = ParseDiagnostics(
      "/usr/bin/ld: /tmp/cc1.o: in function `f':\nkernel.cc:(.text+0x1): undefined reference to `missing()'\n"
      "collect2: error: ld returned 1 exit status\n",
      "kernel.cc");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].message, "undefined reference to `missing()'");
}

TEST(DiagnosticsTest, AssemblerErrorHasItsLine) {
  const auto errors = ParseDiagnostics(
      "kernel.cc: Assembler messages:\nkernel.cc:5: Error: no such instruction: `bogus'\n", "kernel.cc");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].line, 5);
}

TEST(DiagnosticsTest, AnotherFileOfSimilarNameIsNotOurs) {
  const auto errors = ParseDiagnostics("my_kernel.cc:5:1: error: x\n", "kernel.cc");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].line, 0);
}

}  // namespace
}  // namespace hone
