#include "store/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "base/check.h"

namespace hone {
namespace {

// Longer than any transaction of ours takes on a slow disk, shorter than a person waits.
constexpr int kBusyMilliseconds = 10'000;

ErrorKind KindOf(int code) {
  switch (code & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
    case SQLITE_CONSTRAINT: return ErrorKind::kCorrupt;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return ErrorKind::kTimeout;
    default: return ErrorKind::kIo;
  }
}

std::string Mend(int code, std::string_view another) {
  switch (code & 0xff) {
    case SQLITE_FULL: return fmt::format("free some space, or {}", another);
    case SQLITE_READONLY: return fmt::format("make it and its folder writable, or {}", another);
    case SQLITE_CANTOPEN: return fmt::format("see that its folder exists and is writable, or {}", another);
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT: return fmt::format("move it away, or {}", another);
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return "another program holds it; try again when that has ended";
    case SQLITE_IOERR: return fmt::format("see that the disk is well and not full, or {}", another);
    default: return std::string(another);
  }
}

}  // namespace

// By their texts. Two of one text are at work at a time where one is stepped within the other's rows.
struct Connection::Kept {
  static constexpr std::size_t kMost = 64;  // more than a store has texts
  std::map<std::string, std::vector<sqlite3_stmt*>, std::less<>> idle;
};

Connection::Connection(std::unique_ptr<sqlite3, Close> handle, std::string path, const DatabaseWords& words)
    : handle_(std::move(handle)), kept_(new Kept), path_(std::move(path)), words_(&words) {}

void Connection::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

void Connection::Forget::operator()(Kept* kept) const {
  for (const auto& [text, statements] : kept->idle) {
    for (sqlite3_stmt* statement : statements) sqlite3_finalize(statement);
  }
  delete kept;
}

void Statement::Finalize::operator()(sqlite3_stmt* handle) const {
  sqlite3_reset(handle);  // what went wrong has been told by Step
  sqlite3_clear_bindings(handle);
  const std::string_view text = sqlite3_sql(handle);
  auto known = kept->idle.find(text);
  if (known == kept->idle.end()) {
    if (kept->idle.size() >= Connection::Kept::kMost) {
      sqlite3_finalize(handle);
      return;
    }
    known = kept->idle.emplace(text, std::vector<sqlite3_stmt*>()).first;
  }
  known->second.push_back(handle);
}

tl::unexpected<Error> Connection::Failure(std::string_view doing, int code) const {
  // What SQLite calls an I/O error is a full disk when the system said so.
  const bool full = (code & 0xff) == SQLITE_IOERR && sqlite3_system_errno(handle_.get()) == ENOSPC;
  const int shown = full ? SQLITE_FULL : code;
  return Fail(KindOf(shown), fmt::format("cannot {} the {} {}: {}; {}", doing, words_->what, path_,
                                         full ? "no space left on device" : sqlite3_errmsg(handle_.get()),
                                         Mend(shown, words_->another)));
}

// How a file is opened that is there and that we may not write. What lies in its write-ahead log is read with it, where
// there is one; else nobody is at work on it, and SQLite needs no file beside it.
std::optional<std::string> OnlyReadable(const std::string& path) {
  if (access(path.c_str(), R_OK) != 0 || access(path.c_str(), W_OK) == 0) return std::nullopt;
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string())
    uri += c == '?' || c == '#' || c == '%' ? fmt::format("%{:02X}", static_cast<unsigned>(c)) : std::string(1, c);
  std::error_code none;
  const auto log = std::filesystem::file_size(path + "-wal", none);
  return uri + (none || log == 0 ? "?immutable=1" : "?mode=ro");
}

Result<Connection> Connection::Open(const std::string& path, IfAbsent if_absent, const DatabaseWords& words) {
  const auto readable = if_absent == IfAbsent::kFail ? OnlyReadable(path) : std::nullopt;
  const int flags = SQLITE_OPEN_NOMUTEX | (readable ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : SQLITE_OPEN_READWRITE) |
                    (if_absent == IfAbsent::kCreate ? SQLITE_OPEN_CREATE : 0);
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(readable ? readable->c_str() : path.c_str(), &raw, flags, nullptr);
  HONE_CHECK(raw != nullptr, "SQLite has no memory for a connection");
  Connection connection(std::unique_ptr<sqlite3, Close>(raw), path, words);
  if (code != SQLITE_OK) return connection.Failure("open", code);
  sqlite3_extended_result_codes(raw, 1);
  sqlite3_busy_timeout(raw, kBusyMilliseconds);
  return connection;
}

