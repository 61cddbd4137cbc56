// The command line of a bubblewrap sandbox: a process in namespaces of its own, without a network, that sees the
// system's programs and libraries read-only and, beside them, only what it is given. Thread-safe: no shared state but
// the probes, which run once per process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone {

// A path of ours and where it is seen inside; an empty `inside` means the same path.
struct Bind {
  std::string path;
  std::string inside;
};

struct BubblewrapOptions {
  bool whole_root = false;                 // all of our files read-only, in place of the system's (BubblewrapBindsRoot)
  std::vector<Bind> read_only;             // a path that does not exist is left out
  std::vector<Bind> writable;              // must exist
  std::vector<std::string> hidden;         // files and folders of ours that are empty inside; must exist
  std::vector<std::string> nodes;          // of the machine's /dev, as they are; one that does not exist is left out
  std::vector<std::string> tmpfs{"/tmp"};  // empty folders in memory, gone with the process
  std::uint64_t tmpfs_bytes = 1u << 30;    // the most that each of them may hold
  std::vector<std::string> environment;    // "NAME=value"; there is nothing else in it
  std::string directory = "/tmp";          // where it starts, as seen inside
  bool devices = true;                     // a /dev of null, zero, random, tty and an own shm; nothing of the machine's
  bool processes = false;                  // an own /proc; left out where the kernel refuses it (BubblewrapMountsProc)
};

// Whether bubblewrap is there and may make a sandbox here: containers and hardened kernels often refuse. A few
// milliseconds the first time.
bool BubblewrapWorks();
bool BubblewrapMountsProc();
bool BubblewrapBindsRoot();

// The folder that a program outside of /usr brings along and has to see: /opt/gcc-14 of /opt/gcc-14/bin/g++. Empty for
// the system's, and for a name without a folder.
std::string InstallationOf(const std::string& program);

// Lets `program`, which is ours, start inside: binds it at its own path and, where the libraries that this process
// started with lie in lib/ beside its bin/ or were named by LD_LIBRARY_PATH, these too, and names their folders inside,
// before those that the environment names.
void SeeOurProgram(BubblewrapOptions& options, const std::string& program);

// The nodes of NVIDIA's devices, as far as there are any.
void SeeDeviceNodes(BubblewrapOptions& options);

// "/usr/bin/bwrap ... --", to which the program's own argv is appended. Always: own user, PID, IPC, UTS and network
// namespaces, no capabilities, a session of its own, killed with us. Killing bwrap itself kills all that runs inside.
// What is seen of the system, unless `whole_root`: /usr, /bin, /sbin, /lib*, /etc/alternatives and /etc/ld.so.cache.
std::vector<std::string> BubblewrapArgv(const BubblewrapOptions& options);

}  // namespace hone
