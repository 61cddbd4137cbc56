#include "target/cuda/toolkit.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include "base/files.h"

namespace hone::cuda {
namespace {

// Environment variables as they are wanted, until the end of the test.
class Environment {
 public:
  ~Environment() {
    for (const auto& [name, before] : before_) {
      if (before) {
        setenv(name.c_str(), before->c_str(), 1);
      } else {
        unsetenv(name.c_str());
      }
    }
  }
  void Set(const std::string& name, const std::string& value) {
    const char* before = std::getenv(name.c_str());
    before_.try_emplace(name, before ? std::optional<std::string>(before) : std::nullopt);
    setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

std::string WriteProgram(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name;
  EXPECT_TRUE(MakeDirectories(folder));
  EXPECT_TRUE(WriteFileAtomically(path, "#!/bin/sh\n"));
  chmod(path.c_str(), 0755);
  return path;
}

TEST(ToolkitTest, ProgramsComeFromTheNamedFolderThenThePathThenCudaHome) {
  const auto folder = TempDirectory::Create("toolkit");
  ASSERT_TRUE(folder);
  const std::string named = WriteProgram(folder->path() + "/named/nvidia/cu13/bin", "some-tool"),
                    on_path = WriteProgram(folder->path() + "/path", "some-tool"),
                    home = WriteProgram(folder->path() + "/home/bin", "some-tool");
  Environment environment;
  environment.Set("HONE_CUDA", folder->path() + "/named");
  environment.Set("PATH", folder->path() + "/path");
  environment.Set("CUDA_HOME", folder->path() + "/home");
  EXPECT_EQ(ToolkitPrograms("some-tool"), (std::vector<std::string>{named, on_path, home}));
  environment.Set("HONE_CUDA", folder->path() + "/empty");
  EXPECT_EQ(ToolkitPrograms("some-tool"), (std::vector<std::string>{on_path, home}));
  EXPECT_TRUE(ToolkitPrograms("another-tool").empty());
}

}  // namespace
}  // namespace hone::cuda
