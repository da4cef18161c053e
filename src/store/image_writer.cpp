#include "store/image_writer.hpp"

#include "base/assert.hpp"
#include "format/log_record.hpp"

#include <optional>
#include <utility>

namespace remanence::store {

using format::superblock;

result<std::vector<placed_page>> image_writer::placed(std::span<const applied_page> pages) {
    std::vector<placed_page> found;
    found.reserve(pages.size());
    for (const applied_page& page : pages) {
        REM_TRY(checksums_.set(page.page, page.checksum));
        found.push_back({copies_.copy_of(page.page * k_page_bytes), page.bytes});
    }
    return found;
}

result<void> image_writer::apply(std::span<const applied_page> pages) {
    auto all = placed(pages);
    if (!all)
        return all.error();
    std::vector<std::byte> staging;
    for (std::span<const placed_page> rest(*all); !rest.empty();) {
        auto count = write_run(file_.file(), rest, publication::k_step_bytes, staging);
        if (!count)
            return count.error();
        rest = rest.subspan(*count);
    }
    return {};
}

result<std::unique_ptr<publication>> image_writer::compose(std::span<const applied_page> pages,
                                                           const published_state& state) {
    REM_CHECK(!state.clean || state.log_begin == format::k_log_header_bytes);
    REM_CHECK(supers_.is_confirmed() && !supers_.is_publishing());
    is_ahead_of_file_ = true;
    REM_TRY(checksums_.publish_chunks());
    auto all = placed(pages);
    if (!all)
        return all.error();
    superblock next = supers_.current();
    std::vector<planned_write> nodes;
    REM_TRY(checksums_.take_changed(nodes, next));
    std::optional<planned_write> map_write;
    if (copies_.map().changed()) {
        chunk_map::placed map = copies_.map().place(copies_.next_map_area());
        next.map = map.reference;
        if (!map.write.bytes.empty())
            map_write = std::move(map.write);
    }
    next.checkpoint_version = state.version;
    next.chain = state.chain;
    next.epoch = state.session.epoch;
    next.session = state.session.number;
    next.log_begin = state.log_begin;
    next.image_bytes = copies_.image_bytes();
    next.flags = state.clean ? format::k_flag_clean : 0;
    auto sealed = supers_.sealed(next);
    if (!sealed)
        return sealed.error();
    auto composed = std::make_unique<publication>(file_.file(), file_.syncs(), std::move(*all), std::move(nodes),
                                                  std::move(map_write), *sealed);
    supers_.begin_publication();
    return composed;
}

void image_writer::adopt(const publication& done) {
    REM_CHECK(done.is_done());
    supers_.adopt(done.next());
    copies_.note_checkpoint();
    is_ahead_of_file_ = false;
}

result<void> image_writer::publish(const published_state& state) {
    REM_TRY(supers_.confirm());
    auto composed = compose({}, state);
    if (!composed)
        return composed.error();
    auto carried = (*composed)->carry_out();
    if (carried)
        adopt(**composed);
    else
        supers_.give_up_publication();
    return carried;
}

result<void> image_writer::take_over_structure() {
    REM_TRY(checksums_.take_over());
    copies_.map().take_over();
    return {};
}

} // namespace remanence::store
