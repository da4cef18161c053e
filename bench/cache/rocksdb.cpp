// RocksDB: its log gets each change at once, so all of them outlive the process, and is synced at each point. The numbers of use are
// keys of their own.
#include "store.hpp"

#include <rocksdb_library.hpp>

namespace {

void check(const rocksdb::Status& done) {
    if (!done.ok())
        throw std::runtime_error("RocksDB: " + done.ToString());
}

class rocksdb_store final : public store {
public:
    explicit rocksdb_store(const std::filesystem::path& directory) : library_(directory) {}
    void get(std::string_view key) override {
        value_.Reset();
        check(library_.db().Get({}, library_.db().DefaultColumnFamily(), rocksdb::Slice(key), &value_));
        check_value(key, value_.ToStringView());
        note_use(key);
    }
    void set(std::string_view key, std::string_view value) override {
        check(library_.db().Put({}, rocksdb::Slice(key), rocksdb::Slice(value)));
        note_use(key);
    }
    void point() override { library_.sync(); }
    void close() override {
        value_.Reset();
        library_.sync();
        library_.close();
    }

private:
    void note_use(std::string_view key) {
        name_.replace(1, name_.size() - 1, key);
        ++use_;
        check(library_.db().Put({}, name_, {reinterpret_cast<const char*>(&use_), sizeof use_}));
    }

    bench::rocksdb_library library_;
    rocksdb::PinnableSlice value_;
    std::string name_ = "u";
    std::uint64_t use_ = 0;
};

} // namespace

std::vector<system_kind> rocksdb_systems() {
    return {{.name = "RocksDB",
             .open = [](const std::filesystem::path& in) { return std::make_unique<rocksdb_store>(in); }}};
}
