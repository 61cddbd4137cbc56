// Asks by files, for people and for agents without an API: a question is FOLDER/KEY.prompt.md, and whoever answers
// writes FOLDER/KEY.answer.md (propose/answer.h). The folder is all its memory: a question has the same key whenever it
// is asked, so that after a kill nothing is asked again.
//
//   KEY.prompt.md --> KEY.answer.md --> well-formed? --yes--> what is new of it --> KEY.closed.json
//                                            '--no--> KEY.repair.md --> KEY.answer2.md --> once more, then failed
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/files.h"
#include "base/json_text.h"
#include "base/sha256.h"
#include "propose/answer.h"
#include "propose/digest.h"
#include "propose/prompt.h"
#include "propose/proposer.h"
#include "propose/shelf.h"

namespace hone::proposer_mailbox {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr Parameter kParameters[] = {{.name = "folder",
                                      .type = Parameter::Type::kFolder,
                                      .help = "where questions and answers lie; made if it is not there"},
                                     kQuestionTokens};

constexpr std::size_t kKeyDigits = 12;
constexpr auto kLook = std::chrono::milliseconds(100);
// An answer is whole when it did not change for so long: not everybody writes a file at once.
constexpr auto kAtRest = std::chrono::milliseconds(300);

// What lies in an answer's place at one moment.
struct Seen {
  bool regular = false;
  std::int64_t bytes = 0, modified_ns = 0;
  friend bool operator==(const Seen&, const Seen&) = default;
};

std::optional<Seen> Look(const std::string& path) {
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0) return std::nullopt;
  return Seen{S_ISREG(status.st_mode), status.st_size,
              status.st_mtim.tv_sec * std::int64_t{1'000'000'000} + status.st_mtim.tv_nsec};
}

// Nothing but a file of fair size is read: no link, no device, no pipe. kUsage for the rest.
Result<std::string> ReadAnswer(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return Fail(ErrorKind::kUsage, "the answer is not a file that can be read");
  struct stat status{};
  const bool fair = fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
                    status.st_size <= static_cast<std::int64_t>(kLongestAnswer);
  std::string text(fair ? static_cast<std::size_t>(status.st_size) : 0, '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const auto some = read(file, text.data() + got, text.size() - got);
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) break;
    got += static_cast<std::size_t>(some);
  }
  close(file);
  if (!fair)
    return Fail(ErrorKind::kUsage, fmt::format("the answer is not a file of at most {} bytes", kLongestAnswer));
  text.resize(got);
  return text;
}

class Mailbox final : public Proposer {
 public:
  Mailbox(const ProposerSetting& setting, std::string folder)
      : graph_(setting.graph),
        machine_(setting.machine),
        bound_(SpeedOfLight(graph_, machine_)),
        folder_(std::move(folder)),
        tokens_(static_cast<std::size_t>(setting.parameters.Integer("tokens"))),
        advisers_(setting.advisers),
        shelf_(ShelfOf(setting)),
        digest_(setting.recalled == nullptr ? std::string() : DigestOf(*setting.recalled)) {}

  Pace pace() const override { return Pace::kSlow; }
  void Interrupt() override { interrupted_ = true; }

  Result<Round> Propose(const Question& question) override {
    // Whoever wants it to end says so until it does.
    interrupted_ = false;
    const std::string place = fmt::format("{}/{}", folder_, KeyOf(question));
    const PromptSetting setting{.graph = graph_,
                                .machine = machine_,
                                .bound = bound_,
                                .tokens = tokens_,
                                .advisers = advisers_,
                                .shelf = &shelf_,
                                .digest = digest_};
    std::string asked = fmt::format("{}\n## Where the answer goes\n\nInto {}, beside this file.\n",
                                    RenderPrompt(question, setting), NameOf(place, ".answer.md"));
    const std::string first = HONE_TRY(Ask(place, ".prompt.md", asked, ".answer.md"));
    auto proposals = Read(place + first);
    if (!proposals) {
      asked = fmt::format(
          "# Repair the answer\n\nIt was not understood: {}\n\nWrite all of it once more, into {}, beside "
          "this file. The question is in {}.\n\n## The form of an answer\n\n{}",
          proposals.error().message, NameOf(place, ".answer2.md"), NameOf(place, ".prompt.md"), AnswerForm());
      const std::string second = HONE_TRY(Ask(place, ".repair.md", asked, ".answer2.md"));
      proposals = Read(place + second);
    }
    if (!proposals) {
      HONE_TRY(Close(place, {{"outcome", "failed"}, {"message", proposals.error().message}}));
      return Round();
    }
    const std::size_t answered = proposals->size();
    DropRepeats(*proposals, question);
    HONE_TRY(Close(place, {{"outcome", answered == 0        ? "done"
                                       : proposals->empty() ? "repeated"
                                                            : "answered"},
                           {"candidates", answered},
                           {"repeated", answered - proposals->size()}}));
    return Round{.proposals = std::move(*proposals), .cost = {}};
  }

