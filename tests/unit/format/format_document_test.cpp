// docs/format.md against the code. Tables of fields stand in the document between "<!-- layout of NAME -->" and
// "<!-- end -->", the constants between "<!-- constants -->" and "<!-- end -->"; what they must say is printed here
// from the structs, so that a change of either without the other fails. The last column, the meaning, is the document's
// own. The worked example is decoded by the code that reads heaps.
#include "base/checksum.hpp"
#include "format/alloc_state.hpp"
#include "format/arena_header.hpp"
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
               FIELD(superblock, regions), FIELD(superblock, log_begin), FIELD(superblock, second_homes),
               FIELD(superblock, session), FIELD(superblock, application), FIELD(superblock, history),
               FIELD(superblock, log_directory), FIELD(superblock, zero), FIELD(superblock, checksum)),
        LAYOUT(area_reference, FIELD(area_reference, offset), FIELD(area_reference, bytes),
               FIELD(area_reference, checksum), FIELD(area_reference, version), FIELD(area_reference, zero)),
        LAYOUT(region, FIELD(region, heap_offset), FIELD(region, bytes), FIELD(region, table_offset),
               FIELD(region, home_offset), FIELD(region, root)),
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
        LAYOUT(arrival_event, FIELD(arrival_event, state), FIELD(arrival_event, delta_count)),
        LAYOUT(state_event, FIELD(state_event, version), FIELD(state_event, parent), FIELD(state_event, next),
               FIELD(state_event, left), FIELD(state_event, last_version), FIELD(state_event, bytes),
               FIELD(state_event, time), FIELD(state_event, delta_count), FIELD(state_event, name_bytes),
               FIELD(state_event, kept_bytes), FIELD(state_event, flags)),
        LAYOUT(present_event, FIELD(present_event, state), FIELD(present_event, has_ended),
               FIELD(present_event, limits)),
        LAYOUT(history_delta, FIELD(history_delta, piece_count), FIELD(history_delta, content_bytes)),
        LAYOUT(whole_chunk, FIELD(whole_chunk, chunk_and_home)),
        LAYOUT(page_change, FIELD(page_change, page_low), FIELD(page_change, page_high),
               FIELD(page_change, range_count), FIELD(page_change, checksum)),
        LAYOUT(change_range, FIELD(change_range, offset), FIELD(change_range, bytes)),
        LAYOUT(heap_header, FIELD(heap_header, magic), FIELD(heap_header, version), FIELD(heap_header, zero),
               FIELD(heap_header, root_word), FIELD(heap_header, schema_offset), FIELD(heap_header, schema_bytes),
               FIELD(heap_header, schema_version), FIELD(heap_header, schema_zero), FIELD(heap_header, type_table),
               FIELD(heap_header, reserved), FIELD(heap_header, allocator)),
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
        LAYOUT(root_entry, FIELD(root_entry, object), FIELD(root_entry, object_bytes),
               FIELD(root_entry, object_alignment), FIELD(root_entry, description_bytes),
               FIELD(root_entry, fingerprint_hash), FIELD(root_entry, fingerprint_algorithm),
               FIELD(root_entry, name_bytes), FIELD(root_entry, type_bytes), FIELD(root_entry, flags)),
    };
}

/// The table without its last column.
std::string printed(const layout& of) {
    std::ostringstream out;
    out << "| field | offset | size |\n|---|---|---|\n";
    for (const field& f : of.fields)
        out << "| `" << f.name << "` | " << f.offset << " | " << f.size << " |\n";
    out << "| *all* | | " << of.size << " |\n";
    return out.str();
}

