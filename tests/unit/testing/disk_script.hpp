// What the tests of the simulated disk and of its crash states share: one file, written by a script of letters.
#pragma once

#include "base/page_aligned.hpp"
#include "testing/simulated_disk.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace remanence::simulation {

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

inline std::string text_of(os::file_system& files, const std::string& path) {
    auto opened = files.open(path, os::access::read_only);
    if (!opened)
        return "<absent>";
    std::vector<std::byte> bytes(*(*opened)->size());
    if (!(*opened)->read(0, bytes))
        return "<unreadable>";
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline page_aligned_bytes sector_of(char c) { return page_aligned_bytes(512, static_cast<std::byte>(c)); }

// Performs writes, one per letter: 'a' writes a sector of a's at the end, and so on, a capital letter durably; 's' syncs
// the file, 'd' its directory.
inline std::vector<disk_operation> trace_of(simulated_disk& disk, std::string_view script) {
    const auto start = disk.now();
    {
        auto file = std::move(*disk.open_or_create("dir/file", 0600));
        for (const char c : script) {
            if (c == 's')
                EXPECT_TRUE(file->sync("sync"));
            else if (c == 'd')
                EXPECT_TRUE(disk.sync_directory("directory", "dir/file"));
            else if (c < 'a')
                EXPECT_TRUE(file->write_durable("write", "durable", *file->size(), sector_of(c)));
            else
                EXPECT_TRUE(file->write("write", *file->size(), bytes_of(std::string(512, c))));
        }
    }
    auto trace = disk.take_trace();
    disk.rewind({start.changes, start.inodes, 0});
    return trace;
}

// First letter of each sector.
inline std::string sectors_of(os::file_system& files, const std::string& path = "dir/file") {
    std::string text = text_of(files, path);
    if (text.starts_with('<'))
        return text;
    std::string letters;
    for (std::size_t i = 0; i < text.size(); i += 512)
        letters += text[i] == '\0' ? '0' : text[i];
    return letters;
}

} // namespace remanence::simulation
