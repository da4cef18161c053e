#include "container.hpp"

#include "audit.hpp"
#include "memory.hpp"
#include "report.hpp"
#include "restorer.hpp"
#include "world.hpp"

#include <remanence/error.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>
#include <stdexcept>
#include <utility>

#include <unistd.h>

namespace remanence::softpm {

namespace {

constexpr std::uint64_t k_GiB = std::uint64_t{1} << 30U;
constexpr std::uint64_t k_room = 16 * k_GiB;         // size of the arena's range
constexpr std::uint64_t k_reserve = 80 * k_GiB;      // contains two multiples of k_room at which the arena may begin
constexpr std::uint64_t k_offset_max = 1024 * k_GiB; // limit for offsets in a heap
constexpr const char* k_application = "softpm";

struct alignas(k_page_bytes) page {
    std::byte bytes[k_page_bytes];
};

/// Makes the present call fail with this message.
[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why) {
    throw std::runtime_error(path.string() + ": " + why + ".");
}

void remove_files(const std::filesystem::path& path) {
    std::error_code ignored; // a file that cannot be removed stays as it is
    std::filesystem::remove(path, ignored);
    std::filesystem::remove(path.string() + "-log", ignored);
}

heap_options options_of(const cattr& how) {
    heap_options options;
    options.memory.reserve_bytes = k_reserve;
    options.memory.chunk_bytes = how.chunk_bytes;
    options.checks.application = k_application;
    return options;
}

} // namespace

std::filesystem::path container::path_of(int magic, const cattr& how) {
    const std::filesystem::path folder = how.directory == nullptr ? "." : how.directory;
    return std::filesystem::absolute(folder / ("softpm-" + std::to_string(magic) + ".rem")).lexically_normal();
}

container::container(int magic, std::filesystem::path path, const cattr& how)
    : attributes(how),
      magic_(magic),
      path_(std::move(path)),
      directory_(how.directory == nullptr ? "" : how.directory),
      process_(::getpid()) {
    if (how.directory != nullptr)
        attributes.directory = directory_.c_str();
    map_shadow();
}

std::unique_ptr<container> container::create(int magic, std::uint64_t bytes, const cattr& how) {
    const library_call ours;
    std::unique_ptr<container> made(new container(magic, path_of(magic, how), how));
    made->heap_.emplace(heap::open(made->path_, options_of(how)));
    made->find_directory();
    if (made->listed_ != nullptr)
        throw container_exists(made->path_.string() + ": there is a container with magic " + std::to_string(magic) +
                               " already. Restore it (pCRestore), or choose another number.");
    made->lay_out(bytes);
    made->point();
    made->sync();
    return made;
}

void container::lay_out_tables() {
    listed_ = &heap_->root<directory>(k_root_name);
    const auto take = [this](std::uint64_t size) {
        const std::uint64_t pages = (size + k_page_bytes - 1) / k_page_bytes;
        return static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(heap_->get_allocator<page>().allocate(pages)) -
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
}

void container::lay_out(std::uint64_t bytes) {
    heap_->write([&] {
        lay_out_tables();
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
    made->open_and_check();
    if (bytes && *bytes != made->listed_->structure_bytes)
        refuse(made->path_, "its struct has " + std::to_string(made->listed_->structure_bytes) +
                                " bytes, the program's has " + std::to_string(*bytes));
    made->look_up();
    made->finish_restore();
    return made;
}

void container::find_directory() {
    try {
        listed_ = heap_->find_root<directory>(k_root_name);
    } catch (const error& failure) {
        if (failure.code() != errc::type_mismatch)
            throw;
        refuse(
            path_,
            "it was made by another version of softpm, which has another directory. Restore it with a program that was "
            "compiled by that version");
    }
}

void container::open_and_check() {
    try {
        heap_.emplace(heap::open_existing(path_, options_of(attributes)));
    } catch (const error& failure) {
        if (failure.code() == errc::not_found)
            refuse(path_, "there is no container with magic " + std::to_string(magic_));
        throw;
    }
    find_directory();
    if (listed_ == nullptr)
        refuse(path_, "it was never finished: the process that made it ended meanwhile. Make it anew (pCAlloc)");
    check_directory();
}

void container::finish_restore() {
    restorer work(parts(), *loaded_, attributes.symbol_names != 0);
    try {
        work.run();
    } catch (const std::runtime_error& failure) {
        refuse(path_, failure.what());
    }
    lost_ = work.lost();
    lost_count_ = work.lost_count();
    for (const global_entry& each : listed_->globals)
        look_->globals.push_back({nullptr, each.bytes, each.copy});
    look_->adopt_locks();
    look_->adopt_modules(work.modules_used());
    add_arena(*blocks_);
}

std::unique_ptr<container> container::restore_version(int magic, int version, const cattr& how) {
    const library_call ours;
    std::unique_ptr<container> made(new container(magic, path_of(magic, how), how));
    made->open_and_check();
    const std::unique_ptr<container> old(new container(magic, made->path_of_version(version), how));
    if (!std::filesystem::exists(old->path_))
        refuse(made->path_, "there is no version " + std::to_string(version));
    old->open_and_check();
    old->look_up();
    made->look_up();
    made->take_from(*old);
    made->finish_restore();
    return made;
}

void container::take_from(container& other) {
    const content from = other.parts();
    const content to = parts();
    const auto copy = [](void* into, const void* of, std::uint64_t bytes) {
        if (std::memcmp(into, of, bytes) != 0) // pages that are equal need not be written
            std::memcpy(into, of, bytes);
    };
    const std::uint64_t pages = from.listed.pages_used;
    const auto* const base = static_cast<const std::byte*>(other.heap_->base());
    const auto* const table_from = reinterpret_cast<const std::uint32_t*>(base + from.listed.page_table);
    auto* const table_to =
        reinterpret_cast<std::uint32_t*>(static_cast<std::byte*>(heap_->base()) + to.listed.page_table);
    for (std::uint64_t page = 0; page < pages; ++page) {
        copy(table_to + page, table_from + page, sizeof *table_to);
        copy(to.marks + page * content::k_mark_words, from.marks + page * content::k_mark_words,
             content::k_mark_words * sizeof *to.marks);
        copy(to.flags + page, from.flags + page, 1);
        if (table_from[page] != 0) // 0 means that the page is free
            copy(pointer_to(to.address_at(page * k_page_bytes)), pointer_to(from.address_at(page * k_page_bytes)),
                 k_page_bytes);
    }
    for (std::uint64_t page = pages; page < to.listed.pages_used; ++page) { // make these pages look as if never used
        table_to[page] = 0;
        std::fill_n(to.marks + page * content::k_mark_words, content::k_mark_words, 0);
        to.flags[page] = 0;
    }
    to.listed.pages_used = pages;
    to.listed.words_base = from.listed.words_base;
    to.listed.structure = from.listed.structure;
    to.listed.structure_bytes = from.listed.structure_bytes;
    to.listed.modules = from.listed.modules;
    to.listed.guests = from.listed.guests;
    to.listed.globals = from.listed.globals;
    to.listed.locks = from.listed.locks;
    to.listed.excluded = from.listed.excluded;
    to.listed.names = from.listed.names;
    to.listed.pages_walked = 0;
}

std::filesystem::path container::path_of_version(int version) const {
    std::filesystem::path path = path_;
    return path.replace_extension("version-" + std::to_string(version) + ".rem");
}

std::vector<int> container::versions() const {
    const std::string begin = path_.stem().string() + ".version-";
    std::vector<int> found;
    for (const auto& each : std::filesystem::directory_iterator(path_.parent_path())) {
        const std::string name = each.path().filename().string();
        if (name.starts_with(begin) && each.path().extension() == ".rem")
            found.push_back(std::atoi(name.c_str() + begin.size()));
    }
    std::ranges::sort(found);
    return found;
}

int container::keep_version() {
    check_process();
    const library_call ours;
    const std::vector<int> before = versions();
    const int number = before.empty() ? 1 : before.back() + 1;
    container kept(magic_, path_of_version(number), attributes);
    try {
        kept.heap_.emplace(heap::create(kept.path_, options_of(attributes)));
        kept.heap_->write([&] { // a single commit, so an unfinished file has no directory
            kept.lay_out_tables();
            refresh_modules();
            stopped_world world;
            look_at_written_pages();
            kept.take_from(*this);
            last_point_ = heap_->commit_async();
        });
        kept.heap_->sync();
        sync();
    } catch (...) {
        kept.is_removed_ = true;
        throw;
    }
    drop_old_versions(number);
    return number;
}

void container::drop_old_versions(int newest) const {
    if (attributes.versions_max <= 0)
        return;
    for (const int each : versions())
        if (each <= newest - attributes.versions_max)
            remove_files(path_of_version(each));
}

std::string container::report() {
    const library_call ours;
    refresh_modules();
    const stopped_world world;
    return softpm::report(parts(), *look_, *loaded_);
}

container::~container() {
    const library_call ours;
    if (blocks_) {
        remove_arena(*blocks_);
        clear_marks(pointer_to(blocks_->begin_address()), blocks_->used_bytes());
    }
    blocks_.reset();
    heap_.reset();
    if (!is_removed_)
        return;
    try {
        remove_files(path_);
        for (const int each : versions())
            remove_files(path_of_version(each));
    } catch (const std::exception&) { // memory for the names of files is lacking: these files stay
    }
}

void* container::structure() const { return pointer_to(blocks_->begin_address() + listed_->structure); }

bool container::is_of_this_process() const { return process_ == ::getpid(); }

void container::check_process() const {
    if (!is_of_this_process())
        refuse(path_,
               "a child of fork() can neither take points of its parent's container nor delete it. Let it restore the "
               "container by itself when its parent has ended, or use exec()");
}

void container::remove_files_at_end() {
    check_process();
    is_removed_ = true;
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
    look_->stores_names = attributes.symbol_names != 0;
    const std::byte* const begin = static_cast<const std::byte*>(heap_->base()) + listed_->arena;
    const std::byte* const end = begin + listed_->pages_used * k_page_bytes;
    for (const std::span<const std::byte> each : heap_->changed_ranges())
        for (const std::byte* at = std::max(each.data(), begin); at < std::min(each.data() + each.size(), end);
             at += k_page_bytes) {
            const auto page = static_cast<std::uint64_t>(at - begin) / k_page_bytes;
            // Clears free blocks, so that what was written and freed between two points, such as a journal in memory,
            // is not logged.
            blocks_->clear_free(static_cast<std::uint32_t>(page));
            look_->on_written_page(page);
        }
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
    const critical_section here; // a point of another thread needs the library's locks, which this thread may hold
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

} // namespace remanence::softpm
