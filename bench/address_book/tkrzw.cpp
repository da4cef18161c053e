// Tkrzw's two files, a B+-tree and a hash table (no order, so no duplicates here), with a hard synchronization at a phase's
// end: what it has for durability without a log of its own, though a crash in the midst of a phase leaves part of it.
// Names are asked for one by one: ProcessMulti() with 16 to 1,024 of them was no faster in the tree, and slower in the
// hash table.
#include "numbered_keys.hpp"
#include "store.hpp"

#include <tkrzw_dbm_hash.h>
#include <tkrzw_dbm_tree.h>

#include <stdexcept>

namespace {

void check(const tkrzw::Status& status, const char* what) {
    if (status != tkrzw::Status::SUCCESS)
        throw std::runtime_error(std::string("Tkrzw, ") + what + ": " + tkrzw::ToString(status));
}

/// Reads what it comes by.
class reader final : public tkrzw::DBM::RecordProcessor {
public:
    std::string_view ProcessFull(std::string_view key, std::string_view value) override {
        checksum += entry_checksum(name_in(key), value);
        return NOOP;
    }
    std::uint64_t checksum = 0;
};

/// Removes the record if it has that value.
class remover final : public tkrzw::DBM::RecordProcessor {
public:
    explicit remover(std::string_view value) : value_(value) {}
    std::string_view ProcessFull(std::string_view /*key*/, std::string_view value) override {
        is_removed = value == value_;
        return is_removed ? REMOVE : NOOP;
    }
    bool is_removed = false;

private:
    std::string_view value_;
};

template <class File>
class tkrzw_store final : public store {
public:
    tkrzw_store(const std::filesystem::path& directory, bool duplicates) : duplicates_(duplicates) {
        check(file_.Open((directory / "book.tkrzw").string(), true), "Open");
    }
    ~tkrzw_store() override {
        if (file_.IsOpen())
            file_.Close();
    }

    void insert(const records& entries) override {
        std::uint32_t number = 0;
        for (const record& entry : entries) {
            check(file_.Set(duplicates_ ? numbered_key(entry.name, number) : entry.name, entry.value), "Set");
            ++number;
        }
        synchronize();
    }

    std::uint64_t iterate() override {
        reader all;
        check(file_.ProcessEach(&all, false), "ProcessEach");
        return all.checksum;
    }

    std::uint64_t look_up(const records& entries) override {
        reader all;
        if (!duplicates_) {
            for (const record& entry : entries)
                check(file_.Process(entry.name, &all, false), "Process");
            return all.checksum;
        }
        const auto at = file_.MakeIterator();
        for (const record& entry : entries) {
            check(at->Jump(numbered_key(entry.name, 0)), "Jump");
            check(at->Process(&all, false), "Process");
        }
        return all.checksum;
    }

    std::uint64_t remove(const records& entries) override {
        std::uint64_t removed = 0;
        const auto at = file_.MakeIterator();
        for (const record& entry : entries) {
            remover very_one(entry.value);
            if (!duplicates_) {
                check(file_.Process(entry.name, &very_one, true), "Process");
            } else {
                check(at->Jump(numbered_key(entry.name, 0)), "Jump");
                while (at->Process(&very_one, true) == tkrzw::Status::SUCCESS && !very_one.is_removed)
                    check(at->Next(), "Next"); // it is there, so before the last
            }
            removed += very_one.is_removed;
        }
        synchronize();
        return removed;
    }

    std::uint64_t remove_by_name(const records& entries) override {
        if (!duplicates_)
            return remove(entries);
        std::uint64_t removed = 0;
        const auto at = file_.MakeIterator();
        std::string key;
        for (const record& entry : entries) {
            if (at->Jump(numbered_key(entry.name, 0)) != tkrzw::Status::SUCCESS ||
                at->Get(&key) != tkrzw::Status::SUCCESS || name_in(key) != entry.name)
                continue;
            check(at->Remove(), "Remove");
            ++removed;
        }
        synchronize();
        return removed;
    }

    std::uint64_t size() override { return static_cast<std::uint64_t>(file_.CountSimple()); }
    void close() override { check(file_.Close(), "Close"); }

private:
    void synchronize() { check(file_.Synchronize(true), "Synchronize"); }

    bool duplicates_;
    File file_;
};

template <class File>
system_kind system_of(const std::string& name, bool keeps_duplicates) {
    const auto open = [](const std::filesystem::path& directory, bool duplicates) {
        return std::make_unique<tkrzw_store<File>>(directory, duplicates);
    };
    return {.name = name, .open = open, .keeps_duplicates = keeps_duplicates};
}

} // namespace

system_kind tkrzw_tree_system() { return system_of<tkrzw::TreeDBM>("Tkrzw tree", true); }
system_kind tkrzw_hash_system() { return system_of<tkrzw::HashDBM>("Tkrzw hash", false); }
