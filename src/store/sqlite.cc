#include "store/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>

#include "base/check.h"

namespace evk {
namespace {

tl::unexpected<Error> sqlite_failure(sqlite3* db, const std::string& what) {
  const int code = sqlite3_errcode(db);
  const Retry retry = code == SQLITE_BUSY || code == SQLITE_LOCKED  ? Retry::kSameCall
                      : code == SQLITE_FULL || code == SQLITE_IOERR ? Retry::kAfterFix
                                                                    : Retry::kNever;
  return failure(fmt::format("store: {}: {}", what, sqlite3_errmsg(db)), retry);
}

}  // namespace

Statement::Statement(Statement&& other) noexcept
    : db_(other.db_), statement_(std::exchange(other.statement_, nullptr)), next_(other.next_) {}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement& Statement::bind(std::int64_t value) {
  EVK_CHECK(sqlite3_bind_int64(statement_, next_++, value) == SQLITE_OK);
  return *this;
}

Statement& Statement::bind(double value) {
  EVK_CHECK(sqlite3_bind_double(statement_, next_++, value) == SQLITE_OK);
  return *this;
}

Statement& Statement::bind(std::string_view text) {
  const auto size = static_cast<sqlite3_uint64>(text.size());
  EVK_CHECK(sqlite3_bind_text64(statement_, next_++, text.data() ? text.data() : "", size, SQLITE_TRANSIENT,
                                SQLITE_UTF8) == SQLITE_OK);
  return *this;
}

Statement& Statement::bind_null() {
  EVK_CHECK(sqlite3_bind_null(statement_, next_++) == SQLITE_OK);
  return *this;
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return sqlite_failure(db_, "a statement failed");
}

Status Statement::run() {
  EVK_TRY([[maybe_unused]] const bool row, step());
  reset();
  return {};
}

void Statement::reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
  next_ = 1;
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }
double Statement::real(int column) const { return sqlite3_column_double(statement_, column); }
bool Statement::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
int Statement::columns() const { return sqlite3_column_count(statement_); }

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return bytes ? std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)))
               : std::string();
}

std::optional<double> Statement::maybe_real(int column) const {
  return is_null(column) ? std::nullopt : std::optional(real(column));
}

std::optional<std::int64_t> Statement::maybe_integer(int column) const {
  return is_null(column) ? std::nullopt : std::optional(integer(column));
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path, Mode mode) {
  const int flags =
      mode == Mode::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* db = nullptr;
  if (sqlite3_open_v2(path.c_str(), &db, flags | SQLITE_OPEN_NOMUTEX, nullptr) != SQLITE_OK) {
    const std::string why = db ? sqlite3_errmsg(db) : "out of memory";
    sqlite3_close(db);
    return failure(fmt::format("store: cannot open {}: {}", path, why), Retry::kAfterFix);
  }
  auto database = std::unique_ptr<Database>(new Database(db, path));
  sqlite3_busy_timeout(db, 5000);
  // A database file is untrusted: nothing in its schema may run functions with side effects.
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  return database;
}

Database::~Database() { sqlite3_close(db_); }

Status Database::execute(const std::string& sql) {
  if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return sqlite_failure(db_, path_);
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr) != SQLITE_OK)
    return sqlite_failure(db_, path_);
  return Statement(db_, statement);
}

}  // namespace evk
