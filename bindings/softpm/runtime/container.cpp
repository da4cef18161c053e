#include "container.hpp"

#include "audit.hpp"
#include "memory.hpp"
#include "restorer.hpp"
#include "world.hpp"

#include "api/heap_impl.hpp"
#include "api/raise.hpp"

#include <remanence/error.hpp>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <unistd.h>

namespace remanence::softpm {

namespace {

constexpr std::uint64_t k_GiB = std::uint64_t{1} << 30U;
constexpr std::uint64_t k_room = 16 * k_GiB; // of the arena
constexpr std::uint64_t k_reserve = 40 * k_GiB;
constexpr std::uint64_t k_offset_max = 1024 * k_GiB; // in a heap, of anything
constexpr const char* k_application = "softpm";

struct alignas(k_page_bytes) page {
    std::byte bytes[k_page_bytes];
};

std::filesystem::path path_of(int magic, const cattr& how) {
    const std::filesystem::path folder = how.directory == nullptr ? "." : how.directory;
    return std::filesystem::absolute(folder / ("softpm-" + std::to_string(magic) + ".rem"));
}

/// Throws std::runtime_error, with the sentence of a failed call.
[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why) {
    throw std::runtime_error(path.string() + ": " + why + ".");
}

heap_options options_of(const cattr& how) {
    heap_options options;
    options.reserve_bytes = k_reserve;
    options.chunk_bytes = how.chunk_bytes;
    options.application = k_application;
    return options;
}

} // namespace

container::container(int magic, std::filesystem::path path, const cattr& how)
    : attributes(how), magic_(magic), path_(std::move(path)), process_(::getpid()) {
    map_shadow();
}

std::unique_ptr<container> container::create(int magic, std::uint64_t bytes, const cattr& how) {
    const library_call ours;
    std::unique_ptr<container> made(new container(magic, path_of(magic, how), how));
    made->heap_.emplace(heap::open(made->path_, options_of(how)));
    made->listed_ = made->heap_->find_root<directory>(k_root_name);
    if (made->listed_ != nullptr)
        refuse(made->path_, "there is a container with magic " + std::to_string(magic) +
                                " already. Restore it (pCRestore), or choose another number");
    made->lay_out(bytes);
    made->point();
    made->sync();
    return made;
}

void container::lay_out(std::uint64_t bytes) {
    heap_->write([&] {
        listed_ = &heap_->root<directory>(k_root_name);
        const auto take = [this](std::uint64_t size) {
            const std::uint64_t pages = (size + k_page_bytes - 1) / k_page_bytes;
            return static_cast<std::uint64_t>(
                reinterpret_cast<std::byte*>(heap_->get_allocator<page>().allocate(pages)) -
                static_cast<std::byte*>(heap_->base()));
        };
        listed_->magic = magic_;
        listed_->pages_max = k_room / k_page_bytes;
        listed_->page_table = take(listed_->pages_max * sizeof(std::uint32_t));
        listed_->marks = take(listed_->pages_max * content::k_mark_words * sizeof(std::uint64_t));
        listed_->flags = take(listed_->pages_max);
        listed_->arena = take(k_room);
        listed_->words_base = address_of(heap_->base()) + listed_->arena;
        look_up();
        void* const structure = blocks_->allocate(bytes);
        std::memset(structure, 0, bytes);
        listed_->structure = address_of(structure) - blocks_->begin_address();
        listed_->structure_bytes = bytes;
    });
    add_arena(*blocks_);
}

void container::look_up() {
    auto* const base = static_cast<std::byte*>(heap_->base());
    blocks_.emplace(arena::parts{base + listed_->arena, static_cast<std::uint32_t>(listed_->pages_max),
                                 reinterpret_cast<std::uint32_t*>(base + listed_->page_table), &listed_->pages_used});
    refresh_modules();
    look_.emplace(parts(), *loaded_);
}

content container::parts() {
    auto* const base = static_cast<std::byte*>(heap_->base());
    return {*listed_, *blocks_, reinterpret_cast<std::uint64_t*>(base + listed_->marks),
            reinterpret_cast<std::uint8_t*>(base + listed_->flags)};
}

void container::check_directory() const {
    if (listed_->version != k_directory_version)
        refuse(path_, "it was made by another version of softpm (" + std::to_string(listed_->version) + ", not " +
                          std::to_string(k_directory_version) + ")");
    const auto* const base = static_cast<const std::byte*>(heap_->base());
    const auto fits = [&](std::uint64_t offset, std::uint64_t bytes) {
        return offset % k_page_bytes == 0 && offset < k_offset_max && bytes != 0 && bytes <= k_room &&
               heap_of(base + offset) == &*heap_ && heap_of(base + offset + bytes - 1) == &*heap_;
    };
    if (listed_->magic != magic_ || listed_->pages_max > k_room / k_page_bytes ||
        listed_->pages_used > listed_->pages_max || !fits(listed_->arena, listed_->pages_max * k_page_bytes) ||
        !fits(listed_->page_table, listed_->pages_max * sizeof(std::uint32_t)) ||
        !fits(listed_->marks, listed_->pages_max * content::k_mark_words * sizeof(std::uint64_t)) ||
        !fits(listed_->flags, listed_->pages_max))
        refuse(path_, "its directory is damaged; `rem verify` says more of the file");
}

std::unique_ptr<container> container::restore(int magic, std::optional<std::uint64_t> bytes, const cattr& how) {
    const library_call ours;
    std::unique_ptr<container> made(new container(magic, path_of(magic, how), how));
    try {
        made->heap_.emplace(heap::open_existing(made->path_, options_of(how)));
    } catch (const error& failure) {
        if (failure.code() == errc::not_found)
            refuse(made->path_, "there is no container with magic " + std::to_string(magic));
        throw;
    }
    made->listed_ = made->heap_->find_root<directory>(k_root_name);
    if (made->listed_ == nullptr)
        refuse(made->path_, "it was never finished: the process that made it ended meanwhile. Make it anew (pCAlloc)");
    made->check_directory();
    if (bytes && *bytes != made->listed_->structure_bytes)
        refuse(made->path_, "its struct has " + std::to_string(made->listed_->structure_bytes) +
                                " bytes, the program's has " + std::to_string(*bytes));
    made->look_up();
    restorer work(made->parts(), *made->loaded_);
    try {
        work.run();
    } catch (const std::runtime_error& failure) {
        refuse(made->path_, failure.what());
    }
    made->lost_ = work.lost();
    made->lost_count_ = work.lost_count();
    for (const global_entry& each : made->listed_->globals)
        made->look_->globals.push_back({nullptr, each.bytes, each.copy});
    made->look_->adopt_locks();
    add_arena(*made->blocks_);
    return made;
}

container::~container() {
    const library_call ours;
    if (blocks_) {
        remove_arena(*blocks_);
        clear_marks(pointer_to(blocks_->begin_address()), blocks_->used_bytes());
    }
    blocks_.reset();
    heap_.reset();
}

void* container::structure() const { return pointer_to(blocks_->begin_address() + listed_->structure); }

void container::check_process() const {
    if (process_ != ::getpid())
        refuse(path_,
               "a child of fork() cannot take a point of its parent's container. Let it restore the container by "
               "itself when its parent has ended, or use exec()");
}

void container::refresh_modules() {
    const std::uint64_t now = loads_so_far();
    if (loaded_ && now == loads_)
        return;
    loads_ = now;
    loaded_ = modules::now();
    if (look_)
        look_->set_modules(*loaded_);
}

void container::look_at_written_pages() {
    look_->begin();
    auto pages = detail::impl_of(*heap_).engine().written_pages();
    if (!pages)
        detail::raise(pages.why());
    const std::uint64_t begin = listed_->arena;
    const std::uint64_t end = begin + listed_->pages_used * k_page_bytes;
    for (const heap_range& each : *pages)
        for (std::uint64_t at = std::max(each.offset, begin); at < std::min(each.offset + each.bytes, end);
             at += k_page_bytes)
            look_->on_written_page((at - begin) / k_page_bytes);
    look_->finish();
    if (is_audit_on())
        audit(parts(), *loaded_);
}

void container::point() {
    check_process();
    const library_call ours;
    refresh_modules();
    stopped_world world;
    look_at_written_pages();
    if (attributes.durability != P_DURABLE) {
        heap_->commit(attributes.durability == P_LAZY ? durability::lazy : durability::none);
        return;
    }
    last_point_ = heap_->commit_async();
    world.go_on();
    if (attributes.synchronous != 0)
        sync();
}

void container::sync() {
    check_process();
    const library_call ours;
    const critical_section here; // this thread may hold locks of the library, which another one's point needs
    if (last_point_)
        last_point_->wait();
    heap_->sync();
}

void container::exclude(void* pointer) {
    const block found = blocks_->find(address_of(pointer));
    if (found.begin == nullptr)
        refuse(path_, "pExclude: no block of this container begins or lies at this address");
    blocks_->exclude(found);
}

void container::add_global(void* variable, std::uint64_t bytes) {
    if (variable == nullptr || bytes == 0 || address_of(variable) % k_word_bytes != 0)
        refuse(path_, "pGlobal: a variable has an address, a multiple of 8, and a size");
    const auto stored = std::ranges::find_if(look_->globals, [](const auto& each) { return each.variable == nullptr; });
    if (stored == look_->globals.end()) {
        look_->globals.push_back({static_cast<std::byte*>(variable), bytes, 0});
        return;
    }
    if (stored->bytes != bytes)
        refuse(path_, "pGlobal: variable " + std::to_string(stored - look_->globals.begin() + 1) + " has " +
                          std::to_string(bytes) + " bytes, but had " + std::to_string(stored->bytes) +
                          " when it was stored");
    stored->variable = static_cast<std::byte*>(variable);
    const std::byte* const copy = pointer_to(blocks_->begin_address() + stored->copy);
    std::memcpy(variable, copy, bytes);
    copy_marks(variable, copy, bytes);
}

void container::remove_files(const std::filesystem::path& path) {
    std::filesystem::remove(path);
    std::filesystem::remove(path.string() + "-log");
}

} // namespace remanence::softpm
