#include "worker/sandbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace hone {
namespace {

constexpr std::size_t kOutputBytes = 1 << 20;

// What the handlers need; set once, before there is a candidate.
char library_path[4096];
std::uint64_t cookie = 0;
std::uint64_t probe_bytes = 0;
void (*locate_fault)(Reply&) = nullptr;
bool has_device = false;
volatile std::uint64_t report_nonce = 0;
alignas(64) char signal_stack[64 << 10];

// Does not return; says nothing of it to the compiler, since AddressSanitizer then looks at its stacks by means that we
// forbid.
void Report(Reply& reply) {
  reply.nonce = report_nonce;
  [[maybe_unused]] const auto sent = send(kChannelDescriptor, &reply, sizeof reply, MSG_NOSIGNAL);
  syscall(SYS_exit_group, kReportedExit);
}

void OnFault(int signal, siginfo_t* info, void* context) {
  Reply reply;
  reply.said = Said::kFault;
  reply.code = signal;
  if (signal == SIGSEGV || signal == SIGBUS) {
    reply.address = reinterpret_cast<std::uint64_t>(info->si_addr);
    locate_fault(reply);
#ifdef __x86_64__
    reply.wrote = (static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;  // page fault code: a write
#else
    (void)context;
#endif
  }
  // A program that does not look whether malloc failed dies at a small address: only the state of its memory tells why.
  const long mapped = syscall(SYS_mmap, nullptr, probe_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  reply.memory_full = mapped < 0 && mapped > -4096;
  Report(reply);
}

bool StartsWith(const char* text, const char* start) { return std::strncmp(text, start, std::strlen(start)) == 0; }

// Opens for reading that a library or the C library itself may need; all others are the candidate's own wish.
bool MayOpen(const char* path, std::uint64_t flags) {
  if (has_device && StartsWith(path, "/dev/nvidia") && !std::strstr(path, "..")) return true;
  if ((flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0 || (flags & O_TMPFILE) == O_TMPFILE)
    return false;
  if (std::strcmp(path, library_path) == 0) return true;
  if (std::strstr(path, "..")) return false;
  for (const char* start :
       {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/local/lib/", "/etc/ld.so.", "/sys/devices/system/"}) {
    if (StartsWith(path, start)) return true;
  }
  if (has_device) {
    for (const char* start :
         {"/usr/local/cuda", "/opt/nvidia/", "/sys/", "/proc/driver/nvidia", "/proc/sys/", "/etc/nvidia"}) {
      if (StartsWith(path, start)) return true;
    }
    for (const char* whole :
         {"/proc/devices", "/proc/modules", "/proc/self/stat", "/proc/self/cmdline", "/proc/self/mounts",
          "/proc/self/mountinfo", "/proc/filesystems", "/dev/null", "/dev/zero", "/dev/urandom"}) {
      if (std::strcmp(path, whole) == 0) return true;
    }
  }
  for (const char* whole : {"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/self/maps", "/proc/self/status",
                            "/proc/self/cgroup", "/proc/sys/vm/overcommit_memory"}) {
    if (std::strcmp(path, whole) == 0) return true;
  }
  return false;
}

// The filter turns a refused call into SIGSYS. For an open the path decides, which a filter cannot see: an allowed one
// is made from here, with a secret in an argument that the kernel does not read but the filter does.
void OnForbidden(int, siginfo_t* info, void* context) {
  const int number = info->si_syscall;
  Reply reply;
  reply.said = Said::kForbidden;
  reply.code = number;
  auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  const auto argument = [&](int i) {
    constexpr int kRegisters[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10};
    return static_cast<std::uint64_t>(machine.gregs[kRegisters[i]]);
  };
  const auto answer = [&](long value) { machine.gregs[REG_RAX] = value; };
#elif defined(__aarch64__)
  const auto argument = [&](int i) { return machine.regs[i]; };
  const auto answer = [&](long value) { machine.regs[0] = static_cast<std::uint64_t>(value); };
#endif
  std::uint64_t path_argument = ~0ull, flags = 0;
  if (number == SYS_openat) {
    path_argument = argument(1);
    flags = argument(2);
  }
#ifdef SYS_open
  if (number == SYS_open) {
    path_argument = argument(0);
    flags = argument(1);
  }
#endif
  if (path_argument != ~0ull) {
    const auto* path = reinterpret_cast<const char*>(path_argument);
    if (MayOpen(path, flags)) {
      const long fd = syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0, cookie);
      answer(fd < 0 ? -errno : fd);
      return;
    }
    std::strncpy(reply.text, path, sizeof reply.text - 1);
  }
  Report(reply);
}

bool InstallHandlers() {
  stack_t stack{};
  stack.ss_sp = signal_stack;
  stack.ss_size = sizeof signal_stack;
  struct sigaction action{};
  sigfillset(&action.sa_mask);
  sigdelset(&action.sa_mask, SIGSYS);  // blocked, it would kill
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  action.sa_sigaction = OnFault;
  bool ok = sigaltstack(&stack, nullptr) == 0;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP})
    ok = ok && sigaction(signal, &action, nullptr) == 0;
  action.sa_sigaction = OnForbidden;
  action.sa_flags |= SA_NODEFER;
  sigemptyset(&action.sa_mask);
  ok = ok && sigaction(SIGSYS, &action, nullptr) == 0;
  return ok && ::signal(SIGXFSZ, SIG_IGN) != SIG_ERR && ::signal(SIGPIPE, SIG_IGN) != SIG_ERR;
}

bool Limit(int resource, std::uint64_t value, std::uint64_t hard = 0) {
  const rlimit limit{value, hard ? hard : value};
  return setrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0;
}

class Filter {
 public:
  explicit Filter(std::uint32_t otherwise) : context_(seccomp_init(otherwise)) {}
  ~Filter() { seccomp_release(context_); }

  template <class... Tests>
  void Allow(int number, Tests... tests) {
    Add(SCMP_ACT_ALLOW, number, tests...);
  }
  template <class... Tests>
  void Forbid(int number, Tests... tests) {
    Add(SCMP_ACT_TRAP, number, tests...);
  }
  template <class... Tests>
  void Refuse(int error, int number, Tests... tests) {
    Add(SCMP_ACT_ERRNO(static_cast<std::uint16_t>(error)), number, tests...);
  }

  int Load() { return failure_ != 0 ? failure_ : seccomp_load(context_); }

 private:
  template <class... Tests>
  void Add(std::uint32_t action, int number, Tests... tests) {
    if (number < 0) return;  // this machine does not have it
    const int error = seccomp_rule_add(context_, action, number, sizeof...(tests), tests...);
    if (error != 0 && failure_ == 0) failure_ = error;
  }
  scmp_filter_ctx context_;
  int failure_ = 0;
};

scmp_arg_cmp Is(unsigned argument, std::uint64_t value) { return {argument, SCMP_CMP_EQ, value, 0}; }
scmp_arg_cmp Has(unsigned argument, std::uint64_t mask, std::uint64_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}

// For a candidate on a device: what its driver calls is its own business, and differs from version to version.
int LoadDeviceFilter() {
  Filter filter(SCMP_ACT_ALLOW);
  for (const int number : {SCMP_SYS(execve),
                           SCMP_SYS(execveat),
                           SCMP_SYS(fork),
                           SCMP_SYS(vfork),
                           SCMP_SYS(clone),
                           SCMP_SYS(open),
                           SCMP_SYS(openat2),
                           SCMP_SYS(open_by_handle_at),
                           SCMP_SYS(creat),
                           SCMP_SYS(socket),
                           SCMP_SYS(socketpair),
                           SCMP_SYS(connect),
                           SCMP_SYS(bind),
                           SCMP_SYS(listen),
                           SCMP_SYS(accept),
                           SCMP_SYS(accept4),
                           SCMP_SYS(sendmsg),
                           SCMP_SYS(sendmmsg),
                           SCMP_SYS(recvmsg),
                           SCMP_SYS(recvmmsg),
                           SCMP_SYS(kill),
                           SCMP_SYS(tkill),
                           SCMP_SYS(rt_sigqueueinfo),
                           SCMP_SYS(rt_tgsigqueueinfo),
                           SCMP_SYS(pidfd_open),
                           SCMP_SYS(pidfd_send_signal),
                           SCMP_SYS(pidfd_getfd),
                           SCMP_SYS(ptrace),
                           SCMP_SYS(process_vm_readv),
                           SCMP_SYS(process_vm_writev),
                           SCMP_SYS(shmget),
                           SCMP_SYS(shmat),
                           SCMP_SYS(msgget),
                           SCMP_SYS(semget),
                           SCMP_SYS(mq_open),
                           SCMP_SYS(timer_create),
                           SCMP_SYS(timerfd_create),
                           SCMP_SYS(setitimer),
                           SCMP_SYS(alarm),
                           SCMP_SYS(rename),
                           SCMP_SYS(renameat),
                           SCMP_SYS(renameat2),
                           SCMP_SYS(unlink),
                           SCMP_SYS(unlinkat),
                           SCMP_SYS(rmdir),
                           SCMP_SYS(mkdir),
                           SCMP_SYS(mkdirat),
                           SCMP_SYS(mknod),
                           SCMP_SYS(mknodat),
                           SCMP_SYS(link),
                           SCMP_SYS(linkat),
                           SCMP_SYS(symlink),
                           SCMP_SYS(symlinkat),
                           SCMP_SYS(chmod),
                           SCMP_SYS(fchmod),
                           SCMP_SYS(fchmodat),
                           SCMP_SYS(chown),
                           SCMP_SYS(fchown),
                           SCMP_SYS(fchownat),
                           SCMP_SYS(truncate),
                           SCMP_SYS(mount),
                           SCMP_SYS(umount2),
                           SCMP_SYS(pivot_root),
                           SCMP_SYS(chroot),
                           SCMP_SYS(unshare),
                           SCMP_SYS(setns),
                           SCMP_SYS(bpf),
                           SCMP_SYS(perf_event_open),
                           SCMP_SYS(userfaultfd),
                           SCMP_SYS(io_uring_setup),
                           SCMP_SYS(keyctl),
                           SCMP_SYS(add_key),
                           SCMP_SYS(request_key),
                           SCMP_SYS(seccomp),
                           SCMP_SYS(personality),
                           SCMP_SYS(setrlimit),
                           SCMP_SYS(inotify_init1),
                           SCMP_SYS(fanotify_init),
                           SCMP_SYS(acct),
                           SCMP_SYS(quotactl)}) {
    filter.Forbid(number);
  }
  filter.Forbid(SCMP_SYS(openat), scmp_arg_cmp{4, SCMP_CMP_NE, cookie, 0});
  filter.Forbid(SCMP_SYS(sendto), scmp_arg_cmp{0, SCMP_CMP_NE, kChannelDescriptor, 0});
  filter.Forbid(SCMP_SYS(prlimit64), scmp_arg_cmp{2, SCMP_CMP_NE, 0, 0});
  filter.Forbid(SCMP_SYS(tgkill), scmp_arg_cmp{0, SCMP_CMP_NE, static_cast<std::uint64_t>(getpid()), 0});
  filter.Forbid(SCMP_SYS(rt_sigaction), scmp_arg_cmp{0, SCMP_CMP_LT, 32, 0}, scmp_arg_cmp{1, SCMP_CMP_NE, 0, 0});
  filter.Refuse(ENOSYS, SCMP_SYS(clone3));  // the C library then asks clone, which is forbidden
  return filter.Load();
}

int LoadFilter() {
  Filter filter(SCMP_ACT_TRAP);
  for (const int number : {SCMP_SYS(read),
                           SCMP_SYS(readv),
                           SCMP_SYS(pread64),
                           SCMP_SYS(close),
                           SCMP_SYS(fstat),
                           SCMP_SYS(newfstatat),
                           SCMP_SYS(lseek),
                           SCMP_SYS(mprotect),
                           SCMP_SYS(munmap),
                           SCMP_SYS(mremap),
                           SCMP_SYS(madvise),
                           SCMP_SYS(brk),
                           SCMP_SYS(futex),
                           SCMP_SYS(sched_yield),
                           SCMP_SYS(sched_getaffinity),
                           SCMP_SYS(sched_setaffinity),
                           SCMP_SYS(rt_sigprocmask),
                           SCMP_SYS(rt_sigreturn),
                           SCMP_SYS(sigaltstack),
                           SCMP_SYS(set_robust_list),
                           SCMP_SYS(rseq),
                           SCMP_SYS(set_tid_address),
                           SCMP_SYS(gettid),
                           SCMP_SYS(getpid),
                           SCMP_SYS(getppid),
                           SCMP_SYS(getuid),
                           SCMP_SYS(geteuid),
                           SCMP_SYS(getgid),
                           SCMP_SYS(getegid),
                           SCMP_SYS(exit),
                           SCMP_SYS(exit_group),
                           SCMP_SYS(clock_gettime),
                           SCMP_SYS(clock_getres),
                           SCMP_SYS(gettimeofday),
                           SCMP_SYS(nanosleep),
                           SCMP_SYS(clock_nanosleep),
                           SCMP_SYS(getrandom),
                           SCMP_SYS(getrusage),
                           SCMP_SYS(sysinfo),
                           SCMP_SYS(uname),
                           SCMP_SYS(getcpu),
                           SCMP_SYS(membarrier),
                           SCMP_SYS(getdents64),
                           SCMP_SYS(restart_syscall),
                           SCMP_SYS(time),
                           SCMP_SYS(getcwd)}) {
    filter.Allow(number);
  }
  for (const int fd : {1, 2}) {
    filter.Allow(SCMP_SYS(write), Is(0, static_cast<std::uint64_t>(fd)));
    filter.Allow(SCMP_SYS(writev), Is(0, static_cast<std::uint64_t>(fd)));
  }
  filter.Allow(SCMP_SYS(sendto), Is(0, kChannelDescriptor));
  filter.Allow(SCMP_SYS(recvfrom), Is(0, kChannelDescriptor));
  filter.Allow(SCMP_SYS(mmap), Has(3, MAP_SHARED | MAP_PRIVATE, MAP_PRIVATE));
  filter.Allow(SCMP_SYS(openat), Is(4, cookie));
  filter.Allow(SCMP_SYS(prlimit64), Is(2, 0));     // asking is free
  filter.Allow(SCMP_SYS(rt_sigaction), Is(1, 0));  // likewise
  filter.Allow(SCMP_SYS(rt_sigaction),
               scmp_arg_cmp{0, SCMP_CMP_GE, 32, 0});  // the C library's own signals, at the first thread
  filter.Allow(SCMP_SYS(tgkill), Is(0, static_cast<std::uint64_t>(getpid())));
  // Threads, not processes: clone3 hides its flags in memory, so the C library is told to use clone.
  filter.Allow(SCMP_SYS(clone), Has(0, CLONE_THREAD | CLONE_VM, CLONE_THREAD | CLONE_VM));
  filter.Refuse(ENOSYS, SCMP_SYS(clone3));
  filter.Allow(SCMP_SYS(prctl), Is(0, PR_SET_NAME));
  // Harmless questions that libraries ask at their start; a plain no is enough.
  filter.Refuse(ENOTTY, SCMP_SYS(ioctl));
  filter.Refuse(ENOENT, SCMP_SYS(access));
  filter.Refuse(ENOENT, SCMP_SYS(faccessat));
  filter.Refuse(ENOENT, SCMP_SYS(faccessat2));
  filter.Refuse(ENOENT, SCMP_SYS(readlink));
  filter.Refuse(ENOENT, SCMP_SYS(readlinkat));
  filter.Refuse(ENOENT, SCMP_SYS(stat));
  filter.Refuse(ENOENT, SCMP_SYS(lstat));
  filter.Refuse(ENOSYS, SCMP_SYS(statx));
  filter.Refuse(EPERM, SCMP_SYS(fcntl));
  filter.Refuse(EPERM, SCMP_SYS(sched_setscheduler));
  filter.Refuse(ESRCH, SCMP_SYS(sched_getscheduler));
  filter.Refuse(ESRCH, SCMP_SYS(sched_getparam));
  filter.Refuse(ENOSYS, SCMP_SYS(get_mempolicy));
  filter.Refuse(ENOSYS, SCMP_SYS(set_mempolicy));
  filter.Refuse(ENOSYS, SCMP_SYS(mbind));
  filter.Refuse(EPERM, SCMP_SYS(mlock));
  // Units whose registers a process has to ask for, and of which asking is harmless: AMX's tiles.
  constexpr std::uint64_t kRequestComponent = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM of <asm/prctl.h>
  filter.Allow(SCMP_SYS(arch_prctl), Is(0, kRequestComponent), Is(1, kTileData));
  filter.Refuse(EPERM, SCMP_SYS(arch_prctl), scmp_arg_cmp{0, SCMP_CMP_NE, kRequestComponent, 0});
  filter.Refuse(EPERM, SCMP_SYS(arch_prctl), scmp_arg_cmp{1, SCMP_CMP_NE, kTileData, 0});
#ifdef HONE_SANITIZED  // a sanitizer's runtime tries memory by writing it to a pipe
  for (const int number : {SCMP_SYS(prctl), SCMP_SYS(pipe), SCMP_SYS(pipe2), SCMP_SYS(write)}) filter.Allow(number);
#endif
  return filter.Load();
}

}  // namespace

void SetReportNonce(std::uint64_t nonce) { report_nonce = nonce; }

Result<void> CloseSandbox(const SandboxRules& rules, void (*locate)(Reply& fault)) {
  std::strncpy(library_path, rules.library.c_str(), sizeof library_path - 1);
  probe_bytes = std::max<std::uint64_t>(rules.allowance_bytes / 2, 1 << 20);
  locate_fault = locate;
  has_device = rules.device;
  if (getrandom(&cookie, sizeof cookie, 0) != sizeof cookie) return Fail(ErrorKind::kIo, "getrandom failed");
  // The arguments of system calls are compared as they are: never the 0 that an ordinary call happens to leave there.
  cookie |= 1ull << 63;
  if (!InstallHandlers())
    return Fail(ErrorKind::kIo, fmt::format("cannot install signal handlers: {}", std::strerror(errno)));
#ifndef HONE_SANITIZED  // a sanitizer's shadow memory takes terabytes of addresses
  if ((rules.address_space_bytes > 0 && !Limit(RLIMIT_AS, rules.address_space_bytes)) ||
      (rules.data_bytes > 0 && !Limit(RLIMIT_DATA, rules.data_bytes)))
    return Fail(ErrorKind::kIo, "cannot limit the address space");
#endif
  if (!Limit(RLIMIT_CORE, 0) || !Limit(RLIMIT_FSIZE, kOutputBytes) ||
      !Limit(RLIMIT_CPU, rules.cpu_seconds, rules.cpu_seconds + 5)) {  // SIGXCPU first, which says what it was
    return Fail(ErrorKind::kIo, fmt::format("cannot set limits: {}", std::strerror(errno)));
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return Fail(ErrorKind::kIo, "the kernel knows no PR_SET_NO_NEW_PRIVS");
  if (const int error = has_device ? LoadDeviceFilter() : LoadFilter(); error != 0) {
    return Fail(ErrorKind::kTool, fmt::format("cannot load the system call filter: {}", std::strerror(-error)));
  }
  return {};
}

}  // namespace hone
