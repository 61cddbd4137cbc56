#include "judge/worker_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/record.h"
#include "base/text.h"
#include "target/cuda/visible_devices.h"
#include "verdict/refusal.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kStartWall{10'000};
constexpr std::size_t kLogBytes = 16 << 10;

void CloseIfOpen(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

std::vector<std::string> Environment(int threads, IdleThreads idle) {
  std::vector<std::string> lines{"LANG=C.UTF-8", fmt::format("OMP_NUM_THREADS={}", threads), "OMP_DYNAMIC=false"};
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) >= threads) {
    std::string places;
    int left = threads;
    for (int core = 0; core < CPU_SETSIZE && left > 0; ++core) {
      if (!CPU_ISSET(core, &allowed)) continue;
      places += fmt::format("{}{{{}}}", places.empty() ? "" : ",", core);
      --left;
    }
    lines.push_back("OMP_PLACES=" + places);
    lines.push_back("OMP_PROC_BIND=true");
  }
#ifdef HONE_SANITIZED
  lines.push_back(
      "ASAN_OPTIONS=detect_leaks=0");  // looks for leaks in a process of its own, which a candidate may not make
#endif
  if (idle == IdleThreads::kSleep) lines.push_back("OMP_WAIT_POLICY=passive");
  return lines;
}

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

// In the order of the enumeration.
constexpr std::string_view kPolicies[] = {"auto", "required", "process"};

}  // namespace

std::string_view Name(SandboxPolicy policy) { return kPolicies[static_cast<std::size_t>(policy)]; }

std::optional<SandboxPolicy> ParseSandboxPolicy(std::string_view name) {
  return ParseName<SandboxPolicy>(kPolicies, name);
}

void SeeTheDevice(BubblewrapOptions& bubble) {
  SeeDeviceNodes(bubble);
  bubble.processes = true;
  bubble.read_only.push_back({"/sys", ""});
  for (const auto& folder : FoldersOf("LD_LIBRARY_PATH")) {
    if (folder.starts_with('/') && !folder.starts_with("/usr/")) bubble.read_only.push_back({folder, ""});
  }
}

Result<std::unique_ptr<Worker>> WorkerProcess::Start(const WorkerOptions& options, WorkerSetup setup, int inputs_fd,
                                                     int outputs_fd) {
  const bool foreign = IsForeign(setup.form), device = OnDevice(setup.form);
  // A driver reads what the kernel says of its device in /proc.
  const bool wraps = BubblewrapWorks() && (!device || BubblewrapMountsProc());
  const bool wrapped = foreign && options.sandbox != SandboxPolicy::kProcess && wraps;
  if (foreign && options.sandbox == SandboxPolicy::kRequired && !wrapped) {
    return Fail(ErrorKind::kNotFound,
                "bubblewrap does not work here, and candidates shall not run without it; `hone doctor` says why");
  }
  int channel[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) != 0) {
    return Fail(ErrorKind::kIo, fmt::format("socketpair: {}", std::strerror(errno)));
  }
  const int yes = 1;
  setsockopt(channel[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes);  // the kernel then says which process speaks
  int log = memfd_create("hone-log", MFD_CLOEXEC);

  Command command;
  auto environment = Environment(setup.threads, options.idle);
  if (const char* folders = std::getenv("LD_LIBRARY_PATH"))
    environment.push_back(fmt::format("LD_LIBRARY_PATH={}", folders));
  if (device) {
    cuda::ShowDevices(environment);
    // All of a module is loaded at once, and nothing that the driver compiles is left in files.
    if (foreign) {
      environment.insert(environment.end(), {"CUDA_MODULE_LOADING=EAGER", "CUDA_CACHE_DISABLE=1"});
    } else {
      cuda::UseOneQueue(environment);
    }
  }
  const std::string library = setup.library;
  if (wrapped) {
    BubblewrapOptions bubble;
    bubble.read_only = {{library, "/module.so"}};
    bubble.tmpfs = {};
    bubble.directory = "/";
    bubble.environment = environment;
    bubble.devices = device;
    SeeOurProgram(bubble, options.program);
    if (device) SeeTheDevice(bubble);
    command.argv = BubblewrapArgv(bubble);
    setup.library = "/module.so";
  } else {
    command.directory = "/";
  }
  command.argv.insert(command.argv.end(), {options.program, "worker"});
  command.environment = environment;
  command.descriptors = {
      {channel[1], kChannelDescriptor}, {inputs_fd, kInputsDescriptor}, {outputs_fd, kOutputsDescriptor}};
  auto child = Child::Start(command, log);
  close(channel[1]);
  if (!child) {
    close(channel[0]);
    CloseIfOpen(log);
    return Rethrow(child.error(), "cannot start a worker: ");
  }
  auto worker = std::unique_ptr<WorkerProcess>(new WorkerProcess(std::move(*child), std::move(setup)));
  worker->channel_ = channel[0];
  worker->log_ = log;
  worker->sandbox_ = !foreign ? "a device context of its own" : wrapped ? "bubblewrap + seccomp" : "seccomp";
  worker->wrapped_ = wrapped;
  worker->interrupt_ = options.interrupt;
  tl::expected<Reply, Silence> ready = tl::unexpected(Silence::kEnded);
  if (worker->child_.WriteLine(ToJson(worker->setup_))) ready = HONE_TRY(worker->Receive(kStartWall, &worker->pid_));
  if (!ready || ready->said != Said::kReady || worker->pid_ <= 0) {
    worker->Kill();
    const bool timed_out = !ready && ready.error() == Silence::kTimedOut;
    return Fail(ErrorKind::kTool,
                fmt::format("a worker did not start{}: {}", timed_out ? " within 10 s" : "", LastLine(worker->Log())));
  }
  worker->pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, worker->pid_, 0));
  return worker;
}

