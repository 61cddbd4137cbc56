#include "base/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include "base/interrupt.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;

int Remaining(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 1 << 30));
}

// How long may pass until somebody who waits for a child sees that we were asked to stop.
constexpr int kLookMs = 50;

void CloseIfOpen(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

struct Pipe {
  int read = -1, write = -1;
  ~Pipe() {
    CloseIfOpen(read);
    CloseIfOpen(write);
  }
  bool Open() {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) return false;
    read = fds[0];
    write = fds[1];
    return true;
  }
};

// The child's side, between fork and exec: only async-signal-safe calls.
[[noreturn]] void BecomeChild(const Command& command, const char* path, char* const* argv, char* const* envp, int in,
                              int out, int err, int report) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int signal = 1; signal < 32; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // First lift every descriptor out of the way of the numbers that it shall be known by, then put it there.
  constexpr int kHigh = 512;
  int lifted[64];
  const auto count = std::min<std::size_t>(command.descriptors.size(), 60);
  for (std::size_t i = 0; i < count; ++i) lifted[i] = fcntl(command.descriptors[i].first, F_DUPFD_CLOEXEC, kHigh);
  const int report_high = fcntl(report, F_DUPFD_CLOEXEC, kHigh);
  bool ok = dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(err, 2) >= 0;
  for (std::size_t i = 0; i < count; ++i) ok = ok && dup2(lifted[i], command.descriptors[i].second) >= 0;
  if (!command.directory.empty()) ok = ok && chdir(command.directory.c_str()) == 0;
  if (command.address_space_bytes > 0) {
    const rlimit limit{command.address_space_bytes, command.address_space_bytes};
    ok = ok && setrlimit(RLIMIT_AS, &limit) == 0;
  }
  if (ok) execve(path, argv, envp);
  const int failure = errno;
  [[maybe_unused]] const auto written = write(report_high, &failure, sizeof failure);
  _exit(127);
}

struct Started {
  pid_t pid;
  int pidfd;
};

Result<Started> Spawn(const Command& command, int in, int out, int err) {
  if (command.argv.empty()) return Fail(ErrorKind::kUsage, "no command to run");
  const auto path = FindProgram(command.argv[0]);
  if (!path) return Fail(ErrorKind::kNotFound, fmt::format("{} is not in PATH", command.argv[0]));
  std::vector<char*> argv, envp;
  for (const auto& word : command.argv) argv.push_back(const_cast<char*>(word.c_str()));
  for (const auto& line : command.environment) envp.push_back(const_cast<char*>(line.c_str()));
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  Pipe report;  // closes on a good exec, carries errno on a bad one
  if (!report.Open()) return Fail(ErrorKind::kIo, fmt::format("pipe: {}", std::strerror(errno)));
  const pid_t pid = fork();
  if (pid < 0) return Fail(ErrorKind::kIo, fmt::format("cannot start {}: {}", *path, std::strerror(errno)));
  if (pid == 0) BecomeChild(command, path->c_str(), argv.data(), envp.data(), in, out, err, report.write);
  setpgid(pid, pid);  // the child does so too; whoever is first wins, and neither can be late
  CloseIfOpen(report.write);
  int failure = 0;
  ssize_t got;
  do got = read(report.read, &failure, sizeof failure);
  while (got < 0 && errno == EINTR);
  if (got == sizeof failure) {
    waitpid(pid, nullptr, 0);
    return Fail(ErrorKind::kTool, fmt::format("cannot start {}: {}", *path, std::strerror(failure)));
  }
  return Started{pid, static_cast<int>(syscall(SYS_pidfd_open, pid, 0))};
}

void Record(int status, Exit& exit) {
  if (WIFSIGNALED(status)) {
    exit.signal = WTERMSIG(status);
  } else {
    exit.code = WEXITSTATUS(status);
  }
}

// Appends what is there to `text` up to `limit`; false at the end of the stream.
bool Drain(int fd, std::string& text, std::size_t limit) {
  char buffer[65536];
  const auto got = read(fd, buffer, sizeof buffer);
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  if (got == 0) return false;
  text.append(buffer, std::min<std::size_t>(static_cast<std::size_t>(got), limit - std::min(limit, text.size())));
  return true;
}

