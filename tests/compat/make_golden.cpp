// make_golden DIRECTORY: makes the golden files of the format as it is now (CONTRIBUTING.md says when).
#include "golden.hpp"
#include "support/sample_heap.hpp"

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
        keep_killed(sample::ending::unfolded, directory + "/unfolded");
        keep_killed(sample::ending::giving_back, directory + "/giving_back");
    } catch (const std::exception& e) {
        std::cerr << "make_golden: " << e.what() << '\n';
        return 1;
    }
}