WorkerProcess::~WorkerProcess() {
  Kill();
  CloseIfOpen(log_);
}

void WorkerProcess::Kill() {
  if (pidfd_ >= 0) syscall(SYS_pidfd_send_signal, pidfd_, SIGKILL, nullptr, 0);
  if (child_.pid() > 0) child_.Kill();
  if (pidfd_ >= 0) {
    // Inside bubblewrap it is not our child: only when this is ready has it let go of the tensors.
    pollfd gone{pidfd_, POLLIN, 0};
    while (poll(&gone, 1, 5000) < 0 && errno == EINTR) {
    }
  }
  CloseIfOpen(pidfd_);
  CloseIfOpen(channel_);
  pid_ = -1;
}

void WorkerProcess::Stop() {
  if (pidfd_ >= 0) syscall(SYS_pidfd_send_signal, pidfd_, SIGSTOP, nullptr, 0);
}

void WorkerProcess::Continue() {
  if (pidfd_ >= 0) syscall(SYS_pidfd_send_signal, pidfd_, SIGCONT, nullptr, 0);
}

std::uint64_t WorkerProcess::ProcessorNanoseconds() const { return hone::ProcessorNanoseconds(pid_); }

bool WorkerProcess::Busy() const {
  std::error_code failed;
  for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid_), failed)) {
    std::ifstream file(task.path() / "stat");
    std::string line;
    std::getline(file, line);
    const auto name_end = line.rfind(')');  // "pid (name) state ...", and the name may hold anything
    if (name_end != std::string::npos && name_end + 2 < line.size() && line[name_end + 2] == 'R') return true;
  }
  return false;
}

std::string WorkerProcess::Log() const {
  std::string text(kLogBytes, '\0');
  const auto got = pread(log_, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return Printable(std::move(text));
}

Result<tl::expected<Reply, WorkerProcess::Silence>> WorkerProcess::Receive(milliseconds wall, pid_t* sender) {
  const auto end = Clock::now() + wall;
  while (true) {
    if (interrupt_ && interrupt_->load()) return Fail(ErrorKind::kInterrupted, "interrupted");
    const auto left = std::chrono::ceil<milliseconds>(end - Clock::now()).count();
    if (left <= 0) return tl::expected<Reply, Silence>(tl::unexpected(Silence::kTimedOut));
    pollfd one{channel_, POLLIN, 0};
    // An interrupt is a signal that may arrive just before the poll: a slice of 200 ms bounds what that costs.
    if (poll(&one, 1, static_cast<int>(std::min<long long>(left, 200))) <= 0) continue;
    Reply reply;
    iovec part{&reply, sizeof reply};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const auto got = recvmsg(channel_, &message, MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof reply) return tl::expected<Reply, Silence>(tl::unexpected(Silence::kEnded));
    reply.text[sizeof reply.text - 1] = '\0';
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header && sender; header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_type != SCM_CREDENTIALS) continue;
      ucred credentials;
      std::memcpy(&credentials, CMSG_DATA(header), sizeof credentials);
      *sender = credentials.pid;
    }
    return tl::expected<Reply, Silence>(reply);
  }
}

