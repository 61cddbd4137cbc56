// A store that anybody may have made: what a bundle is before it is believed.
#include <fmt/format.h>
#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <vector>

#include "store/schema.h"
#include "store/store.h"

namespace hone {
namespace {

// What the tables are, in the words that made them.
Result<std::string> WordsOf(Connection& connection) {
  Statement select = HONE_TRY(connection.Prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY 1, 2"));
  std::string words;
  while (HONE_TRY(select.Step())) {
    for (int column = 0; column < 4; ++column) words += select.Text(column) + '\0';
  }
  return words;
}

bool IsWhole(Connection& connection) {
  auto check = connection.Prepare("PRAGMA integrity_check(1)");
  if (!check) return false;
  const Result<bool> row = check->Step();
  return row && *row && check->Text(0) == "ok";
}

// Looked at before SQLite sees it: the first 100 bytes of the file (SQLite: "Database File Format").
Result<void> LookAtHeader(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    return Fail(ErrorKind::kNotFound, fmt::format("cannot read {}: there is no such file", path));
  const auto size = std::filesystem::file_size(path, error);
  if (error) return Fail(ErrorKind::kIo, fmt::format("cannot read {}: {}", path, error.message()));
  if (size > kLargestForeign) {
    return Fail(ErrorKind::kUsage, fmt::format("{} has {} MiB, and a bundle has {} at most: bundle fewer runs", path,
                                               size >> 20U, kLargestForeign >> 20U));
  }
  unsigned char header[100] = {};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(header), sizeof header);
  const auto word = [&header](std::size_t at) {
    return (std::uint32_t{header[at]} << 24U) | (std::uint32_t{header[at + 1]} << 16U) |
           (std::uint32_t{header[at + 2]} << 8U) | header[at + 3];
  };
  constexpr std::size_t kPageSize = 16, kPages = 28, kVersion = 60, kApplication = 68;
  if (!file || std::string_view(reinterpret_cast<const char*>(header), 15) != "SQLite format 3" ||
      word(kApplication) != kApplicationId) {
    return Fail(ErrorKind::kCorrupt, fmt::format("{} is no bundle: `hone bundle RUN -o FILE` makes one", path));
  }
  if (word(kVersion) > static_cast<std::uint32_t>(kNewestSchema)) {
    return Fail(ErrorKind::kUsage,
                fmt::format("the bundle {} has schema {} and this hone knows schemas {} to {}: update "
                            "hone, or make the bundle with this version",
                            path, word(kVersion), kOldestSchema, kNewestSchema));
  }
  const std::uint32_t page = word(kPageSize) >> 16U;
  if (size != std::uint64_t{word(kPages)} * (page == 1 ? 65536U : page))
    return Fail(ErrorKind::kCorrupt,
                fmt::format("the bundle {} is damaged (a part of it is missing): make it again", path));
  return {};
}

}  // namespace

Result<Store> Store::OpenForeign(const std::string& path, const std::string& scratch) {
  HONE_TRY(LookAtHeader(path));
  const auto damaged = [&path](std::string_view why) {
    return Fail(ErrorKind::kCorrupt, fmt::format("the bundle {} is damaged ({}): make it again", path, why));
  };
  const std::string copy = scratch + "/bundle.sqlite";
  std::error_code error;
  std::filesystem::copy_file(path, copy, error);
  if (error) return Fail(ErrorKind::kIo, fmt::format("cannot copy {} to {}: {}", path, scratch, error.message()));
  Connection connection = HONE_TRY(Connection::Open(copy, IfAbsent::kFail));
  sqlite3_db_config(connection.handle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection.handle(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(connection.handle(), SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(connection.handle(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_limit(connection.handle(), SQLITE_LIMIT_LENGTH, kLargestForeignText);
  if (!IsWhole(connection)) return damaged("its pages are not what was written");
  if (const Result<void> prepared = PrepareSchema(connection); !prepared) return damaged("its tables are not ours");
  Store fresh = HONE_TRY(Prepare(":memory:", IfAbsent::kCreate));
  if (HONE_TRY(WordsOf(connection)) != HONE_TRY(WordsOf(fresh.connection_))) return damaged("its tables are not ours");
  Statement references = HONE_TRY(connection.Prepare("PRAGMA foreign_key_check"));
  if (HONE_TRY(references.Step())) return damaged("rows refer to what is not there");
  return Store(std::move(connection));
}

Result<void> Store::Seal() {
  Statement mode = HONE_TRY(connection_.Prepare("PRAGMA journal_mode = DELETE"));
  if (!HONE_TRY(mode.Step()) || mode.Text(0) != "delete")
    return Fail(ErrorKind::kIo, fmt::format("{} cannot be made one file", path()));
  return {};
}

}  // namespace hone
