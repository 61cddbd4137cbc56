// Runs the text files of testdata/: a program and what becomes of it. With --rewrite the expected parts are written
// anew.
//
//   # what is shown
//   --- program
//   program p
//   ...
//   --- complaint            (or: print, cpu)
//   line 3, column 5: ...
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/files.h"
#include "dsl/family.h"

namespace hone::dsl {
namespace {

bool rewrite = false;

std::string Folder() {
  const char* root = std::getenv("HONE_SOURCE");
  return std::string(root ? root : ".") + "/src/dsl/testdata";
}

struct Part {
  std::string kind, text;
};

// Lines before the first part are the file's comment.
std::vector<Part> Split(const std::string& text) {
  std::vector<Part> parts = {{"", ""}};
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("--- ")) {
      parts.push_back({line.substr(4), ""});
    } else {
      parts.back().text += line + "\n";
    }
  }
  return parts;
}

std::string Become(const std::string& program, const std::string& kind) {
  auto parsed = Parse(program);
  if (auto* complaint = std::get_if<Complaint>(&parsed)) return ToString(*complaint) + "\n";
  if (kind == "print") return Print(std::get<Program>(parsed));
  const auto checked = Check(std::get<Program>(parsed), nullptr,
                             {.threads = 2, .vector_bytes = 64, .l1_bytes = 48 << 10, .l2_bytes = 2 << 20});
  if (auto* complaint = std::get_if<Complaint>(&checked)) return ToString(*complaint) + "\n";
  if (kind == "cpu") return EmitCpu(std::get<KernelProgram>(checked));
  return "no complaint\n";
}

TEST(TextTest, EveryFileGivesWhatItSays) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(Folder())) {
    if (entry.path().extension() == ".test") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  ASSERT_FALSE(files.empty());
  for (const auto& file : files) {
    const auto text = ReadFile(file.string());
    ASSERT_TRUE(text.has_value()) << file;
    std::vector<Part> parts = Split(*text);
    std::string program, anew = parts[0].text;
    for (std::size_t i = 1; i < parts.size(); ++i) {
      if (parts[i].kind == "program") {
        program = parts[i].text;
      } else {
        ASSERT_TRUE(parts[i].kind == "complaint" || parts[i].kind == "print" || parts[i].kind == "cpu")
            << file << ": " << parts[i].kind;
        const std::string got = Become(program, parts[i].kind);
        if (!rewrite) {
          EXPECT_EQ(got, parts[i].text) << file << "\n" << program;
        }
        parts[i].text = got;
      }
      anew += "--- " + parts[i].kind + "\n" + parts[i].text;
    }
    if (rewrite) std::ofstream(file) << anew;
  }
}

}  // namespace
}  // namespace hone::dsl

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) hone::dsl::rewrite |= std::string_view(argv[i]) == "--rewrite";
  return RUN_ALL_TESTS();
}
