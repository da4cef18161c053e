// Ordered containers in a heap, with the reservation itself as key.
#include "store.hpp"

#include <remanence/remanence.hpp>

namespace {

namespace rem = remanence;

/// `IsDeclared`: the container declares what it changes, and nothing else is looked at.
template <class Map, bool IsDeclared>
class remanence_store final : public store {
public:
    explicit remanence_store(const std::filesystem::path& directory)
        : heap_(rem::heap::open(directory / "reservations.rem")), all_(heap_.root<Map>("reservations")) {}

    std::uint64_t reserve(std::span<const request> requests) override {
        return write([&] {
            std::uint64_t made = 0;
            for (const auto& [wanted, who] : requests) {
                const auto at = all_.lower_bound(first_behind(wanted.resource, wanted.start));
                if (at != all_.end() && at->first.resource == wanted.resource && at->first.start < wanted.end)
                    continue;
                all_.emplace_hint(at, wanted, who);
                ++made;
            }
            return made;
        });
    }
    std::uint64_t find_free(std::span<const query> queries) override {
        return heap_.read([&] {
            std::uint64_t sum = 0;
            for (const query& each : queries) {
                std::uint32_t free = each.from;
                for (auto at = all_.lower_bound(first_behind(each.resource, each.from));
                     at != all_.end() && at->first.resource == each.resource && at->first.start < free + each.minutes;
                     ++at)
                    free = at->first.end;
                sum += free + each.minutes <= each.until ? free : each.until;
            }
            return sum;
        });
    }
    std::uint64_t iterate() override {
        return heap_.read([&] {
            std::uint64_t sum = 0;
            for (const auto& [each, who] : all_)
                sum += checksum_of(each, who);
            return sum;
        });
    }
    std::uint64_t cancel(std::span<const reservation> reservations) override {
        return write([&] {
            std::uint64_t gone = 0;
            for (const reservation& each : reservations)
                gone += all_.erase(each);
            return gone;
        });
    }
    void close() override { heap_.close(); }

private:
    template <class F>
    std::uint64_t write(const F& f) {
        if constexpr (IsDeclared)
            return heap_.write(rem::declared, f);
        else
            return heap_.write(f);
    }

    rem::heap heap_;
    Map& all_;
};

template <class Map, bool IsDeclared>
system_kind system_of(const char* name) {
    return {name, [](const std::filesystem::path& directory) {
                return std::make_unique<remanence_store<Map, IsDeclared>>(directory);
            }};
}

} // namespace

system_kind remanence_btree_system() {
    return system_of<rem::btree_map<reservation, std::uint64_t>, true>("rem::btree_map");
}
system_kind remanence_map_system() { return system_of<rem::map<reservation, std::uint64_t>, false>("rem::map"); }
