#pragma once
/// @file statement.hpp
/// Statements of SQLite, as values with errors.

#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/try.hpp"
#include "ptxgraft/error.hpp"
#include "search/archive/checksum.hpp"

namespace ptxgraft::search {

struct CloseDatabase {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
struct FinishStatement {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

/// A path as SQLite takes it for one: neither `:memory:` nor a URI.
[[nodiscard]] inline std::string file_name(const std::string& path) {
    std::error_code none;
    return std::filesystem::absolute(path, none).string();
}

/// Statements without values or rows, one behind another.
[[nodiscard]] inline Expected<void> run_sql(sqlite3* database, const char* text) {
    if (sqlite3_exec(database, text, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
    const int code = sqlite3_errcode(database);
    return fail(
        code == SQLITE_NOTADB || code == SQLITE_CORRUPT ? Errc::archive_malformed : Errc::archive_failed,
        sqlite3_errmsg(database));
}

/// A statement that is used again and again: values are bound in order, and columns read in order. Rows may
/// end with a column `checksum`, of all values before it.
class Statement {
  public:
    Statement() = default;
    Statement(sqlite3* database, const char* text) : database_(database) {
        sqlite3_stmt* made = nullptr;
        code_ = sqlite3_prepare_v2(database, text, -1, &made, nullptr);
        statement_.reset(made);
    }
    Statement& with(std::uint64_t value) {
        sum_.add(value);
        sqlite3_bind_int64(statement_.get(), ++bound_, static_cast<sqlite3_int64>(value));
        return *this;
    }
    Statement& with(double value) {
        sum_.add(value);
        sqlite3_bind_double(statement_.get(), ++bound_, value);
        return *this;
    }
    Statement& with(std::string_view value) {
        sum_.add(value);
        sqlite3_bind_text(statement_.get(), ++bound_, value.empty() ? "" : value.data(),
                          static_cast<int>(value.size()), SQLITE_TRANSIENT);
        return *this;
    }
    Statement& with(std::span<const std::byte> value) {
        sum_.add(value);
        sqlite3_bind_blob(statement_.get(), ++bound_,
                          value.empty() ? "" : static_cast<const void*>(value.data()),
                          static_cast<int>(value.size()), SQLITE_TRANSIENT);
        return *this;
    }
    Statement& with_nothing() {
        sum_.add_nothing();
        sqlite3_bind_null(statement_.get(), ++bound_);
        return *this;
    }
    /// Of all that is bound.
    Statement& with_checksum() { return with(sum_.value()); }
    /// Whether there is a row; behind the last one the statement can be bound anew.
    Expected<bool> step() {
        if (code_ == SQLITE_OK) code_ = sqlite3_step(statement_.get());
        const int code = std::exchange(code_, SQLITE_OK);
        column_ = 0;
        if (code == SQLITE_ROW) return true;
        const std::string why = sqlite3_errmsg(database_);
        sqlite3_reset(statement_.get());
        bound_ = 0;
        sum_ = {};
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
    bool is_null() { return sqlite3_column_type(statement_.get(), column_) == SQLITE_NULL; }
    /// The next columns of the row, up to this one.
    void add_to(Checksum& sum, int end) {
        while (column_ < end) switch (sqlite3_column_type(statement_.get(), column_)) {
                case SQLITE_INTEGER: sum.add(number()); break;
                case SQLITE_FLOAT: sum.add(real()); break;
                case SQLITE_TEXT: sum.add(std::string_view(text())); break;
                case SQLITE_BLOB: sum.add(blob()); break;
                default: sum.add_nothing(), ++column_;
            }
    }
    void add_to(Checksum& sum) { add_to(sum, sqlite3_column_count(statement_.get())); }
    /// Of a row whose first column is its number: whether it is what its checksum says. Rows of older
    /// archives have none. Errors: Errc::archive_malformed, with `what` and the number.
    Expected<void> check_row(std::string_view what) {
        const int last = sqlite3_column_count(statement_.get()) - 1;
        const bool has_column =
            last > 0 && std::string_view(sqlite3_column_name(statement_.get(), last)) == "checksum";
        if (!has_column || sqlite3_column_type(statement_.get(), last) == SQLITE_NULL) return {};
        Checksum found;
        add_to(found, last);
        const bool is_sound = number() == found.value();
        column_ = 0;
        if (is_sound) return {};
        return fail(Errc::archive_malformed, std::string(what) + " " +
                                                 std::to_string(sqlite3_column_int64(statement_.get(), 0)) +
                                                 " is damaged: its row is not what its checksum says");
    }

  private:
    sqlite3* database_ = nullptr;
    std::unique_ptr<sqlite3_stmt, FinishStatement> statement_;
    int code_ = SQLITE_OK, bound_ = 0, column_ = 0;
    Checksum sum_;  ///< of what is bound
};

[[nodiscard]] inline Expected<bool> has_column(sqlite3* database, std::string_view table,
                                               std::string_view name) {
    Statement find(database, "SELECT 1 FROM pragma_table_info(?) WHERE name = ?");
    return find.with(table).with(name).step();
}
/// Where it is not there.
[[nodiscard]] inline Expected<void> add_column(sqlite3* database, const std::string& table,
                                               const std::string& name, const std::string& type) {
    if (TRY(has_column(database, table, name))) return {};
    return run_sql(database, ("ALTER TABLE " + table + " ADD COLUMN " + name + " " + type).c_str());
}

}  // namespace ptxgraft::search
