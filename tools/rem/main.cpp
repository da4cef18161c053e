// rem: looks at heaps, checks, copies, loads and upgrades them, and goes back in their history. All but load, upgrade, undo, restore,
// keep, drop and history never change the heap they are given.
#include "commands.hpp"
#include "descriptor.hpp"
#include "report.hpp"
#include "text.hpp"
#include "version_of.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <limits>
#include <optional>
#include <sstream>

namespace remanence::tool {

int exit_code_of(const std::string& file, const inspect::report& found) {
    if (found.problems.empty())
        return exit_ok;
    fmt::print(stderr, "rem: {}\n", problem_text(found.problems.front()));
    fmt::print(stderr, "rem: {} is damaged; \"rem verify\" says what of it is whole.\n", visible(file));
    return exit_damage;
}

namespace {

std::string real_path(const std::string& path) {
    std::error_code unknown;
    const std::filesystem::path place =
        std::filesystem::weakly_canonical(std::filesystem::absolute(path, unknown), unknown);
    return unknown ? path : place.string();
}

constexpr const char* k_about =
    "Looks at Remanence heaps, checks and copies them; load, upgrade, undo, restore, keep, drop and history change\n"
    "them.";

constexpr const char* k_exit_codes =
    "Exit codes: 0 all is well, 1 error, 2 wrong usage, 3 whole, but pointers seem to leave the heap\n"
    "(verify), 4 the heap is damaged, 5 the heap is whole, but its history is not (verify, log).\n"
    "A heap may be open for writing elsewhere, or be opened while rem reads it: rem reads its last\n"
    "commit, and the program does not notice.";

constexpr const char* k_info_examples = "Examples:\n"
                                        "  rem info book.rem\n"
                                        "  rem info --json book.rem | jq .version";
constexpr const char* k_ls_examples = "Examples:\n"
                                      "  rem ls book.rem\n"
                                      "  rem ls --json book.rem | jq -r '.roots[].name'";
constexpr const char* k_stat_examples = "Examples:\n"
                                        "  rem stat book.rem\n"
                                        "  rem stat --json book.rem | jq .memory.allocated_bytes";
constexpr const char* k_readers_examples =
    "Examples:\n"
    "  rem readers book.rem\n"
    "  rem readers --json book.rem | jq '.processes[] | select(.versions_behind > 1000)'";
constexpr const char* k_verify_examples = "Examples:\n"
                                          "  rem verify book.rem\n"
                                          "  rem verify --pointers book.rem\n"
                                          "  rem verify --json book.rem | jq '.roots[] | select(.state == \"whole\")'";
constexpr const char* k_schema_examples = "Examples:\n"
                                          "  rem schema book.rem\n"
                                          "  rem schema --cpp book.rem > book.hpp";
constexpr const char* k_get_examples = "Examples:\n"
                                       "  rem get book.rem 'people[\"KNUTH\"][0].city'\n"
                                       "  rem get book.rem counter\n"
                                       "  rem get book.rem --version 'before import' counter";
constexpr const char* k_dump_examples = "Examples:\n"
                                        "  rem dump book.rem > book.jsonl\n"
                                        "  rem dump book.rem people | jq -c 'select(.k == \"KNUTH\").v'";
constexpr const char* k_load_examples = "Examples:\n"
                                        "  rem load new.rem < book.jsonl\n"
                                        "  ssh host 'rem dump book.rem' | rem load book.rem";
constexpr const char* k_upgrade_examples = "Examples:\n"
                                           "  rem upgrade book.rem\n"
                                           "  rem upgrade --application org.x.book book.rem";
constexpr const char* k_log_examples = "Examples:\n"
                                       "  rem log book.rem\n"
                                       "  rem log --json book.rem | jq '.steps[] | select(.kept != \"\")'";
constexpr const char* k_history_examples = "Examples:\n"
                                           "  rem history book.rem\n"
                                           "  rem history book.rem --steps 1000 --bytes 100000000\n"
                                           "  rem history book.rem --end";
constexpr const char* k_diff_examples = "Examples:\n"
                                        "  rem diff book.rem 12 15\n"
                                        "  rem diff --json book.rem 'before import' 15 | jq .members";
constexpr const char* k_undo_examples = "Examples:\n"
                                        "  rem undo book.rem\n"
                                        "  rem undo book.rem 3";
constexpr const char* k_restore_examples = "Examples:\n"
                                           "  rem restore book.rem 'before import'\n"
                                           "  rem restore book.rem 12";
constexpr const char* k_keep_examples = "Examples:\n"
                                        "  rem keep book.rem 'before import'";
constexpr const char* k_drop_examples = "Examples:\n"
                                        "  rem drop book.rem 'before import'";
constexpr const char* k_export_examples = "Examples:\n"
                                          "  rem export book.rem --version 12 old.jsonl\n"
                                          "  rem export book.rem --version 'before import' old.jsonl";
constexpr const char* k_branch_examples = "Examples:\n"
                                          "  rem branch book.rem 12 old.rem\n"
                                          "  rem branch book.rem 'before import' old.rem";
constexpr const char* k_copy_examples = "Examples:\n"
                                        "  rem copy book.rem backup.rem\n"
                                        "  rem copy --force --history book.rem backup.rem\n"
                                        "  rem copy book.rem - | ssh host 'cat > book.rem'";

int run_command(int argc, char** argv) {
    CLI::App app(k_about, "rem");
    app.set_version_flag("--version", "rem " REM_VERSION, "Print the version and exit");
    app.set_help_flag("-h,--help", "Print this help and exit");
    app.footer(k_exit_codes);
    app.require_subcommand(1);

    const CLI::Validator is_name([](const std::string& name) { return name.empty() ? "the name is empty" : ""; }, "");
    std::string file;
    std::string to;
    std::string application;
    std::string object;
    std::string root;
    bool as_cpp = false;
    bool as_cbor = false;
    bool salvages = false;
    bool as_json = false;
    bool force = false;
    bool with_history = false;
    bool with_pointers = false;
    auto add = [&](const char* name, const char* about, const char* examples) {
        CLI::App* command = app.add_subcommand(name, about);
        command->add_option("FILE", file, "The heap")->required()->type_name("")->check(is_name);
        command->footer(std::string(examples) + "\n\n" + k_exit_codes);
        return command;
    };
    auto add_json = [&](CLI::App* command) { command->add_flag("--json", as_json, "Print one JSON object"); };
    auto* info_command = add("info", "Say what a heap's superblock, header and log say", k_info_examples);
    auto* ls_command = add("ls", "List the roots: names, sizes of their objects, types", k_ls_examples);
    auto* stat_command = add("stat", "Say what the redo log holds, and how the heap's memory is used", k_stat_examples);
    auto* verify_command =
        add("verify", "Read everything; say what is wrong, where, and which roots are whole", k_verify_examples);
    verify_command->add_flag("--pointers", with_pointers,
                             "Also look for words that look like pointers out of the heap");
    auto* readers_command = add("readers", "Say who has a heap open, and who reads and writes", k_readers_examples);
    for (CLI::App* command : {info_command, ls_command, stat_command, verify_command, readers_command})
        add_json(command);
    auto* copy_command = add("copy", "Copy the last commit of a heap, which may be open for writing", k_copy_examples);
    copy_command->add_option("TO", to, "The new file, or - for standard output")
        ->required()
        ->type_name("")
        ->check(is_name);
    copy_command->add_flag("--force", force, "Replace TO if it exists and is not in use");
    copy_command->add_flag("--history", with_history, "Also copy its history, to TO-history");

    auto* schema_command =
        add("schema", "Say what the types of the roots consist of, as the heap has stored it", k_schema_examples);
    schema_command->add_flag("--cpp", as_cpp, "Print a C++ header that declares them");
    auto* get_command = add("get", "Print a part of a root as JSON", k_get_examples);
    get_command->add_option("PATH", object, "A root's name, then .member, [number] or [\"key\"]")
        ->required()
        ->type_name("")
        ->check(is_name);
    auto* dump_command = add("dump", "Print all objects as JSON, one element of a root per line", k_dump_examples);
    dump_command->add_option("ROOT", root, "Only this root")->type_name("")->check(is_name);
    dump_command->add_flag("--cbor", as_cbor, "Print CBOR, which takes fewer bytes");
    auto* salvage_flag =
        dump_command->add_flag("--salvage", salvages, "Leave out what cannot be read or written, and say what it is");

    std::string seen_version;
    for (CLI::App* command : {schema_command, get_command, dump_command})
        command->add_option("--version", seen_version, "As of this version, by number or by the name it is kept by")
            ->type_name("VERSION")
            ->check(is_name);
    salvage_flag->excludes(dump_command->get_option("--version"));

    auto* load_command = add("load", "Make the roots of a dump, read from standard input, in a heap", k_load_examples);
    std::string version;
    std::string other;
    std::uint64_t steps = 1;
    auto add_word = [&](CLI::App* command, const char* name, std::string& into, const char* about) {
        command->add_option(name, into, about)->required()->type_name("")->check(is_name);
    };
    constexpr const char* k_version_about = "A number that rem log shows, or the name of a kept version";
    auto* log_command = add("log", "Say which steps and versions a heap's history has", k_log_examples);
    auto* history_command =
        add("history", "Say what history a heap records, give it other limits, or end it", k_history_examples);
    history_change change;
    const CLI::Range is_limit(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max() / 2);
    auto* bytes_option = history_command->add_option("--bytes", change.bytes, "The steps may keep so many bytes; 0: any");
    auto* steps_option = history_command->add_option("--steps", change.steps, "There may be so many steps; 0: any");
    for (CLI::Option* each : {bytes_option, steps_option})
        each->type_name("N")->check(is_limit);
    history_command->add_flag("--end", change.ends, "End it: its steps and kept versions go, and NAME-history")
        ->excludes(bytes_option, steps_option);
    auto* diff_command = add("diff", "Say what differs between two versions", k_diff_examples);
    add_word(diff_command, "BEFORE", version, k_version_about);
    add_word(diff_command, "AFTER", other, "Likewise");
    auto* undo_command = add("undo", "Take back the last steps of a heap's history", k_undo_examples);
    undo_command->add_option("STEPS", steps, "How many: 1 if it is not given")
        ->type_name("")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000'000}));
    auto* restore_command = add("restore", "Make a heap what it was at a version", k_restore_examples);
    add_word(restore_command, "VERSION", version, k_version_about);
    auto* keep_command = add("keep", "Keep the last commit, whatever the limits of the history", k_keep_examples);
    add_word(keep_command, "NAME", version, "Its name, which is no number");
    const CLI::Validator is_no_number(
        [](const std::string& name) {
            return is_number(name) ? "a number is taken for that of a version" : "";
        },
        "");
    keep_command->get_option("NAME")->check(is_no_number);
    auto* drop_command = add("drop", "Keep a version no longer", k_drop_examples);
    add_word(drop_command, "VERSION", version, k_version_about);
    auto* branch_command = add("branch", "Make a heap of its own of a version", k_branch_examples);
    add_word(branch_command, "VERSION", version, k_version_about);
    add_word(branch_command, "TO", to, "The new file");
    auto* export_command = add("export", "Write all objects of a version to a file, as JSON", k_export_examples);
    export_command->add_option("--version", version, k_version_about)->required()->type_name("VERSION")->check(is_name);
    add_word(export_command, "OUT", to, "The new file");
    for (CLI::App* command : {log_command, history_command, diff_command, undo_command, restore_command, keep_command, drop_command,
                              branch_command, export_command})
        add_json(command);

    auto* upgrade_command = add("upgrade", "Convert a heap of an older format, in place, to the format of this release",
                                k_upgrade_examples);
    const CLI::Validator is_application(
        [](const std::string& name) {
            return inspect::may_be_application(name)
                       ? ""
                       : "it must have 1 to 15 printable characters of ASCII, none of them a space";
        },
        "");
    upgrade_command
        ->add_option("--application", application, "Also record whose heap it is, if nothing is recorded yet")
        ->type_name("NAME")
        ->check(is_application);

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& stop) {
        const bool asked = stop.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success); // --help, --version
        std::ostringstream said;
        (void)app.exit(stop, asked ? std::cout : said, said);
        fmt::print(stderr, "{}", visible_lines(said.str())); // it has what was typed
        return asked ? exit_ok : exit_usage;
    }
    try {
        return info_command->parsed()      ? info(file, as_json)
               : ls_command->parsed()      ? ls(file, as_json)
               : stat_command->parsed()    ? stat(file, as_json)
               : readers_command->parsed() ? readers(file, as_json)
               : verify_command->parsed()  ? verify(file, with_pointers, as_json)
               : copy_command->parsed()    ? copy(file, to, force, with_history)
               : schema_command->parsed()  ? schema(file, seen_version, as_cpp)
               : get_command->parsed()     ? get(file, seen_version, object)
               : dump_command->parsed()    ? dump(file, seen_version, root, as_cbor, salvages)
               : load_command->parsed()    ? load(file)
               : log_command->parsed()     ? log(file, as_json)
               : history_command->parsed() ? history(file, change, as_json)
               : diff_command->parsed()    ? diff(file, version, other, as_json)
               : undo_command->parsed()    ? undo(file, steps, as_json)
               : restore_command->parsed() ? restore(file, version, as_json)
               : keep_command->parsed()    ? keep(file, version, as_json)
               : drop_command->parsed()    ? drop(file, version, as_json)
               : branch_command->parsed()  ? branch(file, version, to, as_json)
               : export_command->parsed()  ? export_dump(file, version, to, as_json)
                                           : upgrade(file, application);
    } catch (const error& stop) {
        if (as_json)
            put(json_object().add("path", real_path(file)).add("error", stop.what()).text() + "\n");
        fmt::print(stderr, "rem: {}\n", visible(stop.what()));
        return is_damage(stop.reason()) ? exit_damage : exit_error;
    }
}

int run(int argc, char** argv) {
    const int code = run_command(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
        fmt::print(stderr, "rem: cannot write to standard output.\n");
        return code == exit_ok ? exit_error : code;
    }
    return code;
}

} // namespace

} // namespace remanence::tool

int main(int argc, char** argv) {
    remanence::tool::take_standard_descriptors(); // nothing that is opened becomes one
    try {
        return remanence::tool::run(argc, argv);
    } catch (const std::exception& stop) { // memory is full
        std::fprintf(stderr, "rem: %s\n", stop.what());
        return remanence::tool::exit_error;
    }
}