template <std::size_t N>
std::string hexadecimal(const std::array<char, N>& bytes) {
    static constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        if (!text.empty())
            text += ' ';
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

/// As the bytes of a little-endian word lie in the file.
std::string magic_word(std::uint64_t word) {
    std::array<char, 8> bytes;
    std::memcpy(bytes.data(), &word, sizeof word);
    return '"' + std::string(bytes.data(), bytes.size()) + '"';
}

std::string printed_constants() {
    std::ostringstream out;
    out << "| constant | value |\n|---|---|\n";
    const auto line = [&](std::string_view name, const auto& value) {
        out << "| `" << name << "` | " << value << " |\n";
    };
    line("k_heap_magic", hexadecimal(k_heap_magic));
    line("k_log_magic", hexadecimal(k_log_magic));
    line("k_record_magic", magic_word(k_record_magic));
    line("k_header_magic", magic_word(k_header_magic));
    line("k_arena_magic", magic_word(k_arena_magic));
    line("k_directory_magic", magic_word(k_directory_magic));
    line("k_schemas_magic", magic_word(k_schemas_magic));
    line("k_history_magic", hexadecimal(k_history_magic));
    line("k_entry_magic", magic_word(k_entry_magic));
    line("k_summary_magic", magic_word(k_summary_magic));
    line("k_format_version", k_format_version);
    line("k_format_version_oldest", k_format_version_oldest);
    line("k_log_version", k_log_version);
    line("k_log_version_without_session", k_log_version_without_session);
    line("k_header_version", k_header_version);
    line("k_header_version_with_arenas", k_header_version_with_arenas);
    line("k_arena_pages_min", k_arena_pages_min);
    line("k_arena_alignment_pages", k_arena_alignment_pages);
    line("k_alloc_state_version", k_alloc_state_version);
    line("k_directory_version", k_directory_version);
    line("k_schemas_version", k_schemas_version);
    line("k_history_version", k_history_version);
    line("k_endianness", k_endianness);
    line("k_checksum_xxh3", k_checksum_xxh3);
    line("k_flag_clean", k_flag_clean);
    line("k_feature_second_homes", k_feature_second_homes);
    line("k_feature_encodings", k_feature_encodings);
    line("k_feature_log_directory", k_feature_log_directory);
    line("k_feature_schema", k_feature_schema);
    line("k_feature_history", k_feature_history);
    line("k_feature_versions", k_feature_versions);
    line("k_feature_aligned_blocks", k_feature_aligned_blocks);
    line("k_feature_guarded_blocks", k_feature_guarded_blocks);
    line("k_feature_contents_in_log", k_feature_contents_in_log);
    line("k_feature_given_back", k_feature_given_back);
    line("k_feature_events", k_feature_events);
    line("k_is_call", k_is_call);
    line("k_page_bytes", k_page_bytes);
    line("k_sector_bytes", k_sector_bytes);
    line("k_superblock_bytes", k_superblock_bytes);
    line("k_first_map_offset", k_first_map_offset);
    line("k_first_map_slot_bytes", k_first_map_slot_bytes);
    line("k_first_table_offset", k_first_table_offset);
    line("k_home_alignment", k_home_alignment);
    line("k_chunk_bytes_min", k_chunk_bytes_min);
    line("k_chunk_bytes_max", k_chunk_bytes_max);
    line("k_region_alignment", k_region_alignment);
    line("k_region_count_max", k_region_count_max);
    line("k_node_bytes", k_node_bytes);
    line("k_node_stride", k_node_stride);
    line("k_leaf_pages", k_leaf_pages);
    line("k_inner_children", k_inner_children);
    line("k_log_header_bytes", k_log_header_bytes);
    line("k_log_segment_bytes_min", k_log_segment_bytes_min);
    line("k_log_segment_bytes_max", k_log_segment_bytes_max);
    line("k_record_alignment", k_record_alignment);
    return out.str();
}

std::vector<std::string> document_lines() {
    std::ifstream file(FORMAT_DOCUMENT);
    EXPECT_TRUE(file) << "cannot read " FORMAT_DOCUMENT;
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);)
        lines.push_back(line);
    return lines;
}

/// The lines between a marker and the next end marker; a failed expectation, and none, unless the marker is there once.
std::vector<std::string> section(const std::string& marker) {
    const std::vector<std::string> lines = document_lines();
    const std::string begin = "<!-- " + marker + " -->";
    EXPECT_EQ(std::count(lines.begin(), lines.end(), begin), 1) << "docs/format.md must have one line " << begin;
    const auto from = std::find(lines.begin(), lines.end(), begin);
    const auto to = std::find(from, lines.end(), "<!-- end -->");
    if (to == lines.end())
        return {};
    return {from + 1, to};
}

std::string without_last_column(const std::vector<std::string>& table) {
    std::string text;
    for (const std::string& row : table) {
        std::string::size_type bar = row.size() > 1 ? row.rfind('|', row.size() - 2) : std::string::npos;
        text += (bar == std::string::npos ? row : row.substr(0, bar + 1)) + '\n';
    }
    return text;
}

TEST(format_document, has_every_table_of_fields_as_the_code_has_it) {
    for (const layout& each : all_layouts()) {
        SCOPED_TRACE(each.name);
        EXPECT_EQ(without_last_column(section("layout of " + each.name)), printed(each));
    }
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

TEST(format_document, has_every_constant_as_the_code_has_it) {
    EXPECT_EQ(without_last_column(section("constants")), printed_constants());
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
