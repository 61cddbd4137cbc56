// Broken files end in one clear line. This is the short form, in this process and without Python; tools/import_fuzz.py
// is the long one, with broken .py files, graphs and crashes that a process can have.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/files.h"
#include "problem/import/import.h"

namespace hone {
namespace {

using Random = std::mt19937;

std::size_t Below(Random& random, std::size_t limit) { return limit == 0 ? 0 : random() % limit; }

// A whole token of JSON, from one quote, brace or figure to the next.
std::pair<std::size_t, std::size_t> Token(const std::string& text, Random& random) {
  constexpr std::string_view kEnds = " ,:[]{}\n";
  const std::size_t at = Below(random, text.size());
  std::size_t begin = at, end = at + 1;
  while (begin > 0 && kEnds.find(text[begin - 1]) == kEnds.npos) --begin;
  while (end < text.size() && kEnds.find(text[end]) == kEnds.npos) ++end;
  return {begin, end - begin};
}

std::string Broken(std::string text, Random& random) {
  const std::vector<std::string> odd = {"0",
                                        "-1",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "1e400",
                                        "1e308",
                                        "null",
                                        "[]",
                                        "{}",
                                        "\"\"",
                                        "\"%x\"",
                                        "true",
                                        "\"f8\"",
                                        "2.5",
                                        "\"\\u0000\"",
                                        "1099511627777",
                                        "{\"real\": \"nan\"}",
                                        "[[[[1]]]]"};
  for (std::size_t round = 1 + Below(random, 3); round > 0 && !text.empty(); --round) {
    const std::size_t at = Below(random, text.size());
    switch (Below(random, 8)) {
      case 0: text[at] = static_cast<char>(text[at] ^ (1 << Below(random, 8))); break;
      case 1: text.erase(at, 1 + Below(random, 20)); break;
      case 2: text.insert(at, text.substr(Below(random, text.size()), Below(random, 40))); break;
      case 3: text.insert(at, std::string(Below(random, 2) ? 3 : 5000, "[{("[Below(random, 3)])); break;
      case 4: text.resize(at); break;
      case 5: {
        const auto [from, length] = Token(text, random);
        const std::string token = text.substr(from, length);
        const auto [to, replaced] = Token(text, random);
        text.replace(to, replaced, token);
        break;
      }
      default: {
        const auto [from, length] = Token(text, random);
        text.replace(from, length, odd[Below(random, odd.size())]);
      }
    }
  }
  return text;
}

TEST(FuzzTest, BrokenProblemsAreReadOrRefusedInOneLine) {
  auto folder = TempDirectory::Create("fuzz");
  ASSERT_TRUE(folder);
  std::vector<std::string> texts = {
      R"({"tensors": [{"name": "x", "shape": [4, 8]}, {"name": "y", "shape": [4], "role": "output"}],
         "graph": [{"op": "aten.sum.dim_IntList", "args": {"self": "%x", "dim": [1]}, "outputs": ["y"]}]})"};
  if (const char* source = std::getenv("HONE_SOURCE")) {
    const auto text = ReadFile(std::string(source) + "/examples/problems/scaled_row_sum.json");
    ASSERT_TRUE(text);
    texts.push_back(*text);
  }
  const std::string path = folder->path() + "/p.json";
  Random random(42);
  int read = 0, refused = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string text = Broken(texts[Below(random, texts.size())], random);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;  // not waiting for a disk
    const auto problem = Import(path);
    if (problem) {
      ++read;
      const auto again = ParseProblem(ToJson(*problem), "again");  // what is read can be written
      ASSERT_TRUE(again) << again.error().message << "\n" << text;
      continue;
    }
    ++refused;
    const std::string& message = problem.error().message;
    EXPECT_TRUE(message.starts_with(path)) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_LE(message.size(), 1000u) << message;
    EXPECT_EQ(message.find("json.exception"), std::string::npos) << message;
    EXPECT_EQ(problem.error().kind, ErrorKind::kUsage) << message;
  }
  EXPECT_GT(read, 50);
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace hone