// How many threads the whole machine has, 0 if it does not say: what may be asked often.
int ThreadsOfMachine() {
  std::ifstream file("/proc/loadavg");  // "0.52 0.58 0.59 3/812 19475"
  std::string word;
  for (int i = 0; i < 4; ++i) file >> word;
  int threads = 0;
  const auto slash = word.find('/');
  if (slash != std::string::npos) std::from_chars(word.data() + slash + 1, word.data() + word.size(), threads);
  return threads;
}

// Before all that computes, where we may say so, which is where RLIMIT_NPROC does not hold: as root. `pid` 0 is the
// calling thread.
void RunAtOnce(pid_t pid) {
  const sched_param first{.sched_priority = 1};
  static_cast<void>(sched_setscheduler(pid, SCHED_FIFO, &first));
}

}  // namespace

std::vector<pid_t> Descendants(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failed)) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0, parent = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc()) continue;
    std::string line;
    std::getline(std::ifstream(entry.path() / "stat"), line);
    const auto name_end = line.rfind(')');  // "pid (name) state parent ...", and the name may hold anything
    if (name_end == std::string::npos || name_end + 4 >= line.size()) continue;
    std::from_chars(line.data() + name_end + 4, line.data() + line.size(), parent);
    children.emplace(parent, pid);
  }
  std::vector<pid_t> found{root};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [begin, end] = children.equal_range(found[i]);
    for (auto one = begin; one != end; ++one) found.push_back(one->second);
  }
  found.erase(found.begin());
  return found;
}

std::uint64_t ProcessorNanoseconds(pid_t pid) {
  clockid_t clock;
  timespec used;
  if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0;
  return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(used.tv_nsec);
}

ProcessLimit::ProcessLimit(pid_t root, int most)
    : watch_([this, root, most](const std::stop_token& stop) {
        // A processor forks some ten thousand times a second; one look takes 20 microseconds.
        constexpr auto kPeriod = std::chrono::milliseconds(20);
        const int before = ThreadsOfMachine();
        RunAtOnce(0);
        std::mutex mutex;
        std::condition_variable_any wake;
        std::unique_lock lock(mutex);
        while (!wake.wait_for(lock, stop, kPeriod, [&] { return stop.stop_requested(); })) {
          const int now = ThreadsOfMachine();
          if (now > 0 && now - before <= most) continue;
          const auto below = Descendants(root);
          if (below.size() < static_cast<std::size_t>(most)) continue;
          exceeded_ = true;
          // The nearest first: below bubblewrap that is the init of a namespace, and nothing in there forks any more
          // once it dies. For that it has to come to its turn among thousands.
          RunAtOnce(below.front());
          kill(below.front(), SIGKILL);
          kill(-root, SIGKILL);
          for (const pid_t one : below) kill(one, SIGKILL);
        }
      }) {}

AllBelow::AllBelow(pid_t root) {
  for (const pid_t pid : Descendants(root)) {
    const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (descriptor >= 0) descriptors_.push_back(descriptor);
  }
}

AllBelow::~AllBelow() {
  for (const int descriptor : descriptors_) close(descriptor);
}

bool AllBelow::End(std::chrono::milliseconds most) {
  const auto end = Clock::now() + most;
  for (const int descriptor : descriptors_) syscall(SYS_pidfd_send_signal, descriptor, SIGKILL, nullptr, 0);
  bool all = true;
  for (const int descriptor : descriptors_) {
    pollfd ended{.fd = descriptor, .events = POLLIN, .revents = 0};
    all &= poll(&ended, 1, Remaining(end)) == 1;
  }
  return all;
}

std::string Exit::Describe() const {
  if (too_many > 0) return fmt::format("started more than {} processes and was killed", too_many);
  if (timed_out) return "ran past its time limit and was killed";
  if (signal != 0) return fmt::format("was killed by SIG{}", sigabbrev_np(signal) ? sigabbrev_np(signal) : "?");
  return fmt::format("exited with status {}", code);
}

