// redb, the B-tree of Rust programs, by the C interface of redb/: its default settings, each commit durable. One writer at a
// time. What its other level keeps does not survive the end of the process, so it takes no part in the lazy workloads.
#include "store.hpp"

extern "C" {
struct redb_peer;
redb_peer* redb_peer_open(const char* path);
void redb_peer_close(redb_peer* database);
void redb_peer_fill(redb_peer* database, const std::uint64_t* keys, std::size_t count, std::uint64_t number);
void redb_peer_add_one(redb_peer* database, const std::uint64_t* keys, std::size_t count);
std::uint64_t redb_peer_sum(redb_peer* database);
}

namespace {

struct closing {
    void operator()(redb_peer* database) const { redb_peer_close(database); }
};

class redb_store final : public store {
public:
    explicit redb_store(const settings& chosen)
        : chosen_(chosen), database_(redb_peer_open((chosen.directory / "numbers.redb").c_str())) {}

    void fill() override {
        std::vector<std::uint64_t> all;
        all.reserve(chosen_.entries);
        for (std::uint64_t n = 0; n < chosen_.entries; ++n)
            all.push_back(chosen_.key(n));
        redb_peer_fill(database_.get(), all.data(), all.size(), k_initial);
    }
    void update(unsigned /*thread*/, const keys& which) override {
        keys their_names{};
        for (std::size_t i = 0; i < which.size(); ++i)
            their_names[i] = chosen_.key(which[i]);
        redb_peer_add_one(database_.get(), their_names.data(), their_names.size());
    }
    std::uint64_t sum() override { return redb_peer_sum(database_.get()); }
    void close() override { database_.reset(); }

private:
    settings chosen_;
    std::unique_ptr<redb_peer, closing> database_;
};

} // namespace

system_kind redb_system() {
    const auto open = [](const settings& chosen) { return std::make_unique<redb_store>(chosen); };
    return {.name = "redb", .open = open, .family = "redb", .has_lazy = false};
}
