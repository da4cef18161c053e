#include "types/class_settler.hpp"

#include "base/units.hpp"
#include "types/root_directory.hpp"
#include "types/schema_table.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace remanence::types {

namespace {

using word = std::uint64_t;

} // namespace

/// Returns the entries; nothing if there are none, or the table is damaged.
std::span<const std::byte> class_settler::table_bytes() const {
    const std::uint64_t offset = memory_.header().class_table;
    format::class_table head{};
    if (offset == 0 || offset > memory_.accessible_bytes() || memory_.accessible_bytes() - offset < sizeof head)
        return {};
    std::memcpy(&head, memory_.base() + offset, sizeof head);
    if (head.used_bytes < sizeof head || head.used_bytes > memory_.accessible_bytes() - offset)
        return {};
    return {memory_.base() + offset + sizeof head, head.used_bytes - sizeof head};
}

result<void> class_settler::renew() {
    const std::scoped_lock lock(guard_);
    return renew_locked();
}

result<void> class_settler::renew_locked() {
    auto index = vtable_index::present();
    const bool is_loaded = index != index_;
    const std::span<const std::byte> now = table_bytes();
    if (!is_loaded && std::ranges::equal(now, seen_))
        return {};
    std::vector<stored_class> stored;
    if (memory_.header().class_table != 0) {
        memory_bytes bytes(memory_);
        auto read = read_classes(bytes, memory_.header().class_table);
        if (!read)
            return fail(errc::corrupt,
                        "the table of classes in " + memory_.path() + " is damaged. Restore the heap from a copy.",
                        memory_.path());
        stored = std::move(*read);
    }
    for (const stored_class& each : stored)
        REM_TRY(check_unchanged(each));
    if (!stalls_ && !stored.empty()) {
        auto made = class_stalls::make(reinterpret_cast<std::uint64_t>(memory_.base()), memory_.path());
        if (!made)
            return made.error();
        stalls_.emplace(std::move(*made));
    }
    std::size_t known = 0;
    if (!is_loaded) {
        while (known != std::min(stored.size(), classes_.size()) && stored[known] == classes_[known])
            ++known;
    }
    index_ = std::move(index);
    stall_of_.clear();
    admitted_.clear();
    classes_ = std::move(stored);
    seen_.clear(); // if filling fails, the next call tries again
    if (known != classes_.size()) {
        class_stalls::filling into(*stalls_);
        for (std::size_t i = known; i != classes_.size(); ++i)
            REM_TRY(fill(i, into));
    }
    seen_.assign(now.begin(), now.end());
    return {};
}

result<void> class_settler::check_unchanged(const stored_class& each) const {
    const detail::type_fingerprint* const type = type_of_(each.name);
    if (type == nullptr)
        return {};
    const auto changed = [&](const std::string& how) {
        return fail(
            errc::type_mismatch,
            "the class " + type->name + " of objects in " + memory_.path() + " has changed: " + how +
                ". Name the roots that lead to them in heap_options::migrate (remanence/migrate.hpp), or use the "
                "program that made them.",
            memory_.path());
    };
    if (each.object_bytes != 0 && each.object_bytes != type->size)
        return changed("they have " + std::to_string(each.object_bytes) + " bytes, and those of this program " +
                       std::to_string(type->size));
    const known_schema known = look_up_schema(memory_, *type);
    return known.has_changed ? changed(*known.has_changed) : result<void>();
}

result<void> class_settler::fill(std::size_t number, class_stalls::filling& into) {
    const stored_class& each = classes_[number];
    const vtable* const found = index_->find(each.name, each.position, each.virtual_bases);
    return found != nullptr ? into.fill(number, *index_, *found) : into.fill_missing(number, each, missing_);
}

std::string class_settler::name_of_stall(std::uint64_t point) {
    const std::scoped_lock lock(guard_);
    for (std::size_t i = 0; stalls_ && i != classes_.size(); ++i) {
        if (stalls_->point(i) == point)
            return classes_[i].name;
    }
    return {};
}

result<change::commit_scope> class_settler::gather(txn::committer& of, view::memory_view& view) {
    const std::scoped_lock lock(guard_);
    lacking_bytes_ = 0;
    lacking_schemas_.clear();
    REM_TRY(renew_locked());
    return txn::gather_and_settle(*this, of, view);
}

