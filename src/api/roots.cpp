// The root directory, for the public templates: finds and makes roots, and records their types.

#include "api/heap_impl.hpp"
#include "api/raise.hpp"
#include "types/root_directory.hpp"
#include "types/schema_table.hpp"

namespace remanence::detail {

static void serve_virtual_functions(heap_impl& impl, const type_fingerprint& type) {
    if (type.virtual_functions != nullptr) [[unlikely]]
        type.virtual_functions->serve(impl, type.name, type.assumed);
}

/// Refuses an action in a heap that is mapped elsewhere than at its own address: addresses in the object would be wrong
/// now, or when the heap is opened next.
[[noreturn]] static void raise_elsewhere(const heap_impl& impl, const std::string& action, const std::string& type) {
    const std::string path = impl.origin.path.string();
    raise(errc::base_taken,
          "cannot " + action + " in " + path + ": the type " + type +
              " is not position-independent, and the heap is mapped elsewhere, since opening it at its own addresses "
              "failed: " +
              impl.engine().why_elsewhere()->message,
          path);
}

/// Returns advice about a type that has changed. In programs that migrate roots, it lists all differences.
static std::string how_to_convert(heap_impl& impl, std::string_view name, const type_fingerprint& type) {
    if (type.structure == nullptr) // the type is not a C++ type
        return {};
    return types::changes_of_root != nullptr
               ? types::changes_of_root(impl.memory(), name, type)
               : " To convert the root, open the heap with heap_options::migrate (remanence/migrate.hpp).";
}

/// errc::type_mismatch if a class that states its members states others than were stored, or if an enumeration has
/// other values.
static void know_schema(heap_impl& impl, std::string_view name, const type_fingerprint& type) {
    if (type.structure == nullptr) // the type is not a C++ type
        return;
    const types::known_schema known = types::look_up_schema(impl.memory(), type);
    const bool may_be_renamed = known.only_names && impl.options.checks.accept_renamed_members;
    if (known.has_changed && !may_be_renamed) {
        raise(errc::type_mismatch,
              "the type " + type.name + " of the root \"" + std::string(name) + "\" of " + impl.memory().path() +
                  " has changed: " + *known.has_changed +
                  ". Ask for the stored type, or keep this one under another name or in another file." +
                  how_to_convert(impl, name, type),
              impl.memory().path());
    }
    if ((!known.is_stored || known.has_changed) && !impl.options.read_only)
        impl.outdated.note_schema(type, &types::store_schemas);
}

void* find_root(heap_impl* impl, std::string_view name, const type_fingerprint& type, const root_functions& functions) {
    const auto renamed = impl->options.checks.accept_renamed_members ? types::renamed_members::accepted
                                                                     : types::renamed_members::refused;
    auto found = types::root_directory(impl->memory()).find(name, type, renamed);
    if (!found) {
        failure why = found.why();
        if (why.code == errc::type_mismatch)
            why.message += how_to_convert(*impl, name, type);
        raise(why);
    }
    if (found->object == nullptr)
        return nullptr;
    if (!type.position_independent && impl->engine().why_elsewhere())
        raise_elsewhere(*impl, "use the root \"" + std::string(name) + "\"", type.name);
    serve_virtual_functions(*impl, type);
    know_schema(*impl, name, type);
    impl->checks.know(name, type.hash, functions.check);
    if (impl->held && functions.is_asked_for)
        impl->held->know(name, type, functions.make);
    if (found->outdated) {
        impl->checks.know_outdated(name, found->outdated->hash);
        if (!impl->options.read_only)
            impl->outdated.note(name, *found->outdated, type);
    }
    return found->object;
}

void add_root(heap_impl* impl, std::string_view name, const type_fingerprint& type, void* object,
              const root_functions& functions, bool is_alone) {
    serve_virtual_functions(*impl, type);
    detail::check(types::root_directory(impl->memory()).add(name, type, object));
    if (type.structure != nullptr)
        impl->outdated.note_schema(type, &types::store_schemas);
    impl->checks.know(name, type.hash, functions.check);
    if (!impl->held)
        return;
    impl->held->know(name, type, functions.make);
    if (is_alone)
        impl->engine().let_next_commit_be_hidden();
}

bool is_about_to_make_one(heap_impl* impl) {
    if (!impl->held || impl->sections.write_depth() != 1)
        return false;
    const auto holds_changes = impl->engine().holds_changes();
    return holds_changes && !*holds_changes; // on failure returns false, since a commit reports the error
}

void erase_root(heap_impl* impl, std::string_view name) {
    check(types::root_directory(impl->memory()).erase(name));
    // also removes the schema of this root, if there is memory to write the smaller table
    (void)types::store_schemas(impl->memory(), {});
}

heap_header* header_of(heap_impl* impl) { return reinterpret_cast<heap_header*>(impl->memory().base()); }

heap_header* writable_header_of(heap_impl* impl) {
    if (impl->options.read_only)
        impl->origin.raise_read_only();
    return header_of(impl);
}

heap_header* header_at_own_base(heap_impl* impl, const std::type_info& type) {
    if (impl->engine().why_elsewhere()) [[unlikely]]
        raise_elsewhere(*impl, "make an object", readable_name(type.name()));
    return header_of(impl);
}

} // namespace remanence::detail
