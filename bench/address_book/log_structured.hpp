// LevelDB and RocksDB, which have one interface: a batch for each phase, synced, and a cache that holds everything. A batch's
// deletions are not seen before it is written; so which of its namesakes is the next first one is kept here.
#pragma once

#include "numbered_keys.hpp"
#include "store.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// `Library` has the types of one, its name, open() and close().
template <class Library>
class log_structured_store final : public store {
    using slice = typename Library::slice;

public:
    log_structured_store(const std::filesystem::path& directory, bool duplicates)
        : duplicates_(duplicates), library_(directory / "book") {}

    void insert(const records& entries) override {
        typename Library::batch batch;
        std::uint32_t number = 0;
        for (const record& entry : entries) {
            batch.Put(duplicates_ ? numbered_key(entry.name, number) : entry.name, entry.value);
            ++number;
        }
        write(batch);
    }

    std::uint64_t iterate() override {
        std::uint64_t checksum = 0;
        const auto at = cursor();
        for (at->SeekToFirst(); at->Valid(); at->Next())
            checksum += entry_checksum(name_in(view(at->key())), view(at->value()));
        check(at->status());
        return checksum;
    }

    std::uint64_t look_up(const records& entries) override {
        std::uint64_t checksum = 0;
        if (!duplicates_) {
            for_each_value(entries, [&](const record& entry, std::string_view value) {
                checksum += entry_checksum(entry.name, value);
            });
            return checksum;
        }
        const auto at = cursor();
        for (const record& entry : entries)
            if (seek(*at, entry.name, 0))
                checksum += entry_checksum(name_in(view(at->key())), view(at->value()));
        check(at->status());
        return checksum;
    }

    std::uint64_t remove(const records& entries) override {
        if (!duplicates_)
            return remove_by_key(entries);
        std::uint64_t removed = 0;
        typename Library::batch batch;
        const auto at = cursor();
        for (const record& entry : entries) {
            bool is_there = seek(*at, entry.name, 0);
            while (is_there && view(at->value()) != entry.value) {
                at->Next();
                is_there = at->Valid() && name_in(view(at->key())) == entry.name;
            }
            if (!is_there)
                continue;
            batch.Delete(at->key());
            ++removed;
        }
        check(at->status());
        write(batch);
        return removed;
    }

    std::uint64_t remove_by_name(const records& entries) override {
        if (!duplicates_)
            return remove(entries);
        std::uint64_t removed = 0;
        typename Library::batch batch;
        std::unordered_map<std::string_view, std::uint32_t> next; // number, by name
        const auto at = cursor();
        for (const record& entry : entries) {
            std::uint32_t& number = next[entry.name];
            if (!seek(*at, entry.name, number))
                continue;
            number = number_in(view(at->key())) + 1;
            batch.Delete(at->key());
            ++removed;
        }
        check(at->status());
        write(batch);
        return removed;
    }

    std::uint64_t size() override {
        std::uint64_t count = 0;
        const auto at = cursor();
        for (at->SeekToFirst(); at->Valid(); at->Next())
            ++count;
        check(at->status());
        return count;
    }

    void close() override { library_.close(); }

private:
    static void check(const typename Library::status& status) {
        if (!status.ok())
            throw std::runtime_error(Library::k_name + (": " + status.ToString()));
    }
    static std::string_view view(const slice& bytes) { return {bytes.data(), bytes.size()}; }

    std::unique_ptr<typename Library::cursor> cursor() {
        return std::unique_ptr<typename Library::cursor>(library_.db().NewIterator({}));
    }
    /// To the first entry of that name from that number on; whether there is one.
    static bool seek(typename Library::cursor& at, std::string_view name, std::uint32_t number) {
        at.Seek(numbered_key(name, number));
        return at.Valid() && name_in(view(at.key())) == name;
    }
    void write(typename Library::batch& batch) {
        typename Library::write_options options;
        options.sync = true;
        check(library_.db().Write(options, &batch));
    }
    /// Whether a key is there has to be asked: a deletion does not tell.
    std::uint64_t remove_by_key(const records& entries) {
        std::uint64_t removed = 0;
        typename Library::batch batch;
        for_each_value(entries, [&](const record& entry, std::string_view value) {
            if (value != entry.value)
                return;
            batch.Delete(entry.name);
            ++removed;
        });
        write(batch);
        return removed;
    }
    /// `act(entry, value)` for what each name has: names are distinct. RocksDB is asked for many at once, which mostly
    /// is quicker; LevelDB cannot be.
    template <class Act>
    void for_each_value(const records& entries, const Act& act) {
        if constexpr (requires { typename Library::value; }) {
            constexpr std::size_t k_together = 64; // 32 to 512 made no difference
            std::vector<slice> keys(k_together);
            std::vector<typename Library::value> values(k_together);
            std::vector<typename Library::status> found(k_together);
            auto& db = library_.db();
            for (std::size_t first = 0; first < entries.size(); first += k_together) {
                const std::size_t count = std::min(k_together, entries.size() - first);
                for (std::size_t i = 0; i != count; ++i) {
                    keys[i] = entries[first + i].name;
                    values[i].Reset();
                }
                db.MultiGet({}, db.DefaultColumnFamily(), count, keys.data(), values.data(), found.data());
                for (std::size_t i = 0; i != count; ++i) {
                    check(found[i]);
                    act(entries[first + i], view(values[i]));
                }
            }
        } else {
            std::string value;
            for (const record& entry : entries) {
                check(library_.db().Get({}, entry.name, &value));
                act(entry, value);
            }
        }
    }

    bool duplicates_;
    Library library_;
};