Result<Statement> Connection::Prepare(std::string_view sql) {
  if (const auto known = kept_->idle.find(sql); known != kept_->idle.end() && !known->second.empty()) {
    sqlite3_stmt* const statement = known->second.back();
    known->second.pop_back();
    return Statement(this, statement, kept_.get());
  }
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) return Failure("read", code);
  return Statement(this, statement, kept_.get());
}

Result<void> Connection::Execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return Failure("write", code);
  return {};
}

Result<std::int64_t> Connection::Integer(std::string_view sql) {
  Statement statement = HONE_TRY(Prepare(sql));
  HONE_CHECK(HONE_TRY(statement.Step()), "a query for one integer gave no row");
  return statement.Integer(0);
}

Statement& Statement::Bind(int parameter, std::int64_t value) {
  const int code = sqlite3_bind_int64(handle_.get(), parameter, value);
  if (bind_code_ == SQLITE_OK) bind_code_ = code;
  return *this;
}

Statement& Statement::Bind(int parameter, double value) {
  const int code = sqlite3_bind_double(handle_.get(), parameter, value);
  if (bind_code_ == SQLITE_OK) bind_code_ = code;
  return *this;
}

Statement& Statement::Bind(int parameter, std::string_view text) {
  // A view of nothing may point at nothing, which SQLite would take for NULL.
  const char* const bytes = text.empty() ? "" : text.data();
  const int code = sqlite3_bind_text64(handle_.get(), parameter, bytes, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (bind_code_ == SQLITE_OK) bind_code_ = code;
  return *this;
}

Statement& Statement::BindOrNull(int parameter, std::string_view text) {
  if (!text.empty()) return Bind(parameter, text);
  const int code = sqlite3_bind_null(handle_.get(), parameter);
  if (bind_code_ == SQLITE_OK) bind_code_ = code;
  return *this;
}

Statement& Statement::BindOrNull(int parameter, std::optional<double> value) {
  if (value) return Bind(parameter, *value);
  return BindOrNull(parameter, std::string_view());
}

Statement& Statement::BindBytes(int parameter, std::string_view bytes) {
  const int code = bytes.empty() ? sqlite3_bind_zeroblob(handle_.get(), parameter, 0)
                                 : sqlite3_bind_blob64(handle_.get(), parameter, bytes.data(), bytes.size(), nullptr);
  if (bind_code_ == SQLITE_OK) bind_code_ = code;
  return *this;
}

Result<bool> Statement::Step() {
  if (bind_code_ != SQLITE_OK) return connection_->Failure("write", bind_code_);
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return connection_->Failure(sqlite3_stmt_readonly(handle_.get()) != 0 ? "read" : "write", code);
}

Result<void> Statement::Run() {
  HONE_CHECK(!HONE_TRY(Step()), "a statement without results gave a row");
  return {};
}

std::int64_t Statement::Integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }
double Statement::Real(int column) const { return sqlite3_column_double(handle_.get(), column); }

std::optional<double> Statement::RealOrNull(int column) const {
  if (sqlite3_column_type(handle_.get(), column) == SQLITE_NULL) return std::nullopt;
  return Real(column);
}

std::string Statement::Text(int column) const {
  const void* const bytes = sqlite3_column_blob(handle_.get(), column);
  const int size = sqlite3_column_bytes(handle_.get(), column);
  return bytes == nullptr ? std::string()
                          : std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

Result<Transaction> Transaction::Begin(Connection& connection) {
  const bool inner = sqlite3_get_autocommit(connection.handle()) == 0;
  if (!inner) HONE_TRY(connection.Execute("BEGIN IMMEDIATE"));
  return Transaction(&connection, inner);
}

Transaction::~Transaction() {
  // A failed statement may have rolled back already; then there is nothing to do.
  if (connection_ != nullptr && !inner_ && sqlite3_get_autocommit(connection_->handle()) == 0) {
    static_cast<void>(connection_->Execute("ROLLBACK"));
  }
}

Result<void> Transaction::Commit() {
  HONE_CHECK(connection_ != nullptr, "a transaction was committed twice");
  if (!inner_) HONE_TRY(connection_->Execute("COMMIT"));
  connection_ = nullptr;
  return {};
}

}  // namespace hone
