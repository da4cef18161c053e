// gdbm, a hash file: no duplicates, no order. A sync at a phase's end.
#include "store.hpp"

#include <gdbm.h>

#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace {

[[noreturn]] void fail(const char* what) {
    throw std::runtime_error(std::string("gdbm, ") + what + ": " + gdbm_strerror(gdbm_errno));
}

datum thing(const std::string& bytes) {
    return {const_cast<char*>(bytes.data()), static_cast<int>(bytes.size())}; // it only reads
}

std::string_view view(const datum& thing) { return {thing.dptr, static_cast<std::size_t>(thing.dsize)}; }

/// gdbm hands out memory to be freed.
class owned {
public:
    explicit owned(datum thing) : thing_(thing) {}
    owned(const owned&) = delete;
    owned& operator=(const owned&) = delete;
    owned(owned&& other) noexcept : thing_(std::exchange(other.thing_, datum{})) {}
    owned& operator=(owned&& other) noexcept {
        std::swap(thing_, other.thing_);
        return *this;
    }
    ~owned() { std::free(thing_.dptr); }
    [[nodiscard]] bool there() const { return thing_.dptr != nullptr; }
    [[nodiscard]] datum get() const { return thing_; }
    [[nodiscard]] std::string_view bytes() const { return view(thing_); }

private:
    datum thing_;
};

class gdbm_file_store final : public store {
public:
    explicit gdbm_file_store(const std::filesystem::path& directory)
        : file_(gdbm_open((directory / "book.gdbm").c_str(), 0, GDBM_WRCREAT, 0666, nullptr)) {
        if (file_ == nullptr)
            fail("open");
    }
    ~gdbm_file_store() override {
        if (file_ != nullptr)
            gdbm_close(file_);
    }

    void insert(const records& entries) override {
        for (const record& entry : entries)
            if (gdbm_store(file_, thing(entry.name), thing(entry.value), GDBM_INSERT) != 0)
                fail("store");
        sync();
    }

    std::uint64_t iterate() override {
        std::uint64_t checksum = 0;
        for (owned key(gdbm_firstkey(file_)); key.there(); key = owned(gdbm_nextkey(file_, key.get())))
            checksum += entry_checksum(key.bytes(), owned(gdbm_fetch(file_, key.get())).bytes());
        return checksum;
    }

    std::uint64_t look_up(const records& entries) override {
        std::uint64_t checksum = 0;
        for (const record& entry : entries) {
            const owned value(gdbm_fetch(file_, thing(entry.name)));
            if (value.there())
                checksum += entry_checksum(entry.name, value.bytes());
        }
        return checksum;
    }

    std::uint64_t remove(const records& entries) override {
        std::uint64_t removed = 0;
        for (const record& entry : entries)
            removed += gdbm_delete(file_, thing(entry.name)) == 0;
        sync();
        return removed;
    }

    std::uint64_t remove_by_name(const records& entries) override {
        return remove(entries); // names are distinct here
    }

    std::uint64_t size() override {
        gdbm_count_t count = 0;
        if (gdbm_count(file_, &count) != 0)
            fail("count");
        return count;
    }

    void close() override {
        if (gdbm_close(std::exchange(file_, nullptr)) != 0)
            fail("close");
    }

private:
    void sync() {
        if (gdbm_sync(file_) != 0)
            fail("sync");
    }

    GDBM_FILE file_;
};

} // namespace

system_kind gdbm_system() {
    const auto open = [](const std::filesystem::path& directory, bool) {
        return std::make_unique<gdbm_file_store>(directory);
    };
    return {.name = "gdbm", .open = open, .keeps_duplicates = false};
}
