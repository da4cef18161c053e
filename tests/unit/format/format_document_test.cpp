// The page that scripts/structs draws from the headers, against the compiler: offsets and sizes of members,
// values of constants. The worked example of docs/format.md is decoded by the code that reads heaps.
#include "base/checksum.hpp"
#include "base/units.hpp"
#include "format/alloc_state.hpp"
#include "format/arena_header.hpp"
#include "format/class_table.hpp"
#include "format/heap_header.hpp"
#include "format/history_event.hpp"
#include "format/log_record.hpp"
#include "format/root_directory.hpp"
#include "format/schema_table.hpp"
#include "format/superblock.hpp"
#include "log/record.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace remanence {
namespace {

using namespace format; // NOLINT(google-build-using-namespace): all of it is printed

struct field {
    std::string name;
    std::size_t offset;
    std::size_t size;
};

struct layout {
    std::string name;
    std::size_t size;
    std::vector<field> fields;
};

#define FIELD(type, member)                                                                                            \
    field { #member, offsetof(type, member), sizeof(type::member) }
#define LAYOUT(type, ...)                                                                                              \
    layout {                                                                                                           \
        #type, sizeof(type), { __VA_ARGS__ }                                                                           \
    }

std::vector<layout> all_layouts() {
    return {
        LAYOUT(superblock, FIELD(superblock, magic), FIELD(superblock, format_version), FIELD(superblock, endianness),
               FIELD(superblock, uuid), FIELD(superblock, sequence), FIELD(superblock, features_compat),
               FIELD(superblock, features_ro_compat), FIELD(superblock, features_incompat),
               FIELD(superblock, checksum_algorithm), FIELD(superblock, flags), FIELD(superblock, chunk_bytes),
               FIELD(superblock, base), FIELD(superblock, epoch), FIELD(superblock, checkpoint_version),
               FIELD(superblock, chain), FIELD(superblock, image_bytes), FIELD(superblock, map),
               FIELD(superblock, versions), FIELD(superblock, region_count), FIELD(superblock, abi),
               FIELD(superblock, regions), FIELD(superblock, log_begin), FIELD(superblock, copy_b_offsets),
               FIELD(superblock, session), FIELD(superblock, application), FIELD(superblock, history),
               FIELD(superblock, log_directory), FIELD(superblock, zero), FIELD(superblock, checksum)),
        LAYOUT(area_reference, FIELD(area_reference, offset), FIELD(area_reference, bytes),
               FIELD(area_reference, checksum), FIELD(area_reference, version), FIELD(area_reference, zero)),
        LAYOUT(region, FIELD(region, heap_offset), FIELD(region, bytes), FIELD(region, table_offset),
               FIELD(region, copy_a_offset), FIELD(region, root)),
        LAYOUT(node_reference, FIELD(node_reference, checksum), FIELD(node_reference, slot),
               FIELD(node_reference, zero)),
        LAYOUT(map_reference, FIELD(map_reference, area_offset), FIELD(map_reference, slot_bytes),
               FIELD(map_reference, count), FIELD(map_reference, checksum), FIELD(map_reference, slot),
               FIELD(map_reference, zero)),
        LAYOUT(chunk_exception, FIELD(chunk_exception, chunk), FIELD(chunk_exception, run_length),
               FIELD(chunk_exception, location), FIELD(chunk_exception, birth_version),
               FIELD(chunk_exception, encoding), FIELD(chunk_exception, zero), FIELD(chunk_exception, stored_bytes)),
        LAYOUT(log_header, FIELD(log_header, magic), FIELD(log_header, format_version), FIELD(log_header, zero),
               FIELD(log_header, uuid), FIELD(log_header, session), FIELD(log_header, epoch),
               FIELD(log_header, superblock_sequence), FIELD(log_header, checksum)),
        LAYOUT(log_header_without_session, FIELD(log_header_without_session, magic),
               FIELD(log_header_without_session, format_version), FIELD(log_header_without_session, zero),
               FIELD(log_header_without_session, uuid), FIELD(log_header_without_session, epoch),
               FIELD(log_header_without_session, superblock_sequence), FIELD(log_header_without_session, checksum)),
        LAYOUT(record_header, FIELD(record_header, magic), FIELD(record_header, session), FIELD(record_header, epoch),
               FIELD(record_header, version), FIELD(record_header, predecessor), FIELD(record_header, durable_through),
               FIELD(record_header, payload_bytes), FIELD(record_header, image_bytes),
               FIELD(record_header, chunk_count), FIELD(record_header, page_count), FIELD(record_header, features),
               FIELD(record_header, checksum)),
        LAYOUT(given_back_chunks, FIELD(given_back_chunks, first), FIELD(given_back_chunks, count)),
        LAYOUT(history_header, FIELD(history_header, magic), FIELD(history_header, format_version),
               FIELD(history_header, zero), FIELD(history_header, uuid), FIELD(history_header, checksum)),
        LAYOUT(history_entry, FIELD(history_entry, magic), FIELD(history_entry, version), FIELD(history_entry, chain),
               FIELD(history_entry, bytes), FIELD(history_entry, checksum)),
        LAYOUT(history_summary, FIELD(history_summary, magic), FIELD(history_summary, offset),
               FIELD(history_summary, entry_checksum), FIELD(history_summary, version), FIELD(history_summary, chain),
               FIELD(history_summary, present), FIELD(history_summary, undo_depth), FIELD(history_summary, redo_depth),
               FIELD(history_summary, steps), FIELD(history_summary, bytes), FIELD(history_summary, kept),
               FIELD(history_summary, rewritten_at), FIELD(history_summary, checksum)),
        LAYOUT(history_event, FIELD(history_event, kind), FIELD(history_event, zero), FIELD(history_event, bytes)),
        LAYOUT(history_limits, FIELD(history_limits, bytes_max), FIELD(history_limits, steps_max),
               FIELD(history_limits, when_full)),
        LAYOUT(step_event, FIELD(step_event, time), FIELD(step_event, name_bytes), FIELD(step_event, flags)),
        LAYOUT(checkout_event, FIELD(checkout_event, state), FIELD(checkout_event, delta_count)),
        LAYOUT(state_event, FIELD(state_event, version), FIELD(state_event, parent), FIELD(state_event, next),
               FIELD(state_event, left), FIELD(state_event, last_version), FIELD(state_event, bytes),
               FIELD(state_event, time), FIELD(state_event, delta_count), FIELD(state_event, name_bytes),
               FIELD(state_event, kept_bytes), FIELD(state_event, flags)),
        LAYOUT(present_event, FIELD(present_event, state), FIELD(present_event, has_ended),
               FIELD(present_event, limits)),
        LAYOUT(number_event, FIELD(number_event, number)),
        LAYOUT(history_delta, FIELD(history_delta, piece_count), FIELD(history_delta, content_bytes)),
        LAYOUT(whole_chunk, FIELD(whole_chunk, chunk_and_copy)),
        LAYOUT(page_change, FIELD(page_change, page_low), FIELD(page_change, page_high),
               FIELD(page_change, range_count), FIELD(page_change, checksum)),
        LAYOUT(change_range, FIELD(change_range, offset), FIELD(change_range, bytes)),
        LAYOUT(heap_header, FIELD(heap_header, magic), FIELD(heap_header, version), FIELD(heap_header, zero),
               FIELD(heap_header, root_word), FIELD(heap_header, schema_offset), FIELD(heap_header, schema_bytes),
               FIELD(heap_header, schema_version), FIELD(heap_header, schema_zero), FIELD(heap_header, type_table),
               FIELD(heap_header, class_table), FIELD(heap_header, allocator)),
        LAYOUT(alloc_state, FIELD(alloc_state, version), FIELD(alloc_state, current_slab),
               FIELD(alloc_state, allocated_bytes), FIELD(alloc_state, free_pages), FIELD(alloc_state, free_run_count),
               FIELD(alloc_state, free_run_root), FIELD(alloc_state, used_pages), FIELD(alloc_state, used_bins),
               FIELD(alloc_state, hole_begin), FIELD(alloc_state, hole_end), FIELD(alloc_state, slab_head),
               FIELD(alloc_state, first_arena), FIELD(alloc_state, reserved)),
        LAYOUT(arena_header, FIELD(arena_header, magic), FIELD(arena_header, next), FIELD(arena_header, pages),
               FIELD(arena_header, sections_ready), FIELD(arena_header, zero),
               FIELD(arena_header, resident_limit_bytes), FIELD(arena_header, reserved), FIELD(arena_header, name),
               FIELD(arena_header, allocator)),
        LAYOUT(page_descriptor, FIELD(page_descriptor, kind), FIELD(page_descriptor, bin), FIELD(page_descriptor, hole),
               FIELD(page_descriptor, count), FIELD(page_descriptor, before), FIELD(page_descriptor, after)),
        LAYOUT(root_directory, FIELD(root_directory, magic), FIELD(root_directory, version),
               FIELD(root_directory, zero), FIELD(root_directory, count), FIELD(root_directory, capacity),
               FIELD(root_directory, table)),
        LAYOUT(schema_table, FIELD(schema_table, magic), FIELD(schema_table, version), FIELD(schema_table, count),
               FIELD(schema_table, bytes)),
        LAYOUT(schema_entry, FIELD(schema_entry, fingerprint_hash), FIELD(schema_entry, fingerprint_algorithm),
               FIELD(schema_entry, shapes), FIELD(schema_entry, classes_hash), FIELD(schema_entry, schema_bytes)),
        LAYOUT(class_table, FIELD(class_table, magic), FIELD(class_table, version), FIELD(class_table, count),
               FIELD(class_table, bytes), FIELD(class_table, used_bytes)),
        LAYOUT(class_entry, FIELD(class_entry, bytes), FIELD(class_entry, position), FIELD(class_entry, object_bytes),
               FIELD(class_entry, virtual_bases), FIELD(class_entry, name_bytes), FIELD(class_entry, fingerprint)),
        LAYOUT(class_virtual_base, FIELD(class_virtual_base, position), FIELD(class_virtual_base, slot),
               FIELD(class_virtual_base, offset)),
        LAYOUT(root_entry, FIELD(root_entry, object), FIELD(root_entry, object_bytes),
               FIELD(root_entry, object_alignment), FIELD(root_entry, description_bytes),
               FIELD(root_entry, fingerprint_hash), FIELD(root_entry, fingerprint_algorithm),
               FIELD(root_entry, name_bytes), FIELD(root_entry, type_bytes), FIELD(root_entry, flags)),
    };
}

/// As the page has them: of each struct lines of offset, size and name.
using drawn_layouts = std::map<std::string, std::string>;

std::string printed(const layout& of) {
    std::ostringstream out;
    for (const field& f : of.fields)
        out << f.offset << ' ' << f.size << ' ' << f.name << '\n';
    out << of.size << '\n';
    return out.str();
}

std::string shown_bytes(const std::array<char, 8>& bytes) {
    static constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 32 && byte < 127)
            text += c;
        else
            text = text + "\\x" + digits[byte >> 4] + digits[byte & 15];
    }
    return text;
}

