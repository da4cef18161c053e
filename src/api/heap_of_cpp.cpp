// How C++ programs open their heaps. Apart from heap.cpp, since C programs have not what this brings in.
#include "os/file.hpp"
#include "txn/fronts.hpp"

#include <remanence/heap.hpp>

namespace remanence {

heap::heap(const std::filesystem::path& path, const heap_options& options, detail::opening mode, std::string_view abi)
    : heap(os::posix_file_system(), path, options, mode, abi) {
    txn::link_fronts();
}

} // namespace remanence