Result<WorkerAnswer> WorkerProcess::Ask(Request request, milliseconds wall) {
  if (getrandom(&request.nonce, sizeof request.nonce, 0) != sizeof request.nonce) request.nonce = 1;
  auto answer = AskIt(request, wall);
  last_nonce_ = request.nonce;
  if (!answer) Kill();
  if (answer && !*answer && answer->error().evidence->log.empty()) answer->error().evidence->log = Log();
  return answer;
}

Result<WorkerAnswer> WorkerProcess::AskIt(const Request& request, milliseconds wall) {
  const auto begin = Clock::now();
  if (send(channel_, &request, sizeof request, MSG_NOSIGNAL) != sizeof request)
    return WorkerAnswer(tl::unexpected(VerdictOfEnd()));
  const auto reply = HONE_TRY(Receive(wall, nullptr));
  const auto wall_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(Clock::now() - begin).count());
  if (!reply && reply.error() == Silence::kEnded) return WorkerAnswer(tl::unexpected(VerdictOfEnd()));
  if (reply && reply->said == Said::kDone && reply->nonce == request.nonce) return WorkerAnswer({*reply, wall_ns});
  Kill();
  if (!reply) {
    return WorkerAnswer(tl::unexpected(
        Refuse(Outcome::kTimeout, fmt::format("did not end within {:g} s", static_cast<double>(wall.count()) / 1000))));
  }
  // A thread that fails between two questions reports with the number of the first.
  const bool reports = reply->said == Said::kFault || reply->said == Said::kForbidden;
  if (reply->nonce != request.nonce && !(reports && reply->nonce == last_nonce_)) {
    return WorkerAnswer(tl::unexpected(
        Refuse(Outcome::kSuspicious, "a message came over the worker's channel that the worker did not send")));
  }
  return WorkerAnswer(tl::unexpected(VerdictOf(*reply)));
}