std::string shown(std::string_view /*name*/, const std::array<char, 8>& bytes) { return shown_bytes(bytes); }
/// A magic word as its bytes lie in the file.
std::string shown(std::string_view name, std::uint64_t value) {
    if (name.ends_with("_magic")) {
        std::array<char, 8> bytes;
        std::memcpy(bytes.data(), &value, sizeof value);
        return shown_bytes(bytes);
    }
    std::ostringstream out;
    if (value >= 10'000'000)
        out << "0x" << std::hex;
    out << value;
    return out.str();
}

#define CONSTANT(name) {#name, shown(#name, name)}

std::map<std::string, std::string> all_constants() {
    constexpr std::uint64_t k_in_copy_b = whole_chunk::k_in_copy_b;
    return {
        CONSTANT(k_page_bytes),
        CONSTANT(k_sector_bytes),
        CONSTANT(k_heap_bytes_max),
        CONSTANT(k_heap_magic),
        CONSTANT(k_copy_magic),
        CONSTANT(k_format_version),
        CONSTANT(k_format_version_oldest),
        CONSTANT(k_endianness),
        CONSTANT(k_checksum_xxh3),
        CONSTANT(k_superblock_bytes),
        CONSTANT(k_superblock_count),
        CONSTANT(k_first_map_offset),
        CONSTANT(k_first_map_slot_bytes),
        CONSTANT(k_first_table_offset),
        CONSTANT(k_copy_alignment),
        CONSTANT(k_chunk_bytes_min),
        CONSTANT(k_chunk_bytes_max),
        CONSTANT(k_region_count_max),
        CONSTANT(k_abi_bytes),
        CONSTANT(k_application_bytes),
        CONSTANT(k_node_bytes),
        CONSTANT(k_node_stride),
        CONSTANT(k_leaf_pages),
        CONSTANT(k_leaf_span),
        CONSTANT(k_region_alignment),
        CONSTANT(k_inner_children),
        CONSTANT(k_feature_copy_b),
        CONSTANT(k_feature_encodings),
        CONSTANT(k_feature_log_directory),
        CONSTANT(k_feature_schema),
        CONSTANT(k_feature_history),
        CONSTANT(k_feature_versions),
        CONSTANT(k_feature_aligned_blocks),
        CONSTANT(k_feature_red_zones),
        CONSTANT(k_feature_longer_blocks),
        CONSTANT(k_flag_clean),
        CONSTANT(k_log_magic),
        CONSTANT(k_log_version),
        CONSTANT(k_log_version_without_session),
        CONSTANT(k_record_magic),
        CONSTANT(k_log_header_bytes),
        CONSTANT(k_log_segment_bytes_min),
        CONSTANT(k_log_segment_bytes_max),
        CONSTANT(k_record_alignment),
        CONSTANT(k_feature_contents_in_log),
        CONSTANT(k_feature_given_back),
        CONSTANT(k_feature_events),
        CONSTANT(k_history_magic),
        CONSTANT(k_history_version),
        CONSTANT(k_entry_magic),
        CONSTANT(k_summary_magic),
        CONSTANT(k_history_header_bytes),
        CONSTANT(k_step_forgets),
        CONSTANT(k_step_migrates),
        CONSTANT(k_step_is_hidden),
        CONSTANT(k_state_is_passed),
        CONSTANT(k_state_is_migrated),
        CONSTANT(k_state_is_hidden),
        CONSTANT(k_is_call),
        CONSTANT(k_piece_offset_shift),
        CONSTANT(k_piece_is_zeros),
        CONSTANT(k_alloc_state_version),
        CONSTANT(k_alloc_section_slots),
        CONSTANT(k_alloc_bin_slots),
        CONSTANT(k_header_magic),
        CONSTANT(k_header_version),
        CONSTANT(k_header_version_with_arenas),
        CONSTANT(k_header_version_with_classes),
        CONSTANT(k_header_version_newest),
        CONSTANT(k_arena_magic),
        CONSTANT(k_arena_pages_min),
        CONSTANT(k_arena_alignment_pages),
        CONSTANT(k_arena_name_bytes),
        CONSTANT(k_directory_magic),
        CONSTANT(k_directory_version),
        CONSTANT(k_root_is_position_independent),
        CONSTANT(k_schemas_magic),
        CONSTANT(k_schemas_version),
        CONSTANT(k_schemas_bytes_max),
        CONSTANT(k_classes_magic),
        CONSTANT(k_classes_version),
        CONSTANT(k_classes_bytes_max),
        CONSTANT(k_stalls_bytes),
        CONSTANT(k_stall_bytes),
        CONSTANT(k_stall_point),
        CONSTANT(k_stalls_max),
        CONSTANT(k_in_copy_b),
    };
}

