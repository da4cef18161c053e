#include "testing/disk_operation.hpp"

#include "base/units.hpp"

#include <cstdio>

namespace remanence::simulation {

using kind = disk_operation::kind;

const char* name_of(kind what) {
    switch (what) {
    case kind::write:
        return "write";
    case kind::write_direct:
        return "write_direct";
    case kind::resize:
        return "resize";
    case kind::reserve:
        return "reserve";
    case kind::punch:
        return "punch";
    case kind::sync:
        return "sync";
    case kind::sync_written:
        return "sync_written";
    case kind::create:
        return "create";
    case kind::rename:
        return "rename";
    case kind::remove:
        return "remove";
    case kind::sync_directory:
        return "sync_directory";
    case kind::marker:
        return "marker";
    }
    return "?";
}

std::size_t written_before(std::span<const disk_operation> operations, const disk_operation& sync) {
    for (std::size_t i = operations.size(); i > 0; --i) {
        const disk_operation& each = operations[i - 1];
        if (each.is_write() && each.inode == sync.inode && each.offset == sync.offset && each.bytes == sync.bytes)
            return i - 1;
    }
    return operations.size();
}

std::uint32_t disk_operation::sectors() const {
    if (!is_write() || bytes == 0)
        return 0;
    return static_cast<std::uint32_t>((offset + bytes - 1) / k_sector_bytes - offset / k_sector_bytes + 1);
}

std::string disk_operation::describe() const {
    std::string text = name_of(what);
    if (failed)
        text += " (failed)";
    text += std::string(" \"") + where.name() + '"';
    if (!path.empty())
        text += ' ' + path;
    if (!to.empty())
        text += " to " + to;
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, " inode %u [%llu, +%llu)", inode, static_cast<unsigned long long>(offset),
                  static_cast<unsigned long long>(bytes));
    return text + numbers;
}

std::string_view directory_of(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

} // namespace remanence::simulation
