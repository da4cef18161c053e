#include "api/virtual_part.hpp"

#include "api/heap_impl.hpp"
#include "api/raise.hpp"
#include "api/registry.hpp"
#include "base/undying.hpp"
#include "base/units.hpp"
#include "types/class_settler.hpp"

#include <remanence/types/detail/fingerprint.hpp>

#include <algorithm>
#include <cxxabi.h>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <typeinfo>

namespace remanence::detail {

namespace {

constexpr std::uint64_t k_numbers_end = 4 * GiB; // smaller numbers are common

[[maybe_unused]] const bool k_is_linked = (known_virtual_part = &k_virtual_part, true);

/// What the program tells of its classes, by mangled names.
class program_classes {
public:
    using fingerprint_function = const type_fingerprint& (*)();
    struct known_class {
        fingerprint_function type;
        void (*make)(void* at);
    };
    using table = std::map<std::string, known_class, std::less<>>; // by mangled names
    void add(std::string_view name, known_class added) {
        const std::scoped_lock lock(guard_);
        const auto [known, is_new] = all_.emplace(name, added);
        if (added.make != nullptr)
            known->second.make = added.make;
    }
    [[nodiscard]] fingerprint_function find(std::string_view name) const {
        const std::scoped_lock lock(guard_);
        const auto found = all_.find(name);
        return found != all_.end() ? found->second.type : nullptr;
    }
    [[nodiscard]] table all() const {
        const std::scoped_lock lock(guard_);
        return all_;
    }

private:
    mutable std::mutex guard_;
    table all_;
};

program_classes& known_classes() {
    static undying<program_classes> all; // used by users' static objects, too
    return all.value;
}

const type_fingerprint* type_of_class(std::string_view mangled) {
    const auto type = known_classes().find(mangled);
    return type != nullptr ? &type() : nullptr;
}

std::uint64_t vptr_of(const types::program_class& of, std::uint32_t position) {
    const types::vtable* const found = types::vtable_index::present()->find(of.mangled, position, {});
    return found != nullptr ? found->point : 0;
}

std::vector<types::program_class> all_classes() {
    std::vector<types::program_class> all;
    program_classes::table known;
    do { // making a fingerprint makes the classes in it known
        known = known_classes().all();
        all.clear();
        for (const auto& [mangled, each] : known)
            all.push_back({mangled, readable_name(mangled.c_str()), &each.type(), each.make, vptr_of});
    } while (known.size() != known_classes().all().size());
    return all;
}

/// What typeid tells of an object whose class the program does not have.
struct class_that_the_program_lacks {
    class_that_the_program_lacks() = default;
    class_that_the_program_lacks(const class_that_the_program_lacks&) = delete;
    class_that_the_program_lacks& operator=(const class_that_the_program_lacks&) = delete;
    virtual ~class_that_the_program_lacks() = default;
};

/// Returns the class of an object; empty if there is no such object.
std::string class_of(const void* const* object) {
    const heap_impl* const impl = registry::find(object);
    virtual_classes* const classes = impl != nullptr ? impl->virtuals.load() : nullptr;
    return classes != nullptr ? classes->name_of_stall(reinterpret_cast<std::uint64_t>(*object)) : std::string();
}

/// Stands for each virtual function of a class that the program lacks. Where a function returns an object, the first
/// argument is the place for it, and the second the object that was called.
[[noreturn]] void call_of_missing_class(const void* const* first, const void* const* second) {
    const void* const* object = first;
    std::string name = class_of(object);
    if (name.empty())
        name = class_of(object = second);
    const heap_impl* const impl = registry::find(object);
    const std::string path = impl != nullptr ? impl->origin.path.string() : "a heap";
    raise(errc::type_mismatch,
          "a virtual function was called of an object of the class " + readable_name(name.c_str()) + " in " + path +
              ", which this program does not have. Link the class into the program, or load its library first; a class "
              "whose "
              "functions are all inline is there if the program makes an object of it.",
          path);
}

class classes_of_heap final : public virtual_classes {
public:
    explicit classes_of_heap(heap_impl& of)
        : engine_(of.engine()),
          settler_(of.memory(),
                   {reinterpret_cast<std::uint64_t>(&call_of_missing_class),
                    reinterpret_cast<std::uint64_t>(&typeid(class_that_the_program_lacks))},
                   &type_of_class) {
        if (!of.options.read_only)
            of.engine().settle_vptrs_by(settler_);
    }
    void renew() override { check(settler_.renew()); }
    result<std::uint64_t> make_commit(const txn::commit_order& order) override {
        for (;;) {
            auto version = engine_.make_commit(order);
            if (version)
                return version;
            auto has_admitted = settler_.admit_classes();
            if (!has_admitted)
                return has_admitted.error();
            if (!*has_admitted)
                return version;
        }
    }
    bool is_vtable(std::uint64_t value) override { return types::vtable_index::present()->at(value) != nullptr; }
    std::string name_of_stall(std::uint64_t point) override { return settler_.name_of_stall(point); }

private:
    txn::engine& engine_;
    types::class_settler settler_;
};

void serve(heap_impl& heap, const std::string& type, assumption made) {
    if (made != assumption::none) {
        const bool is_cast = made == assumption::unique_vtables;
        raise(errc::not_supported,
              "objects of " + type + " in " + heap.origin.path.string() +
                  " cannot be used by this program: it was compiled so that " +
                  (is_cast ? "dynamic_cast to a final class compares addresses of vtables. Add "
                             "-fno-assume-unique-vtables to the options of clang, as remanence's CMake target and "
                             "pkg-config file do."
                           : "virtual calls are replaced by other code for the whole program. Leave out "
                             "-fwhole-program-vtables and -fsanitize=cfi."),
              heap.origin.path.string());
    }
    // A commit takes each word with the address of a vtable for a vptr.
    if (types::vtable_index::present()->begin() < k_numbers_end)
        raise(errc::not_supported,
              "objects with virtual functions in " + heap.origin.path.string() +
                  " cannot be used by this program: its vtables lie at addresses that ordinary numbers may equal. Link "
                  "it as a position-independent program (-pie, or -static-pie).",
              heap.origin.path.string());
    if (heap.engine().why_elsewhere())
        return;
    if (heap.virtuals == nullptr) {
        static constinit undying<std::mutex> guard;
        const std::scoped_lock lock(guard.value);
        if (heap.virtuals == nullptr)
            heap.virtuals = new classes_of_heap(heap); // the heap deletes it
    }
    heap.virtuals.load()->renew();
}

} // namespace

constinit const virtual_part k_virtual_part{serve, all_classes};

const virtual_part* know_class(const std::type_info& type, const type_fingerprint& (*fingerprint)(),
                               void (*make)(void* at)) noexcept {
    try {
        known_classes().add(type.name(), {fingerprint, make});
    } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch): objects of the class have no schema then
    }
    return &k_virtual_part;
}

bool has_virtual_bases(const std::type_info& type) noexcept { // NOLINT(misc-no-recursion): along the bases
    if (const auto* const one = dynamic_cast<const abi::__si_class_type_info*>(&type))
        return has_virtual_bases(*one->__base_type);
    const auto* const many = dynamic_cast<const abi::__vmi_class_type_info*>(&type);
    if (many == nullptr)
        return false;
    return std::any_of(many->__base_info, many->__base_info + many->__base_count,
                       [](const auto& base) { return base.__is_virtual_p() || has_virtual_bases(*base.__base_type); });
}

void free_object(void* whole) noexcept {
    heap_impl* const impl = registry::find(whole);
    if (impl != nullptr && impl->origin.same_process() && impl->outsiders.is_of_this_state(header_of(impl)))
        (void)impl->memory().deallocate(whole); // it fails if no block begins there: then nothing is freed
}

void note_virtual_functions(const void* address, const std::type_info& type, assumption made) {
    heap_impl* const impl = registry::find(address);
    if (impl != nullptr && impl->origin.same_process() && (impl->virtuals == nullptr || made != assumption::none))
        serve(*impl, readable_name(type.name()), made);
}

} // namespace remanence::detail