/// Fails if the heap lacks something for an entry. `type`: what the program tells of the class, or null.
result<void> class_settler::admit(std::size_t number, stored_class& wanted, const detail::type_fingerprint* type) {
    if (number == format::k_stalls_max)
        return fail(errc::exhausted,
                    "cannot commit " + memory_.path() + ": it has objects of too many classes, at most " +
                        std::to_string(format::k_stalls_max) + " vtables.",
                    memory_.path());
    if (type != nullptr) {
        wanted.object_bytes = type->size;
        wanted.fingerprint = type->hash;
        if (std::ranges::find(admitted_, type) == admitted_.end() && !look_up_schema(memory_, *type).is_stored)
            lacking_schemas_.push_back(type);
    }
    const std::uint64_t offset = memory_.header().class_table;
    const auto* const table = reinterpret_cast<const format::class_table*>(memory_.base() + offset);
    if (number == classes_.size() && (offset == 0 || table->bytes - table->used_bytes < bytes_of_entry(wanted)))
        lacking_bytes_ = bytes_of_entry(wanted);
    if (lacking_bytes_ != 0 || !lacking_schemas_.empty())
        return fail(errc::exhausted, "cannot commit " + memory_.path() + ": it does not know a class yet.",
                    memory_.path());
    if (!stalls_) {
        auto made = class_stalls::make(reinterpret_cast<std::uint64_t>(memory_.base()), memory_.path());
        if (!made)
            return made.error();
        stalls_.emplace(std::move(*made));
    }
    return {};
}

// Objects of a class from several modules share a stall.
result<std::uint64_t> class_settler::stall_for(const vtable& found) {
    if (const auto known = stall_of_.find(found.point); known != stall_of_.end())
        return known->second;
    stored_class wanted{std::string(index_->name_of(found)), found.position, 0, index_->virtual_bases_of(found)};
    std::size_t number = 0;
    while (number != classes_.size() &&
           (classes_[number].position != wanted.position || classes_[number].name != wanted.name ||
            classes_[number].virtual_bases != wanted.virtual_bases))
        ++number;
    const detail::type_fingerprint* const type = type_of_(wanted.name);
    const bool is_new = number == classes_.size();
    // The program that has stored the class told nothing of it.
    const bool is_to_complete = !is_new && type != nullptr && classes_[number].fingerprint == 0;
    if (is_new || is_to_complete) {
        REM_TRY(admit(number, wanted, type));
        if (is_new)
            REM_TRY(class_stalls::filling(*stalls_).fill(number, *index_, found));
        auto& table = *reinterpret_cast<format::class_table*>(memory_.base() + memory_.header().class_table);
        if (is_new)
            (void)append_class(table, wanted); // there is room
        else
            complete_class(table, number, wanted);
        classes_.resize(std::max(classes_.size(), number + 1));
        classes_[number] = std::move(wanted);
        const std::span<const std::byte> now = table_bytes();
        seen_.assign(now.begin(), now.end());
    }
    const std::uint64_t stall = stalls_->point(number);
    stall_of_.emplace(found.point, stall);
    return stall;
}

// The caller holds guard_: gather() calls it. Threads that call virtual functions meanwhile find the same functions by
// either vptr.
[[gnu::no_sanitize_thread]] result<bool> class_settler::settle(heap_range where) {
    bool has_written = false;
    const word begin = index_->begin();
    const word bytes = index_->end() - begin;
    auto* const first = reinterpret_cast<word*>(memory_.base() + where.offset);
    word last = 0; // neighbours often have the same class
    word stall_of_last = 0;
    for (word* at = first; at != first + where.bytes / sizeof(word); ++at) {
        if (*at - begin >= bytes) [[likely]]
            continue;
        if (*at != last) {
            const vtable* const found = index_->at(*at);
            if (found == nullptr)
                continue;
            auto stall = stall_for(*found);
            if (!stall)
                return stall.error();
            last = *at;
            stall_of_last = *stall;
        }
        *at = stall_of_last;
        has_written = true;
    }
    return has_written;
}

result<bool> class_settler::admit_classes() {
    std::uint64_t bytes = 0;
    std::vector<const detail::type_fingerprint*> types;
    {
        const std::scoped_lock lock(guard_); // not held below, since a commit acquires it after the allocation lock
        bytes = std::exchange(lacking_bytes_, 0);
        types = std::exchange(lacking_schemas_, {});
        admitted_.insert(admitted_.end(), types.begin(), types.end());
    }
    if (bytes == 0 && types.empty())
        return false;
    if (bytes != 0) // first, since schemas of classes are kept in heaps that have a table
        REM_TRY(make_room_for_classes(memory_, bytes));
    if (!types.empty())
        REM_TRY(store_schemas(memory_, types));
    return true;
}

} // namespace remanence::types