std::vector<std::string> lines_of(const std::string& path) {
    std::ifstream file(path);
    EXPECT_TRUE(file) << "cannot read " << path;
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);)
        lines.push_back(line);
    return lines;
}

/// "64*48" is the size of an array.
std::size_t drawn_size(const std::string& text) {
    const std::size_t times = text.find('*');
    return std::stoull(text) * (times == std::string::npos ? 1 : std::stoull(text.substr(times + 1)));
}

/// The structs of the page, and its constants with their values. Enumerations are as the header says: nothing is computed.
void read_page(drawn_layouts& layouts, std::map<std::string, std::string>& constants) {
    enum { nothing, fields, values } block = nothing;
    std::string name;
    std::string size;
    const auto end_block = [&] {
        if (block == fields)
            layouts[name] += size + '\n';
        block = nothing;
    };
    for (const std::string& line : lines_of(FORMAT_STRUCTS)) {
        std::istringstream in(line);
        std::string first;
        std::string second;
        std::string third;
        in >> first >> second >> third;
        if (first.empty() || first.starts_with("```")) {
            end_block();
        } else if (line == "constants") {
            block = values;
        } else if (first.ends_with(':') && third == "bytes") {
            block = fields;
            name = first.substr(0, first.size() - 1);
            size = second;
            EXPECT_FALSE(layouts.contains(name)) << name << " is there twice";
            layouts[name] = "";
        } else if (block == values) {
            constants[first] = second;
        } else if (block == fields) {
            layouts[name] += first + ' ' + std::to_string(drawn_size(second)) + ' ' + third + '\n';
        }
    }
}

