// Berkeley DB's B-tree with a cache that holds everything: bytes are copied out, deserialised, and, if they changed, serialised
// and copied in. Nothing is synced.
#include "store.hpp"

#include <db.h>

#include <stdexcept>

namespace {

namespace rem = remanence;

constexpr u_int32_t k_cache_bytes = 256U << 20;

void check(int status, const char* what) {
    if (status != 0)
        throw std::runtime_error(std::string("Berkeley DB, ") + what + ": " + db_strerror(status));
}

DBT thing(const void* bytes, std::size_t size) {
    DBT result{};
    result.data = const_cast<void*>(bytes); // it only reads
    result.size = static_cast<u_int32_t>(size);
    return result;
}

class berkeley_db_store final : public store {
public:
    explicit berkeley_db_store(const std::filesystem::path& directory) {
        check(db_create(&db_, nullptr, 0), "db_create");
        check(db_->set_cachesize(db_, 0, k_cache_bytes, 1), "set_cachesize");
        check(db_->open(db_, nullptr, (directory / "people.db").c_str(), nullptr, DB_BTREE, DB_CREATE, 0666), "open");
    }
    ~berkeley_db_store() override { db_->close(db_, DB_NOSYNC); }

    void fill(std::uint64_t people) override {
        for (std::uint64_t i = 0; i < people; ++i)
            put(i, rem::detail::bytes_of<rem::serialize_trait<person>>(person_of(i)));
    }
    std::size_t read(const std::vector<std::uint64_t>& numbers) override {
        std::size_t bytes = 0;
        for (const std::uint64_t number : numbers) {
            const person copy = rem::detail::value_of<rem::serialize_trait<person>>(get(number));
            bytes += copy.name.size() + copy.city.size();
        }
        return bytes;
    }
    std::size_t touch(const std::vector<std::uint64_t>& numbers) override {
        std::size_t bytes = 0;
        for (const std::uint64_t number : numbers)
            edit(number, [&](const person& copy) { bytes += copy.name.size() + copy.city.size(); });
        return bytes;
    }
    void change(const std::vector<std::uint64_t>& numbers) override {
        for (const std::uint64_t number : numbers)
            edit(number, [](person& copy) { copy.phones.emplace_back("+49 30 901820"); });
    }

private:
    /// Until the next call.
    std::string_view get(std::uint64_t number) {
        DBT key = thing(&number, sizeof number);
        DBT value{};
        check(db_->get(db_, nullptr, &key, &value, 0), "get");
        return {static_cast<const char*>(value.data), value.size};
    }
    void put(std::uint64_t number, const std::string& bytes) {
        DBT key = thing(&number, sizeof number);
        DBT value = thing(bytes.data(), bytes.size());
        check(db_->put(db_, nullptr, &key, &value, 0), "put");
    }
    template <class F>
    void edit(std::uint64_t number, const F& f) {
        const std::string_view before = get(number);
        person copy = rem::detail::value_of<rem::serialize_trait<person>>(before);
        f(copy);
        if (const std::string now = rem::detail::bytes_of<rem::serialize_trait<person>>(copy); now != before)
            put(number, now);
    }

    DB* db_ = nullptr;
};

} // namespace

system_kind berkeley_db_system() {
    return {"Berkeley DB",
            [](const std::filesystem::path& directory) { return std::make_unique<berkeley_db_store>(directory); }};
}
