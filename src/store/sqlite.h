// A thin RAII layer over SQLite that reports every failure as a Result. One connection, one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace evk {

// A prepared statement. Parameters are bound in order; a row is read after `step` answered true.
class Statement {
 public:
  Statement(sqlite3* db, sqlite3_stmt* statement) : db_(db), statement_(statement) {}
  Statement(Statement&& other) noexcept;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  Statement& bind(std::int64_t value);
  Statement& bind(int value) { return bind(static_cast<std::int64_t>(value)); }
  Statement& bind(bool value) { return bind(static_cast<std::int64_t>(value)); }
  Statement& bind(double value);
  Statement& bind(std::string_view text);
  Statement& bind(const std::string& text) { return bind(std::string_view(text)); }
  Statement& bind(const char* text) { return bind(std::string_view(text)); }
  Statement& bind_null();
  template <typename T>
  Statement& bind(const std::optional<T>& value) {
    return value ? bind(*value) : bind_null();
  }

  // True if a row is there; false after the last one.
  Result<bool> step();
  // Runs a statement that answers no rows, and makes it ready for new parameters.
  Status run();
  void reset();

  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  bool is_null(int column) const;
  std::optional<double> maybe_real(int column) const;
  std::optional<std::int64_t> maybe_integer(int column) const;
  int columns() const;

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_;
  int next_ = 1;
};

class Database {
 public:
  enum class Mode { kReadOnly, kReadWrite };
  // Opens the file; read-write creates it. Read-only never takes a write lock and fails if the file is not
  // there.
  static Result<std::unique_ptr<Database>> open(const std::string& path, Mode mode);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  Status execute(const std::string& sql);  // one or more statements without parameters
  Result<Statement> prepare(std::string_view sql);
  const std::string& path() const { return path_; }

 private:
  Database(sqlite3* db, std::string path) : db_(db), path_(std::move(path)) {}
  sqlite3* db_;
  std::string path_;
};

// Runs `write` inside one transaction.
template <typename Write>
Status transaction(Database& db, const Write& write) {
  EVK_TRY_STATUS(db.execute("BEGIN IMMEDIATE"));
  Status done = write();
  if (done) done = db.execute("COMMIT");
  if (!done) (void)db.execute("ROLLBACK");
  return done;
}

}  // namespace evk
