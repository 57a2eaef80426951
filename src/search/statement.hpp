#pragma once
/// @file statement.hpp
/// Statements of SQLite, as values with errors.

#include <sqlite3.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/try.hpp"
#include "ptxgraft/error.hpp"

namespace ptxgraft::search {

struct CloseDatabase {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
struct FinishStatement {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

/// Statements without values or rows, one behind another.
[[nodiscard]] inline Expected<void> run_sql(sqlite3* database, const char* text) {
    if (sqlite3_exec(database, text, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
    const int code = sqlite3_errcode(database);
    return fail(
        code == SQLITE_NOTADB || code == SQLITE_CORRUPT ? Errc::archive_malformed : Errc::archive_failed,
        sqlite3_errmsg(database));
}

/// A statement that is used again and again: values are bound in order, and columns read in order.
class Statement {
  public:
    Statement() = default;
    Statement(sqlite3* database, const char* text) : database_(database) {
        sqlite3_stmt* made = nullptr;
        code_ = sqlite3_prepare_v2(database, text, -1, &made, nullptr);
        statement_.reset(made);
    }
    Statement& with(std::uint64_t value) {
        sqlite3_bind_int64(statement_.get(), ++bound_, static_cast<sqlite3_int64>(value));
        return *this;
    }
    Statement& with(double value) {
        sqlite3_bind_double(statement_.get(), ++bound_, value);
        return *this;
    }
    Statement& with(std::string_view value) {
        sqlite3_bind_text(statement_.get(), ++bound_, value.data(), static_cast<int>(value.size()),
                          SQLITE_TRANSIENT);
        return *this;
    }
    Statement& with(std::span<const std::byte> value) {
        sqlite3_bind_blob(statement_.get(), ++bound_,
                          value.empty() ? "" : static_cast<const void*>(value.data()),
                          static_cast<int>(value.size()), SQLITE_TRANSIENT);
        return *this;
    }
    Statement& with_nothing() {
        sqlite3_bind_null(statement_.get(), ++bound_);
        return *this;
    }
    /// Whether there is a row; behind the last one the statement can be bound anew.
    Expected<bool> step() {
        if (code_ == SQLITE_OK) code_ = sqlite3_step(statement_.get());
        const int code = std::exchange(code_, SQLITE_OK);
        column_ = 0;
        if (code == SQLITE_ROW) return true;
        const std::string why = sqlite3_errmsg(database_);
        sqlite3_reset(statement_.get());
        bound_ = 0;
        if (code == SQLITE_DONE) return false;
        if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR)
            return fail(Errc::archive_malformed, why);
        return fail(Errc::archive_failed, why);
    }
    Expected<void> run() {
        TRY(step());
        return {};
    }
    std::uint64_t number() {
        return static_cast<std::uint64_t>(sqlite3_column_int64(statement_.get(), column_++));
    }
    double real() { return sqlite3_column_double(statement_.get(), column_++); }
    std::string text() {
        const auto* const found = sqlite3_column_text(statement_.get(), column_);
        const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column_++));
        return found == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(found), size);
    }
    std::span<const std::byte> blob() {
        const void* const found = sqlite3_column_blob(statement_.get(), column_);
        const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column_++));
        return {static_cast<const std::byte*>(found), found == nullptr ? 0 : size};
    }
    void rewind() { column_ = 0; }  ///< to the first column of the row
    bool is_null() { return sqlite3_column_type(statement_.get(), column_) == SQLITE_NULL; }

  private:
    sqlite3* database_ = nullptr;
    std::unique_ptr<sqlite3_stmt, FinishStatement> statement_;
    int code_ = SQLITE_OK, bound_ = 0, column_ = 0;
};

}  // namespace ptxgraft::search
