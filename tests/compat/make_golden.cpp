// make_golden DIRECTORY: makes the golden files of the format as it is now (CONTRIBUTING.md says when).
#include "golden.hpp"
#include "support/sample_heap.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace compat = remanence::compat;
namespace os = remanence::os;
namespace sample = remanence::sample;
namespace simulation = remanence::simulation;

void keep(simulation::simulated_disk& disk, const char* path, const std::string& as) {
    auto file = std::move(*disk.open(path, os::access::read_only));
    std::vector<std::byte> bytes(static_cast<std::size_t>(*file->size()));
    if (!file->read(0, bytes))
        throw std::runtime_error("cannot read the simulated file");
    compat::write_compressed(as, bytes);
    std::cout << as << ": " << std::filesystem::file_size(as) << " bytes for " << bytes.size() << '\n';
}

/// Of a closed heap with an arena: its file has a hole of some GiB.
void keep_pages(simulation::simulated_disk& disk, const char* path, const std::string& as) {
    auto file = std::move(*disk.open(path, os::access::read_only));
    compat::file_pages pages;
    std::vector<std::byte> bytes(256 * compat::k_page_bytes);
    const std::uint64_t size = *file->size();
    for (std::uint64_t offset = 0; offset < size; offset += bytes.size()) {
        bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), size - offset)));
        if (!file->read(offset, bytes))
            throw std::runtime_error("cannot read the simulated file");
        for (std::size_t at = 0; at < bytes.size(); at += compat::k_page_bytes) {
            const auto page = std::span(bytes).subspan(at, compat::k_page_bytes);
            const bool is_last = offset + at + page.size() == size; // says how long the file is
            if (is_last || std::ranges::any_of(page, [](std::byte each) { return each != std::byte{}; }))
                pages[offset + at].assign(page.begin(), page.end());
        }
    }
    compat::write_compressed(as, pages);
    std::cout << as << ": " << std::filesystem::file_size(as) << " bytes for " << pages.size() << " pages\n";
}

void keep_killed(sample::ending how, const std::string& as) {
    simulation::simulated_disk disk;
    sample::make(disk, how);
    keep(disk, sample::k_path, as + ".rem.gz");
    keep(disk, sample::k_log_path, as + ".rem-log.gz");
}

} // namespace

int main(int argc, char** argv) {
    try {
        if (argc != 2) {
            std::cerr << "usage: make_golden DIRECTORY\n";
            return 2;
        }
        const std::string directory = argv[1];
        std::filesystem::create_directories(directory);
        simulation::simulated_disk closed;
        sample::make(closed, sample::ending::closed);
        keep(closed, sample::k_path, directory + "/closed.rem.gz");
        simulation::simulated_disk with_arena;
        sample::make_with_arena(with_arena);
        keep_pages(with_arena, sample::k_path, directory + "/arena.rem.pages.gz");
        keep_killed(sample::ending::unapplied, directory + "/unapplied");
        keep_killed(sample::ending::giving_back, directory + "/giving_back");
    } catch (const std::exception& e) {
        std::cerr << "make_golden: " << e.what() << '\n';
        return 1;
    }
}