Verdict WorkerProcess::VerdictOf(const Reply& reply) const {
  const std::string text = Printable(reply.text);
  Verdict verdict;
  verdict.evidence->detail = text;
  const auto say = [&](Outcome outcome, std::string reason) {
    verdict.outcome = outcome;
    verdict.reason = std::move(reason);
    return verdict;
  };
  switch (reply.said) {
    case Said::kDevice: {
      constexpr int kOutOfMemory = 2, kNotSupported = 801, kFirstFault = 700, kLastFault = 719;
      constexpr int kOutOfResources = 701, kLaunchTimeout = 702;
      if (reply.code == kOutOfMemory)
        return say(Outcome::kOutOfMemory, "the device has no more memory beside the tensors: " + text);
      if (reply.code == kLaunchTimeout) return say(Outcome::kTimeout, text);
      const bool fault = reply.code >= kFirstFault && reply.code <= kLastFault && reply.code != kOutOfResources;
      if (fault) return say(Outcome::kCrash, "a kernel faulted: " + text);
      return say(Outcome::kLaunchError, reply.code == kNotSupported ? text + " on this device" : text);
    }
    case Said::kInvalid: return say(Outcome::kInvalid, "not a module: " + text);
    case Said::kReturned:
      verdict.evidence->exit_code = reply.code;
      return say(Outcome::kLaunchError, fmt::format("{} returned {}", text, reply.code));
    case Said::kThrew: return say(Outcome::kLaunchError, fmt::format("threw an exception: {}", text));
    case Said::kNoMemory:
      return say(Outcome::kOutOfMemory,
                 fmt::format("std::bad_alloc: more than {} MiB beside the tensors are not allowed",
                             setup_.allowance_bytes >> 20));
    case Said::kForbidden: {
      const std::string name = SystemCallName(reply.code);
      verdict.evidence->detail = text.empty() ? name : fmt::format("{} of {}", name, text);
      return say(Outcome::kSuspicious, fmt::format("called {}, which a candidate may not", verdict.evidence->detail));
    }
    case Said::kFault: break;
    case Said::kReady:
    case Said::kDone: return say(Outcome::kSuspicious, "the worker answered out of turn");
  }
  verdict.evidence->signal = reply.code;
  const std::string log = Log();
  verdict.evidence->detail = fmt::format("{} at address {:#x}", SignalName(reply.code), reply.address);
  if (reply.code == SIGABRT && log.find("std::bad_alloc") != std::string::npos) {
    return say(Outcome::kOutOfMemory, "ended by an uncaught std::bad_alloc");
  }
  if (reply.zone != Zone::kNone) {
    const auto& group = reply.zone == Zone::kInput    ? setup_.inputs
                        : reply.zone == Zone::kOutput ? setup_.outputs
                                                      : setup_.parameters;
    const char* role = reply.zone == Zone::kInput ? "input" : reply.zone == Zone::kOutput ? "output" : "parameter";
    const std::string name = reply.tensor < group.size() ? group[reply.tensor].name : "?";
    const char* did = reply.wrote ? "wrote" : "read";
    if (reply.offset < 0) {
      return say(Outcome::kOutOfBounds,
                 fmt::format("{} {} bytes before the start of {} '{}'", did, -reply.offset, role, name));
    }
    if (reply.offset >= reply.size) {
      return say(Outcome::kOutOfBounds, fmt::format("{} past the end of {} '{}', as far as byte {} behind it", did,
                                                    role, name, reply.offset - reply.size + 1));
    }
    if (reply.wrote && reply.zone != Zone::kOutput) {
      return say(Outcome::kInputModified,
                 fmt::format("wrote to {} '{}' at byte {}; it is read-only", role, name, reply.offset));
    }
  }
  if (reply.memory_full) {
    return say(Outcome::kOutOfMemory, fmt::format("{} with its memory used up ({} MiB beside the tensors are allowed)",
                                                  SignalName(reply.code), setup_.allowance_bytes >> 20));
  }
  const std::string last = reply.code == SIGABRT ? LastLine(log) : "";
  return say(Outcome::kCrash, last.empty()
                                  ? fmt::format("crashed with {}", verdict.evidence->detail)
                                  : fmt::format("crashed with {}: {}", SignalName(reply.code), last.substr(0, 200)));
}

Verdict WorkerProcess::VerdictOfEnd() {
  const auto exit = child_.Wait(milliseconds(3000));
  Kill();
  if (!exit) return Refuse(Outcome::kCrash, "closed the channel to the judge");
  // bubblewrap hands a signal on as 128 + its number.
  const int signal = exit->signal != 0 ? exit->signal : exit->code > 128 && wrapped_ ? exit->code - 128 : 0;
  Verdict verdict;
  if (signal == 0) {
    verdict = Refuse(Outcome::kCrash, fmt::format("exited with status {} before returning", exit->code));
    verdict.evidence->exit_code = exit->code;
    return verdict;
  }
  if (signal == SIGXCPU) {
    verdict = Refuse(Outcome::kTimeout, fmt::format("used {} s of processor time", setup_.cpu_seconds));
  } else if (signal == SIGKILL) {
    verdict =
        Refuse(Outcome::kOutOfMemory, "killed by the system, which does that when the machine runs out of memory");
  } else if (signal == SIGSYS) {
    // The handler that would have named it was blocked: that is how the C library makes threads.
    verdict =
        Refuse(Outcome::kSuspicious,
               OnDevice(setup_.form)
                   ? "called what a candidate may not with its signals blocked, as making a thread does: on a device "
                     "it makes none"
                   : "called what a candidate may not with its signals blocked");
  } else {
    verdict = Refuse(Outcome::kCrash, fmt::format("crashed with {}", SignalName(signal)));
  }
  verdict.evidence->signal = signal;
  return verdict;
}

}  // namespace hone
