// LevelDB and RocksDB: each change is written as it comes, and a sync follows at a transaction's end; so a crash may leave a
// part of one. A batch would hide its own changes from who looks for overlaps.
#pragma once

#include "byte_store.hpp"

#include <memory>
#include <stdexcept>
#include <string>

/// `Library`: one of bench/common/*_library.hpp.
template <class Library>
class log_structured_bytes {
    using slice = typename Library::slice;

public:
    explicit log_structured_bytes(const std::filesystem::path& directory) : library_(directory) {}

    void begin(bool changes) {
        changes_ = changes;
        if (!changes)
            renew_cursor();
    }
    void end() {
        cursor_.reset();
        if (changes_)
            library_.sync();
    }
    bool seek(std::string_view key) {
        if (changes_)
            renew_cursor(); // one sees what was there when it was made
        cursor_->Seek(slice(key.data(), key.size()));
        return is_there();
    }
    bool seek_first() {
        cursor_->SeekToFirst();
        return is_there();
    }
    bool next() {
        cursor_->Next();
        return is_there();
    }
    [[nodiscard]] std::string_view key() const { return view(cursor_->key()); }
    [[nodiscard]] std::string_view value() const { return view(cursor_->value()); }
    void put(std::string_view key, std::string_view value) {
        check(library_.db().Put({}, slice(key.data(), key.size()), slice(value.data(), value.size())));
    }
    /// Whether a key is there has to be asked: a deletion does not tell.
    bool erase(std::string_view key) {
        const auto found = library_.db().Get({}, slice(key.data(), key.size()), &found_);
        if (found.IsNotFound())
            return false;
        check(found);
        check(library_.db().Delete({}, slice(key.data(), key.size())));
        return true;
    }
    void close() {
        cursor_.reset();
        library_.close();
    }

private:
    static void check(const typename Library::status& status) {
        if (!status.ok())
            throw std::runtime_error(Library::k_name + (": " + status.ToString()));
    }
    static std::string_view view(const slice& bytes) { return {bytes.data(), bytes.size()}; }
    void renew_cursor() { cursor_.reset(library_.db().NewIterator({})); }
    [[nodiscard]] bool is_there() const { return cursor_->Valid(); }

    Library library_;
    std::unique_ptr<typename Library::cursor> cursor_;
    std::string found_;
    bool changes_ = false;
};