std::vector<std::string> InheritedEnvironment() {
  std::vector<std::string> lines;
  for (const char* name :
       {"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "XDG_CACHE_HOME", "LD_LIBRARY_PATH", "OMP_NUM_THREADS"}) {
    if (const char* value = std::getenv(name)) lines.push_back(fmt::format("{}={}", name, value));
  }
  return lines;
}

std::string OwnPath() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "hone" : path.string();
}

std::vector<std::string> FoldersOf(const char* variable) {
  std::vector<std::string> folders;
  const char* list = std::getenv(variable);
  for (std::string_view rest = list ? list : ""; !rest.empty();) {
    const auto folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    folders.emplace_back(folder);
  }
  return folders;
}

std::optional<std::string> FindProgram(std::string_view name) {
  if (name.find('/') != std::string_view::npos) return std::string(name);
  for (const auto& folder : std::getenv("PATH") ? FoldersOf("PATH") : std::vector<std::string>{"/usr/bin", "/bin"}) {
    auto candidate = fmt::format("{}/{}", folder, name);
    if (!folder.empty() && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return std::nullopt;
}

Result<Exit> Run(const Command& command) {
  Pipe in, out, err;
  if (!in.Open() || !out.Open() || !err.Open())
    return Fail(ErrorKind::kIo, fmt::format("pipe: {}", std::strerror(errno)));
  const auto started = HONE_TRY(Spawn(command, in.read, out.write, err.write));
  CloseIfOpen(in.read);
  CloseIfOpen(out.write);
  CloseIfOpen(err.write);
  fcntl(in.write, F_SETFL, O_NONBLOCK);

  Exit exit;
  const auto end = Clock::now() + command.wall;
  std::size_t sent = 0;
  bool out_open = true, err_open = true, ended = false, interrupted = false;
  std::optional<ProcessLimit> limit;
  if (command.most_processes > 0) limit.emplace(started.pid, command.most_processes);
  if (command.input.empty()) CloseIfOpen(in.write);
  // Until the child has ended: its streams may outlive it in a grandchild, and then they are not worth waiting for.
  while (!ended) {
    pollfd fds[] = {{started.pidfd, POLLIN, 0},
                    {out_open ? out.read : -1, POLLIN, 0},
                    {err_open ? err.read : -1, POLLIN, 0},
                    {in.write, POLLOUT, 0}};
    const int ready = poll(fds, 4, std::min(Remaining(end), kLookMs));
    if (ready < 0 && errno != EINTR) break;
    interrupted = InterruptFlag() || (command.interrupt != nullptr && command.interrupt->load());
    exit.timed_out = ready == 0 && Remaining(end) == 0;
    if (interrupted || exit.timed_out) {
      kill(-started.pid, SIGKILL);
      break;
    }
    if (ready <= 0) continue;
    if (fds[1].revents) out_open = Drain(out.read, exit.output, command.max_output_bytes);
    if (fds[2].revents) err_open = Drain(err.read, exit.error, command.max_output_bytes);
    if (fds[3].revents) {
      const auto wrote = write(in.write, command.input.data() + sent, command.input.size() - sent);
      if (wrote > 0) sent += static_cast<std::size_t>(wrote);
      if ((wrote < 0 && errno != EAGAIN && errno != EINTR) || sent == command.input.size()) CloseIfOpen(in.write);
    }
    ended = fds[0].revents != 0;
  }
  if (limit && limit->exceeded()) exit.too_many = command.most_processes;
  limit.reset();
  int status = 0;
  while (waitpid(started.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (started.pidfd >= 0) close(started.pidfd);
  kill(-started.pid, SIGKILL);  // whatever it left behind
  Record(status, exit);
  for (auto [fd, open, text] : {std::tuple{out.read, out_open, &exit.output}, {err.read, err_open, &exit.error}}) {
    fcntl(fd, F_SETFL, O_NONBLOCK);
    pollfd one{fd, POLLIN, 0};
    while (open && poll(&one, 1, 0) > 0 && Drain(fd, *text, command.max_output_bytes)) {
    }
  }
  if (interrupted) return Fail(ErrorKind::kInterrupted, "interrupted");
  return exit;
}

Result<Child> Child::Start(const Command& command, int error_descriptor) {
  Pipe in, out;
  if (!in.Open() || !out.Open()) return Fail(ErrorKind::kIo, fmt::format("pipe: {}", std::strerror(errno)));
  const auto started = HONE_TRY(Spawn(command, in.read, out.write, error_descriptor));
  Child child;
  child.pid_ = started.pid;
  child.pidfd_ = started.pidfd;
  child.input_ = std::exchange(in.write, -1);
  child.output_ = std::exchange(out.read, -1);
  child.most_processes_ = command.most_processes;
  if (command.most_processes > 0) child.limit_ = std::make_unique<ProcessLimit>(child.pid_, command.most_processes);
  return child;
}

Child::Child(Child&& other) noexcept { *this = std::move(other); }

Child& Child::operator=(Child&& other) noexcept {
  if (this == &other) return *this;
  Release();
  pid_ = std::exchange(other.pid_, -1);
  pidfd_ = std::exchange(other.pidfd_, -1);
  input_ = std::exchange(other.input_, -1);
  output_ = std::exchange(other.output_, -1);
  reaped_ = std::exchange(other.reaped_, false);
  exit_ = std::move(other.exit_);
  most_processes_ = other.most_processes_;
  limit_ = std::move(other.limit_);
  pending_ = std::move(other.pending_);
  return *this;
}

Child::~Child() { Release(); }

void Child::Release() {
  if (pid_ > 0 && !reaped_) Kill();
  CloseIfOpen(input_);
  CloseIfOpen(output_);
  CloseIfOpen(pidfd_);
  pid_ = -1;
}

void Child::CloseInput() { CloseIfOpen(input_); }

Result<std::string> Child::ReadLine(std::chrono::milliseconds wall) {
  const auto end = Clock::now() + wall;
  while (true) {
    if (const auto newline = pending_.find('\n'); newline != std::string::npos) {
      std::string line = pending_.substr(0, newline);
      pending_.erase(0, newline + 1);
      return line;
    }
    pollfd fds[] = {{output_, POLLIN, 0}};
    const int ready = poll(fds, 1, Remaining(end));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return Fail(ErrorKind::kTimeout, "no answer within the time limit");
    const auto before = pending_.size();
    if (!Drain(output_, pending_, std::size_t{1} << 30) && pending_.size() == before) {
      const auto exit = Wait(std::chrono::milliseconds(1000));
      return Fail(ErrorKind::kTool, exit ? exit->Describe() : std::string("closed its output"));
    }
  }
}

Result<void> Child::WriteLine(std::string_view line) {
  std::string text(line);
  text += '\n';
  std::size_t sent = 0;
  while (sent < text.size()) {
    const auto wrote = write(input_, text.data() + sent, text.size() - sent);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return Fail(ErrorKind::kTool, fmt::format("cannot write to the child: {}", std::strerror(errno)));
    sent += static_cast<std::size_t>(wrote);
  }
  return {};
}

bool Child::Running() { return !Wait(std::chrono::milliseconds(0)).has_value(); }

std::optional<Exit> Child::Wait(std::chrono::milliseconds wall) {
  if (reaped_) return exit_;
  pollfd fds[] = {{pidfd_, POLLIN, 0}};
  const auto end = Clock::now() + wall;
  int ready;
  do ready = poll(fds, 1, Remaining(end));
  while (ready < 0 && errno == EINTR);
  if (ready <= 0) return std::nullopt;
  if (limit_ && limit_->exceeded()) exit_.too_many = most_processes_;
  limit_.reset();
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_) return std::nullopt;
  reaped_ = true;
  Record(status, exit_);
  kill(-pid_, SIGKILL);
  return exit_;
}

void Child::Signal(int signal) {
  if (!reaped_) kill(-pid_, signal);
}

Exit Child::Kill() {
  Signal(SIGKILL);
  while (!Wait(std::chrono::milliseconds(1000))) {
  }
  return exit_;
}

}  // namespace hone
