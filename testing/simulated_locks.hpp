// Locks on the bytes of a simulated file. Private to the simulated disk.
#pragma once

#include "os/byte_locks.hpp"

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>

namespace remanence::simulation {

/// Who holds a lock is told by an address, of whatever that is an opening of the file.
class simulated_locks {
public:
    bool try_lock(std::uint64_t byte, os::lock_kind kind, const void* who) {
        lock& there = locks_[byte];
        const bool shared_by_others = there.shared.size() > there.shared.count(who);
        const bool exclusive_by_another = there.exclusive != nullptr && there.exclusive != who;
        if (exclusive_by_another || (kind == os::lock_kind::exclusive && shared_by_others))
            return false;
        if (kind == os::lock_kind::shared) {
            there.exclusive = nullptr;
            there.shared.insert(who);
        } else {
            there.shared.clear();
            there.exclusive = who;
        }
        return true;
    }
    void unlock(std::uint64_t first, std::uint64_t count, const void* who) {
        for (auto each = locks_.lower_bound(first); each != locks_.end() && each->first - first < count;) {
            lock& there = each->second;
            there.shared.erase(who);
            if (there.exclusive == who)
                there.exclusive = nullptr;
            each = there.is_free() ? locks_.erase(each) : std::next(each);
        }
    }
    void unlock_all(const void* who) { unlock(0, ~std::uint64_t{0}, who); }
    [[nodiscard]] std::optional<std::uint64_t> locked_by_others(std::uint64_t first, std::uint64_t count,
                                                                const void* who) const {
        for (auto each = locks_.lower_bound(first); each != locks_.end() && each->first - first < count; ++each)
            if ((each->second.exclusive != nullptr && each->second.exclusive != who) ||
                each->second.shared.size() > each->second.shared.count(who))
                return each->first;
        return {};
    }
    [[nodiscard]] bool is_locked_exclusively_by_others(std::uint64_t byte, const void* who) const {
        const auto there = locks_.find(byte);
        return there != locks_.end() && there->second.exclusive != nullptr && there->second.exclusive != who;
    }

private:
    struct lock {
        std::set<const void*> shared{};
        const void* exclusive = nullptr;
        [[nodiscard]] bool is_free() const { return shared.empty() && exclusive == nullptr; }
    };
    std::map<std::uint64_t, lock> locks_;
};

} // namespace remanence::simulation
