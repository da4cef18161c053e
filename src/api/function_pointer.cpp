// Finds functions for function_pointer. A separate file, so that only programs that use it link it.
//
// Calls look into tables that no thread locks. What a table lacks, an index of all functions finds (types/function_index),
// which takes longer.

#include "api/raise.hpp"
#include "base/undying.hpp"
#include "os/held_across_fork.hpp"
#include "os/loaded_modules.hpp"
#include "types/demangled.hpp"
#include "types/function_index.hpp"

#include <remanence/function_pointer.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace remanence::detail {

namespace {

std::mutex guards_functions;
const os::held_across_fork<guards_functions> k_functions_held;

constexpr std::uint64_t k_permanent = 0; // no generation of modules: there is always one that was loaded

/// A map of numbers other than 0. One thread at a time may put; any thread may find meanwhile. Keys are never removed.
class known_numbers {
public:
    /// Returns the value for a key; nothing if there is none, or if modules were loaded or unloaded since it was put.
    [[nodiscard]] std::optional<std::uint64_t> find(std::uint64_t key) const {
        const slots* const all = now_.load(std::memory_order_acquire);
        if (all == nullptr)
            return std::nullopt;
        const slot& at = all->at(key);
        if (at.key.load(std::memory_order_acquire) != key)
            return std::nullopt;
        // The value belongs to the generation if that is the same before and after.
        const std::uint64_t generation = at.generation.load();
        const std::uint64_t value = at.value.load();
        if (generation != k_permanent && generation != os::modules_generation()) [[unlikely]]
            return std::nullopt;
        return at.generation.load() == generation ? std::optional(value) : std::nullopt;
    }

    void put(std::uint64_t key, std::uint64_t value, std::uint64_t generation) {
        slots* all = now_.load();
        if (all == nullptr || 2 * (all->used + 1) > all->all.size())
            all = grow();
        fill(*all, key, value, generation);
    }

private:
    static constexpr std::uint64_t k_changing = ~std::uint64_t{0}; // no generation of modules
    static constexpr std::size_t k_slots_min = 64;
    static constexpr std::uint64_t k_spread = 0x9e3779b97f4a7c15; // addresses are multiples of 16

    struct slot {
        std::atomic<std::uint64_t> key = 0;
        std::atomic<std::uint64_t> generation = k_changing;
        std::atomic<std::uint64_t> value = 0;
    };
    struct slots {
        explicit slots(std::size_t count) : all(count) {}
        /// Returns the slot with this key, or the one that it would get.
        [[nodiscard]] const slot& at(std::uint64_t key) const {
            const std::size_t last = all.size() - 1;
            for (std::size_t i = (key * k_spread) >> 32U;; ++i) {
                const std::uint64_t found = all[i & last].key.load(std::memory_order_acquire);
                if (found == key || found == 0)
                    return all[i & last];
            }
        }

        std::vector<slot> all; // a power of two, at most half of them used
        std::size_t used = 0;
    };

    static void fill(slots& into, std::uint64_t key, std::uint64_t value, std::uint64_t generation) {
        auto& at = const_cast<slot&>(into.at(key));
        at.generation.store(k_changing);
        at.value.store(value);
        at.generation.store(generation);
        if (at.key.load() == 0)
            ++into.used;
        at.key.store(key, std::memory_order_release);
    }
    /// Copies everything to twice as many slots. Threads may still read the former ones, which therefore stay.
    slots* grow() {
        const slots* const former = now_.load();
        auto made = std::make_unique<slots>(former == nullptr ? k_slots_min : 2 * former->all.size());
        for (std::size_t i = 0; former != nullptr && i != former->all.size(); ++i) {
            if (const slot& each = former->all[i]; each.key.load() != 0)
                fill(*made, each.key.load(), each.value.load(), each.generation.load());
        }
        kept_.push_back(std::move(made));
        now_.store(kept_.back().get(), std::memory_order_release);
        return kept_.back().get();
    }

    std::atomic<slots*> now_ = nullptr;
    std::vector<std::unique_ptr<slots>> kept_;
};

// Users' static objects may use them.
constinit undying<known_numbers> function_numbers;      // by address
constinit undying<known_numbers> function_addresses;    // by number
constinit undying<types::function_index> all_functions; // of all functions; `guards_functions` must be held

types::function_index& renewed_index() {
    all_functions.value.renew();
    return all_functions.value;
}

void remember(known_numbers& into, std::uint64_t key, const types::function_index::answer& what) {
    into.put(key, what.value, what.is_permanent ? k_permanent : all_functions.value.generation());
}

result<std::uint64_t> find_number(std::uint64_t address) {
    const std::scoped_lock lock(guards_functions);
    auto found = renewed_index().number_of(address);
    if (!found)
        return found.error();
    remember(function_numbers.value, address, *found);
    return found->value;
}

result<std::uint64_t> find_address(std::uint64_t number) {
    const std::scoped_lock lock(guards_functions);
    auto found = renewed_index().function_of(number);
    if (!found)
        return found.error();
    remember(function_addresses.value, number, *found);
    return found->value;
}

std::uint64_t value_of(result<std::uint64_t> found) {
    if (!found)
        raise(found.why());
    return *found;
}

} // namespace

std::uint64_t number_of_function(std::uintptr_t address) {
    if (address == 0)
        return 0;
    const auto known = function_numbers.value.find(address);
    return known ? *known : value_of(find_number(address));
}

std::uintptr_t function_of_number(std::uint64_t number) {
    if (number == 0)
        return 0;
    const auto known = function_addresses.value.find(number);
    return known ? *known : value_of(find_address(number));
}

bool has_number(std::uintptr_t address, std::uint64_t number) {
    if (address == 0 || number == 0)
        return address == number;
    if (const auto known = function_numbers.value.find(address))
        return *known == number;
    const auto found = find_number(address);
    return found && *found == number;
}

std::string name_of_function(std::uint64_t number) {
    if (number == 0)
        return {};
    const auto found = [&] {
        const std::scoped_lock lock(guards_functions);
        return renewed_index().name_of(number);
    }();
    if (!found)
        raise(found.why());
    return demangle(found->c_str());
}

void refuse_null_function() {
    raise(errc::invalid_argument,
          "cannot call a function_pointer that is null. Test it first: if (pointer) pointer();");
}

} // namespace remanence::detail
