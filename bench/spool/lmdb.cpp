// LMDB with its default, durable settings: one environment with three tables, and one transaction for each article. A key of
// an article is its group, a zero byte, and its number in big-endian order.
#include "store.hpp"

#include <lmdb_library.hpp>

#include <cstdint>
#include <stdexcept>

namespace {

using bench::check_lmdb;
using bench::thing;
using bench::view;

constexpr std::size_t k_map_bytes = std::size_t{4} << 30;
constexpr char k_end_of_overview = '\n';

std::string key_of(std::string_view group, std::uint64_t number) {
    std::string key(group);
    key += '\0';
    for (int shift = 56; shift >= 0; shift -= 8)
        key += static_cast<char>(number >> shift);
    return key;
}

std::uint64_t number_in(std::string_view key) {
    std::uint64_t number = 0;
    for (const char byte : key.substr(key.size() - 8))
        number = number << 8 | static_cast<unsigned char>(byte);
    return number;
}

class lmdb_store final : public store {
public:
    explicit lmdb_store(const std::filesystem::path& directory) : environment_(directory, 0, k_map_bytes, 3) {
        within(0, [&] {
            check_lmdb(mdb_dbi_open(transaction_, "articles", MDB_CREATE, &articles_), "dbi_open");
            check_lmdb(mdb_dbi_open(transaction_, "places", MDB_CREATE, &places_), "dbi_open");
            check_lmdb(mdb_dbi_open(transaction_, "groups", MDB_CREATE, &groups_), "dbi_open");
        });
    }

    void make_group(const std::string& name) override {
        within(0, [&] { put(groups_, name, key_of("", 0)); });
    }
    void post(const news::article& what, unsigned) override {
        within(0, [&] {
            std::string places;
            for (const std::string& group : what.groups) {
                const std::uint64_t number = number_in(get(groups_, group)) + 1;
                put(groups_, group, key_of("", number));
                put(articles_, key_of(group, number), what.overview + k_end_of_overview + what.text);
                places += places.empty() ? key_of(group, number) : "";
            }
            put(places_, what.message_id, places, MDB_NOOVERWRITE);
        });
    }
    std::string read(std::string_view message_id) override {
        std::string text;
        within(MDB_RDONLY, [&] {
            const std::string_view found = get(articles_, get(places_, message_id));
            text = found.substr(found.find(k_end_of_overview) + 1);
        });
        return text;
    }
    std::string overview(const std::string& group, std::size_t count) override {
        std::string lines;
        within(MDB_RDONLY, [&] {
            MDB_cursor* cursor = nullptr;
            check_lmdb(mdb_cursor_open(transaction_, articles_, &cursor), "cursor_open");
            const std::string first = key_of(group, 0);
            MDB_val key = thing(first);
            MDB_val value{};
            int status = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
            for (; status == 0 && count != 0 && view(key).starts_with(group + '\0'); --count) {
                lines += std::to_string(number_in(view(key))) + '\t';
                lines.append(view(value).substr(0, view(value).find(k_end_of_overview))).append("\r\n");
                status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
            }
            mdb_cursor_close(cursor);
        });
        return lines;
    }

private:
    template <class F>
    void within(unsigned flags, F&& act) {
        check_lmdb(mdb_txn_begin(environment_.get(), nullptr, flags, &transaction_), "txn_begin");
        try {
            act();
        } catch (...) {
            mdb_txn_abort(transaction_);
            throw;
        }
        check_lmdb(mdb_txn_commit(transaction_), "txn_commit");
    }
    std::string_view get(MDB_dbi table, std::string_view name) {
        MDB_val key = thing(name);
        MDB_val value{};
        check_lmdb(mdb_get(transaction_, table, &key, &value), "get");
        return view(value);
    }
    void put(MDB_dbi table, std::string_view name, std::string_view content, unsigned flags = 0) {
        MDB_val key = thing(name);
        MDB_val value = thing(content);
        check_lmdb(mdb_put(transaction_, table, &key, &value, flags), "put");
    }

    bench::lmdb_environment environment_;
    MDB_txn* transaction_ = nullptr;
    MDB_dbi articles_ = 0;
    MDB_dbi places_ = 0;
    MDB_dbi groups_ = 0;
};

} // namespace

system_kind lmdb_system() {
    return {"LMDB", [](const std::filesystem::path& directory) { return std::make_unique<lmdb_store>(directory); }};
}
