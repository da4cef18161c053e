// The roots to which the program has references, from root() or find_root() until the heap is closed. No step of the
// history removes such a root or puts another object in its place. Only heaps with a history have such an object.
#pragma once

#include "txn/root_keeper.hpp"

#include <remanence/heap.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace remanence::detail {

class heap_impl;

/// The functions are virtual, so that programs without a history do not link their code.
class held_roots : public txn::root_keeper {
public:
    explicit held_roots(heap_impl& of) : of_(of) {}
    held_roots(const held_roots&) = delete;
    held_roots& operator=(const held_roots&) = delete;
    ~held_roots() override;

    /// Records a root. Any thread may call it. `type` must live as long as the process. std::bad_alloc.
    virtual void know(std::string_view name, const type_fingerprint& type, root_maker maker);

    /// What is known of a root that this program has asked for.
    struct known {
        const type_fingerprint* type;
        root_maker make;
    };
    using known_roots = std::map<std::string, known, std::less<>>;
    [[nodiscard]] const known_roots& all_known() const { return known_; }
    void know_all(known_roots all) { known_ = std::move(all); }

    result<void> note() override;
    result<bool> is_missing() override;
    result<void> make() override;

private:
    /// A root that exists in the present state of the heap.
    struct root {
        std::string name;
        std::string type;
        void* object;
        std::uint64_t fingerprint_hash;
        known by_us; // its type is null if only another process may have asked for the root
    };
    [[nodiscard]] unexpected refuse(const root& which, const std::string& why) const;

    heap_impl& of_;
    std::mutex guards_known_;
    known_roots known_;
    std::vector<root> noted_;
    std::vector<const root*> missing_;
};

} // namespace remanence::detail
