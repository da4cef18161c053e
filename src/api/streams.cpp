// Heaps as streams, for the public templates: src/inspect writes the streams, and src/objects reads them.

#include <remanence/streams.hpp>

#include "api/heap_impl.hpp"
#include "api/raise.hpp"
#include "api/save_heap.hpp"
#include "inspect/heap_schema.hpp"
#include "objects/binary_form.hpp"
#include "objects/dump_loader.hpp"
#include "types/root_directory.hpp"

#include <istream>
#include <memory>
#include <ostream>
#include <utility>

namespace remanence {

namespace detail {

void save_heap(const heap& from, const std::string& root, const inspect::dump_manner& manner,
               const std::function<void(std::string_view)>& to) {
    heap_impl& impl = impl_of(from);
    const read_section section(&impl);
    types::memory_bytes bytes(impl.memory());
    const inspect::heap_to_read place{bytes,
                                      impl.memory().path(),
                                      reinterpret_cast<std::uintptr_t>(impl.memory().base()),
                                      impl.memory().accessible_bytes(),
                                      from.version(),
                                      &impl.memory().header()};
    auto lines = inspect::dump_objects(place, root, manner, to);
    if (!lines)
        raise(lines.why());
    to("{\"end\":true,\"lines\":" + std::to_string(*lines) + "}\n");
}

} // namespace detail

void save(const heap& from, const std::function<void(std::string_view)>& to, const std::string& root) {
    detail::save_heap(from, root, {}, to);
}

void save(const heap& from, std::ostream& to, const std::string& root) {
    const auto put = [&](std::string_view piece) {
        if (!to.write(piece.data(), static_cast<std::streamsize>(piece.size())))
            detail::raise(errc::io, "the stream did not take all of what was saved of " + from.path().string() +
                                        ": the output is not whole.");
    };
    save(from, put, root);
    if (!to.flush())
        put({});
}

std::function<void(std::string_view)> as_binary(std::function<void(std::string_view)> to) {
    return [to = std::move(to), writer = std::make_shared<objects::binary_writer>(),
            out = std::string()](std::string_view lines) mutable {
        out.clear();
        if (auto put = writer->put(out, lines); !put)
            detail::raise(put.why());
        to(out);
    };
}

namespace detail {

std::function<std::size_t(char*, std::size_t)> reader_of(std::istream& from) {
    return [&from](char* into, std::size_t bytes) {
        from.read(into, static_cast<std::streamsize>(bytes));
        return static_cast<std::size_t>(from.gcount());
    };
}

std::size_t load_roots(heap& into, const std::function<std::size_t(char*, std::size_t)>& read,
                       const std::vector<type_to_load>& types, const load_options& how) {
    heap_impl& impl = impl_of(into);
    if (impl.options.read_only)
        impl.origin.raise_read_only();
    if (const auto elsewhere = impl.engine().why_elsewhere())
        raise(errc::base_taken, "cannot load a dump into " + into.path().string() +
                                    ": the heap is mapped elsewhere, since opening it at its own addresses failed: " +
                                    elsewhere->message);
    return into.write([&] {
        const heap_sections::half_made building(impl.sections);
        auto loaded = objects::load_dump(impl.memory(), read, types, how.dropped);
        if (!loaded)
            raise(loaded.why());
        return *loaded;
    });
}

} // namespace detail

} // namespace remanence