/// The lines of docs/format.md between a marker and the next end marker; a failed expectation, and none, unless the marker is there
/// once.
std::vector<std::string> section(const std::string& marker) {
    const std::vector<std::string> lines = lines_of(FORMAT_DOCUMENT);
    const std::string begin = "<!-- " + marker + " -->";
    EXPECT_EQ(std::count(lines.begin(), lines.end(), begin), 1) << "docs/format.md must have one line " << begin;
    const auto from = std::find(lines.begin(), lines.end(), begin);
    const auto to = std::find(from, lines.end(), "<!-- end -->");
    if (to == lines.end())
        return {};
    return {from + 1, to};
}

TEST(format_document, draws_every_struct_as_the_compiler_lays_it_out) {
    drawn_layouts drawn;
    std::map<std::string, std::string> constants;
    read_page(drawn, constants);
    drawn_layouts expected;
    for (const layout& each : all_layouts())
        expected[each.name] = printed(each);
    EXPECT_EQ(drawn, expected);
}

TEST(format_document, leaves_no_byte_of_a_struct_undescribed) {
    for (const layout& each : all_layouts()) {
        SCOPED_TRACE(each.name);
        std::size_t end = 0;
        for (const field& f : each.fields) {
            EXPECT_EQ(f.offset, end) << f.name;
            end = f.offset + f.size;
        }
        EXPECT_EQ(end, each.size);
    }
}

