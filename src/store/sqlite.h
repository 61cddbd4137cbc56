// SQLite behind Results: a connection, a statement, a transaction. Not thread-safe: one connection a thread, and its
// statements and transactions end before it does.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace hone {

enum class IfAbsent { kCreate, kFail };

// What messages call a database, and what helps where it cannot be used.
struct DatabaseWords {
  std::string_view what, another;
};
inline constexpr DatabaseWords kRunStoreWords{.what = "run store", .another = "name another store with --store"};

class Statement;

class Connection {
 public:
  // Waits up to 10 s wherever another process writes, then kTimeout. kNotFound when the file is absent and shall not be
  // made.
  // The words outlive it.
  static Result<Connection> Open(const std::string& path, IfAbsent if_absent,
                                 const DatabaseWords& words = kRunStoreWords);

  // A statement that has ended is kept for the next of the same text: preparing one takes longer than most take.
  Result<Statement> Prepare(std::string_view sql);
  Result<void> Execute(const std::string& sql);        // statements without results, separated by semicolons
  Result<std::int64_t> Integer(std::string_view sql);  // the first column of the first row

  const std::string& path() const { return path_; }
  sqlite3* handle() const { return handle_.get(); }
  // The last failure of SQLite in our words: "cannot write the run store x.db: the disk is full; ...".
  tl::unexpected<Error> Failure(std::string_view doing, int code) const;

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  struct Kept;  // statements that have ended
  struct Forget {
    void operator()(Kept* kept) const;
  };
  Connection(std::unique_ptr<sqlite3, Close> handle, std::string path, const DatabaseWords& words);
  std::unique_ptr<sqlite3, Close> handle_;
  std::unique_ptr<Kept, Forget> kept_;
  std::string path_;
  const DatabaseWords* words_;
};

// Parameters count from 1, columns from 0, as in SQLite.
class Statement {
 public:
  Statement& Bind(int parameter, std::int64_t value);
  Statement& Bind(int parameter, int value) { return Bind(parameter, static_cast<std::int64_t>(value)); }
  Statement& Bind(int parameter, double value);
  Statement& Bind(int parameter, std::string_view text);
  Statement& BindOrNull(int parameter, std::string_view text);  // empty = NULL
  Statement& BindOrNull(int parameter, std::optional<double> value);
  Statement& BindBytes(int parameter, std::string_view bytes);  // must outlive the steps

  Result<bool> Step();  // true: a row is there
  Result<void> Run();   // for statements without rows

  std::int64_t Integer(int column) const;
  double Real(int column) const;
  std::optional<double> RealOrNull(int column) const;  // nothing for NULL
  std::string Text(int column) const;                  // "" for NULL; also for bytes

 private:
  friend class Connection;
  struct Finalize {
    Connection::Kept* kept = nullptr;
    void operator()(sqlite3_stmt* handle) const;
  };
  Statement(const Connection* connection, sqlite3_stmt* handle, Connection::Kept* kept)
      : connection_(connection), handle_(handle, Finalize{kept}) {}
  const Connection* connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
  int bind_code_ = 0;  // the first bind that failed; Step tells
};

// Takes the write lock at once, so that two writers wait for each other instead of failing midway. Rolls back unless
// committed. One within another is part of that: it ends with it, and whoever has the outer one must not commit it
// after a failure.
class Transaction {
 public:
  static Result<Transaction> Begin(Connection& connection);
  Transaction(Transaction&& other) noexcept
      : connection_(std::exchange(other.connection_, nullptr)), inner_(other.inner_) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Result<void> Commit();  // on disk when it returns

 private:
  Transaction(Connection* connection, bool inner) : connection_(connection), inner_(inner) {}
  Connection* connection_;  // nullptr once ended
  bool inner_;
};

}  // namespace hone