 private:
  static std::string NameOf(const std::string& place, std::string_view suffix) {
    return fs::path(place).filename().string() + std::string(suffix);
  }

  std::string KeyOf(const Question& question) const {
    const Attempt* from = question.from();
    // Another device of the same make is asked nothing again.
    const Attempt* with = question.with();
    return Sha256(fmt::format("{} {} {} {}{}", Identity(graph_.problem()), machine_.processor,
                              from ? from->proposal.candidate.Identity() : "start", question.turn,
                              with ? " " + with->proposal.candidate.Identity() : ""))
        .substr(0, kKeyDigits);
  }

  // Waits for the answer to be there, and at rest; gives its suffix.
  Result<std::string> Ask(const std::string& place, std::string_view prompt, const std::string& text,
                          std::string_view answer) {
    const std::string prompt_path = place + std::string(prompt), answer_path = place + std::string(answer);
    std::error_code ignored;
    // What was asked once stays as it was asked: somebody may be reading it.
    if (!fs::exists(prompt_path, ignored)) HONE_TRY(WriteFileAtomically(prompt_path, text));
    std::optional<Seen> before;
    auto since = std::chrono::steady_clock::now();
    while (!interrupted_) {
      const auto seen = Look(answer_path);
      const auto now = std::chrono::steady_clock::now();
      if (seen != before) since = now;
      before = seen;
      // An empty file is one that somebody is about to write.
      if (seen && (seen->bytes > 0 || !seen->regular) && now - since >= kAtRest) return std::string(answer);
      std::this_thread::sleep_for(kLook);
    }
    return Fail(ErrorKind::kInterrupted, "interrupted while waiting for an answer");
  }

  static Result<std::vector<Proposal>> Read(const std::string& path) {
    return ParseAnswer(HONE_TRY(ReadAnswer(path)), "mailbox");
  }

  // An answer that was taken up stays closed as it was.
  static Result<void> Close(const std::string& place, const Json& how) {
    return WriteFileAtomically(place + ".closed.json", JsonText(how, 2) + "\n");
  }

  const Graph graph_;
  const DeviceModel machine_;
  const Bound bound_;
  const std::string folder_;
  const std::size_t tokens_;
  const Advisers advisers_;
  const Shelf shelf_;
  const std::string digest_;
  std::atomic<bool> interrupted_ = false;
};

Result<std::unique_ptr<Proposer>> Make(const ProposerSetting& setting) {
  if (setting.advisers.kind == Advisers::Kind::kOffered) {
    return Fail(ErrorKind::kUsage,
                "--tools offered: whoever answers by files cannot ask for findings; --tools on hands them over");
  }
  const std::string folder = setting.parameters.Folder("folder");
  if (auto made = MakeDirectories(folder); !made) return Rethrow(std::move(made).error(), "proposer mailbox: ");
  return std::make_unique<Mailbox>(setting, folder);
}

}  // namespace

HONE_ROW(ProposerRow){.name = "mailbox",
                      .doc = "whoever answers questions that lie in a folder as files",
                      .parameters = kParameters,
                      .pace = Pace::kSlow,
                      .make = Make};

}  // namespace hone::proposer_mailbox