TEST(format_document, draws_every_constant_as_the_code_has_it) {
    drawn_layouts layouts;
    std::map<std::string, std::string> drawn;
    read_page(layouts, drawn);
    EXPECT_EQ(drawn, all_constants());
}

/// The bytes of a listing as `hexdump -C` prints it, its first line at offset `first`; lines left out are zeros.
std::vector<std::byte> dumped(const std::string& marker, std::size_t first) {
    std::vector<std::byte> bytes;
    bool gap = false;
    for (const std::string& line : section(marker)) {
        if (line.empty() || line.starts_with("```"))
            continue;
        if (line == "*") {
            gap = true;
            continue;
        }
        std::istringstream in(line.substr(0, line.find('|')));
        std::size_t offset = 0;
        in >> std::hex >> offset;
        EXPECT_TRUE(in) << line;
        EXPECT_TRUE(gap ? offset > first + bytes.size() : offset == first + bytes.size()) << line;
        gap = false;
        bytes.resize(std::max(offset, first) - first);
        for (unsigned byte = 0; in >> std::hex >> byte;)
            bytes.push_back(static_cast<std::byte>(byte));
    }
    return bytes;
}

template <class T>
T decoded(const std::vector<std::byte>& bytes) {
    T value{};
    EXPECT_GE(bytes.size(), sizeof value);
    if (bytes.size() >= sizeof value)
        std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

void expect_zeros(const std::vector<std::byte>& bytes, std::size_t from) {
    for (std::size_t i = from; i < bytes.size(); ++i)
        EXPECT_EQ(bytes[i], std::byte{0}) << "padding, byte " << i;
}

TEST(format_document, shows_a_superblock_and_a_log_header_that_are_valid) {
    const auto block = decoded<superblock>(dumped("dump of the superblock", k_superblock_bytes));
    EXPECT_EQ(block.magic, k_heap_magic);
    EXPECT_EQ(block.format_version, k_format_version);
    const auto of_block = std::as_bytes(std::span(&block, 1)).first(offsetof(superblock, checksum));
    EXPECT_EQ(block.checksum, checksum64(of_block, block.sequence % 2));

    const std::vector<std::byte> bytes = dumped("dump of the log header", 0);
    const auto header = decoded<log_header>(bytes);
    expect_zeros(bytes, sizeof header);
    EXPECT_EQ(header.magic, k_log_magic);
    EXPECT_EQ(header.uuid, block.uuid);
    EXPECT_EQ(header.session, block.session);
    EXPECT_EQ(header.epoch, block.epoch);
    EXPECT_EQ(header.superblock_sequence, block.sequence);
    EXPECT_EQ(header.checksum, checksum64(std::as_bytes(std::span(&header, 1)).first(offsetof(log_header, checksum))));
}

TEST(format_document, shows_a_record_that_is_intact_and_changes_one_word) {
    const auto block = decoded<superblock>(dumped("dump of the superblock", k_superblock_bytes));
    const std::vector<std::byte> bytes = dumped("dump of the record", k_log_header_bytes + k_record_alignment);
    const auto header = decoded<record_header>(bytes);
    ASSERT_TRUE(log::record_is_intact(std::span(bytes).first(sizeof header + header.payload_bytes)));
    expect_zeros(bytes, sizeof header + header.payload_bytes);
    EXPECT_EQ(header.session, block.session);
    EXPECT_EQ(header.epoch, block.epoch);
    EXPECT_EQ(header.durable_through + 1, header.version);

    std::size_t changed = 0;
    EXPECT_TRUE(log::for_each_part(
        std::span(bytes).first(sizeof header + header.payload_bytes), block.chunk_bytes / k_page_bytes,
        [&](const log::placed_chunk&) { ADD_FAILURE() << "a whole chunk"; },
        [&](const log::page_entry& entry) { changed += entry.data.size(); }));
    EXPECT_EQ(changed, sizeof(std::uint64_t));
}

} // namespace
} // namespace remanence
