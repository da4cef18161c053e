// The subcommands. Each prints to standard output and returns the exit code. main() reports exceptions of the library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace remanence::tool {

// Documented in rem.1 and in the help.
enum exit_code {
    exit_ok = 0,
    exit_error = 1,
    exit_usage = 2,
    exit_pointers = 3,
    exit_damage = 4,
    exit_history = 5,
    exit_leaks = 6
};

int info(const std::string& file, bool as_json);
int ls(const std::string& file, bool as_json);
int stat(const std::string& file, bool as_json);
int readers(const std::string& file, bool as_json);
/// What verify() looks for besides damage.
struct verified_too {
    bool pointers = false;
    bool leaks = false;
};
int verify(const std::string& file, verified_too too, bool as_json);
int copy(const std::string& file, const std::string& to, bool force, bool with_history);
// `version` is a number, or the name of a kept version; empty means the last commit.
int schema(const std::string& file, const std::string& version, bool as_cpp);
int get(const std::string& file, const std::string& version, const std::string& object);
int dump(const std::string& file, const std::string& version, const std::string& root, bool as_cbor, bool salvages);
int export_dump(const std::string& file, const std::string& version, const std::string& to, bool as_json);
int load(const std::string& file);
int log(const std::string& file, bool as_json);
/// Changes to the history: those members that are set. If none is set, the command describes the history instead.
struct history_change {
    std::optional<std::uint64_t> bytes, steps;
    bool ends = false;
};
int history(const std::string& file, const history_change& change, bool as_json);
int diff(const std::string& file, const std::string& before, const std::string& after, bool as_json);
int undo(const std::string& file, std::uint64_t steps, bool as_json);
int restore(const std::string& file, const std::string& version, bool as_json);
int keep(const std::string& file, const std::string& name, bool as_json);
int drop(const std::string& file, const std::string& version, bool as_json);
int branch(const std::string& file, const std::string& version, const std::string& to, bool as_json);
int gc(const std::string& file, bool dry_run, bool as_json);
int shrink(const std::string& file, bool as_json);
int relocate(const std::string& file, std::uint64_t base, bool as_json);
int upgrade(const std::string& file, const std::string& application);

} // namespace remanence::tool
