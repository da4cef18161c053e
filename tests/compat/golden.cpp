#include "golden.hpp"

#include <zlib.h>

#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>

namespace remanence::compat {

namespace {

using gz = std::unique_ptr<gzFile_s, int (*)(gzFile)>;

gz open(const std::string& path, const char* mode) {
    gz file(::gzopen(path.c_str(), mode), &::gzclose);
    if (!file)
        throw std::runtime_error("cannot open " + path);
    return file;
}

} // namespace

void write_compressed(const std::string& path, const std::vector<std::byte>& bytes) {
    gz file = open(path, "wb9");
    if (::gzwrite(file.get(), bytes.data(), static_cast<unsigned>(bytes.size())) != static_cast<int>(bytes.size()))
        throw std::runtime_error("cannot write " + path);
    if (::gzclose(file.release()) != Z_OK)
        throw std::runtime_error("cannot write " + path);
}

std::vector<std::byte> read_compressed(const std::string& path) {
    const gz file = open(path, "rb");
    std::vector<std::byte> bytes;
    for (;;) {
        constexpr std::size_t k_step = 1 << 20;
        const std::size_t had = bytes.size();
        bytes.resize(had + k_step);
        const int got = ::gzread(file.get(), bytes.data() + had, k_step);
        if (got < 0)
            throw std::runtime_error("cannot read " + path);
        bytes.resize(had + static_cast<std::size_t>(got));
        if (got == 0)
            return bytes;
    }
}

void write_compressed(const std::string& path, const file_pages& pages) {
    std::vector<std::byte> bytes;
    for (const auto& [offset, page] : pages) {
        const auto word = std::as_bytes(std::span(&offset, 1));
        bytes.insert(bytes.end(), word.begin(), word.end());
        bytes.insert(bytes.end(), page.begin(), page.end());
    }
    write_compressed(path, bytes);
}

file_pages read_compressed_pages(const std::string& path) {
    const std::vector<std::byte> bytes = read_compressed(path);
    file_pages pages;
    for (auto at = bytes.begin(); at != bytes.end(); at += k_page_bytes) {
        std::uint64_t offset = 0;
        std::memcpy(&offset, &*at, sizeof offset);
        at += sizeof offset;
        pages[offset].assign(at, at + k_page_bytes);
    }
    return pages;
}

} // namespace remanence::compat
