#include "log_structured.hpp"

#include <leveldb_library.hpp>

system_kind leveldb_system() {
    const auto open = [](const std::filesystem::path& directory, bool duplicates) {
        return std::make_unique<log_structured_store<bench::leveldb_library>>(directory, duplicates);
    };
    return {.name = "LevelDB", .open = open};
}
