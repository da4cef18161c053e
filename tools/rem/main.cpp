// rem: shows, checks, copies, loads, collects, shrinks and upgrades heaps, and goes back in their history. Only the
// commands load, gc, shrink, relocate, upgrade, undo, restore, keep, drop and history change the heap that they are given.
#include "commands.hpp"
#include "descriptor.hpp"
#include "report.hpp"
#include "text.hpp"
#include "version_of.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

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
    "Looks at Remanence heaps, checks and copies them; load, gc, shrink, relocate, upgrade, undo, restore, keep, drop\n"
    "and history change them.";

constexpr const char* k_exit_codes =
    "Exit codes: 0 all is well, 1 error, 2 wrong usage, 3 whole, but pointers seem to leave the heap\n"
    "(verify), 4 the heap is damaged, 5 the heap is whole, but its history is not (verify, log),\n"
    "6 whole, but no root reaches some blocks (verify).\n"
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
                                          "  rem verify --leaks book.rem\n"
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
constexpr const char* k_gc_examples = "Examples:\n"
                                      "  rem gc --dry-run book.rem\n"
                                      "  rem gc book.rem && rem shrink book.rem";
constexpr const char* k_shrink_examples = "Examples:\n"
                                          "  rem shrink book.rem\n"
                                          "  rem shrink --json book.rem | jq .file_bytes";
constexpr const char* k_relocate_examples = "Examples:\n"
                                            "  rem relocate book.rem\n"
                                            "  rem relocate --base 0x180000000000 book.rem";
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

/// The command line: its syntax, and what each command does. Each member function that begins with add_ adds some of
/// the commands.
class command_line {
public:
    command_line() {
        app_.set_version_flag("--version", "rem " REM_VERSION, "Print the version and exit");
        app_.set_help_flag("-h,--help", "Print this help and exit");
        app_.footer(k_exit_codes);
        app_.require_subcommand(1);
        add_looks();
        add_copy();
        add_objects();
        add_history();
        add_changes_of_history();
        add_version_files();
        add_changes_of_file();
    }

    int run(int argc, char** argv) {
        try {
            app_.parse(argc, argv);
        } catch (const CLI::ParseError& stop) {
            const bool asked = stop.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success); // --help, --version
            std::ostringstream said;
            (void)app_.exit(stop, asked ? std::cout : said, said);
            // The text repeats what the user typed, so its control characters are made visible.
            fmt::print(stderr, "{}", visible_lines(said.str()));
            return asked ? exit_ok : exit_usage;
        }
        try {
            return commands_.at(app_.get_subcommands().front())();
        } catch (const error& stop) {
            if (as_json_)
                put(json_object().add("path", real_path(file_)).add("error", stop.what()).text() + "\n");
            fmt::print(stderr, "rem: {}\n", visible(stop.what()));
            return is_damage(stop.reason()) ? exit_damage : exit_error;
        }
    }

private:
    CLI::App* add(const char* name, const char* about, const char* examples, std::function<int()> run) {
        CLI::App* const command = app_.add_subcommand(name, about);
        command->add_option("FILE", file_, "The heap")->required()->type_name("")->check(is_name_);
        command->footer(std::string(examples) + "\n\n" + k_exit_codes);
        commands_.emplace(command, std::move(run));
        return command;
    }
    CLI::App* add_with_json(const char* name, const char* about, const char* examples, std::function<int()> run) {
        CLI::App* const command = add(name, about, examples, std::move(run));
        command->add_flag("--json", as_json_, "Print one JSON object");
        return command;
    }
    void add_word(CLI::App* command, const char* name, std::string& into, const char* about) {
        command->add_option(name, into, about)->required()->type_name("")->check(is_name_);
    }

    void add_looks() {
        add_with_json("info", "Say what a heap's superblock, header and log say", k_info_examples,
                      [this] { return info(file_, as_json_); });
        add_with_json("ls", "List the roots: names, sizes of their objects, types", k_ls_examples,
                      [this] { return ls(file_, as_json_); });
        add_with_json("stat", "Say what the redo log holds, and how the heap's memory is used", k_stat_examples,
                      [this] { return stat(file_, as_json_); });
        CLI::App* const verifies =
            add_with_json("verify", "Read everything; say what is wrong, where, and which roots are whole",
                          k_verify_examples, [this] { return verify(file_, verified_too_, as_json_); });
        verifies->add_flag("--pointers", verified_too_.pointers,
                           "Also look for words that look like pointers out of the heap");
        verifies->add_flag("--leaks", verified_too_.leaks, "Also look for blocks that no root reaches");
        add_with_json("readers", "Say who has a heap open, and who reads and writes", k_readers_examples,
                      [this] { return readers(file_, as_json_); });
    }

    void add_copy() {
        CLI::App* const copies = add("copy", "Copy the last commit of a heap, which may be open for writing",
                                     k_copy_examples, [this] { return copy(file_, to_, force_, with_history_); });
        add_word(copies, "TO", to_, "The new file, or - for standard output");
        copies->add_flag("--force", force_, "Replace TO if it exists and is not in use");
        copies->add_flag("--history", with_history_, "Also copy its history, to TO-history");
    }

    void add_objects() {
        CLI::App* const schemas = add("schema", "Say what the types of the roots consist of, as the heap has stored it",
                                      k_schema_examples, [this] { return schema(file_, seen_version_, as_cpp_); });
        schemas->add_flag("--cpp", as_cpp_, "Print a C++ header that declares them");
        CLI::App* const gets = add("get", "Print a part of a root as JSON", k_get_examples,
                                   [this] { return get(file_, seen_version_, object_); });
        add_word(gets, "PATH", object_, "A root's name, then .member, [number] or [\"key\"]");
        CLI::App* const dumps =
            add("dump", "Print all objects as JSON, one element of a root per line", k_dump_examples,
                [this] { return dump(file_, seen_version_, root_, as_cbor_, salvages_); });
        dumps->add_option("ROOT", root_, "Only this root")->type_name("")->check(is_name_);
        dumps->add_flag("--cbor", as_cbor_, "Print CBOR, which takes fewer bytes");
        CLI::Option* const salvages =
            dumps->add_flag("--salvage", salvages_, "Leave out what cannot be read or written, and say what it is");
        for (CLI::App* command : {schemas, gets, dumps})
            command
                ->add_option("--version", seen_version_, "As of this version, by number or by the name it is kept by")
                ->type_name("VERSION")
                ->check(is_name_);
        salvages->excludes(dumps->get_option("--version"));
        add("load", "Make the roots of a dump, read from standard input, in a heap", k_load_examples,
            [this] { return load(file_); });
    }

    void add_history() {
        add_with_json("log", "Say which steps and versions a heap's history has", k_log_examples,
                      [this] { return log(file_, as_json_); });
        CLI::App* const records =
            add_with_json("history", "Say what history a heap records, give it other limits, or end it",
                          k_history_examples, [this] { return history(file_, change_, as_json_); });
        const CLI::Range is_limit(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max() / 2);
        auto* bytes = records->add_option("--bytes", change_.bytes, "The steps may keep so many bytes; 0: any");
        auto* steps = records->add_option("--steps", change_.steps, "There may be so many steps; 0: any");
        for (CLI::Option* each : {bytes, steps})
            each->type_name("N")->check(is_limit);
        records->add_flag("--end", change_.ends, "End it: its steps and kept versions go, and NAME-history")
            ->excludes(bytes, steps);
        CLI::App* const differs = add_with_json("diff", "Say what differs between two versions", k_diff_examples,
                                                [this] { return diff(file_, version_, other_, as_json_); });
        add_word(differs, "BEFORE", version_, k_version_about);
        add_word(differs, "AFTER", other_, "Likewise");
    }

    void add_changes_of_history() {
        add_with_json("undo", "Take back the last steps of a heap's history", k_undo_examples,
                      [this] { return undo(file_, steps_, as_json_); })
            ->add_option("STEPS", steps_, "How many: 1 if it is not given")
            ->type_name("")
            ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000'000}));
        add_word(add_with_json("restore", "Make a heap what it was at a version", k_restore_examples,
                               [this] { return restore(file_, version_, as_json_); }),
                 "VERSION", version_, k_version_about);
        CLI::App* const keeps = add_with_json("keep", "Keep the last commit, whatever the limits of the history",
                                              k_keep_examples, [this] { return keep(file_, version_, as_json_); });
        add_word(keeps, "NAME", version_, "Its name, which is no number");
        keeps->get_option("NAME")->check(CLI::Validator(
            [](const std::string& name) { return is_number(name) ? "a number is taken for that of a version" : ""; },
            ""));
        add_word(add_with_json("drop", "Keep a version no longer", k_drop_examples,
                               [this] { return drop(file_, version_, as_json_); }),
                 "VERSION", version_, k_version_about);
    }

    void add_version_files() {
        CLI::App* const branches = add_with_json("branch", "Make a heap of its own of a version", k_branch_examples,
                                                 [this] { return branch(file_, version_, to_, as_json_); });
        add_word(branches, "VERSION", version_, k_version_about);
        add_word(branches, "TO", to_, "The new file");
        CLI::App* const exports =
            add_with_json("export", "Write all objects of a version to a file, as JSON", k_export_examples,
                          [this] { return export_dump(file_, version_, to_, as_json_); });
        exports->add_option("--version", version_, k_version_about)->required()->type_name("VERSION")->check(is_name_);
        add_word(exports, "OUT", to_, "The new file");
    }

    void add_changes_of_file() {
        add_with_json("gc", "Free the blocks that no root reaches", k_gc_examples, [this] {
            return gc(file_, dry_run_, as_json_);
        })->add_flag("--dry-run", dry_run_, "Only say what would be freed");
        add_with_json("shrink", "Make the file as short as what the heap holds permits", k_shrink_examples,
                      [this] { return shrink(file_, as_json_); });
        add_with_json("relocate", "Move a heap to another address, with all pointers in it", k_relocate_examples,
                      [this] { return relocate(file_, base_, as_json_); })
            ->add_option("--base", base_, "The new address, a multiple of 1 GiB; a free one if it is not given")
            ->type_name("ADDRESS");
        const CLI::Validator is_application(
            [](const std::string& name) {
                return inspect::may_be_application(name)
                           ? ""
                           : "it must have 1 to 15 printable characters of ASCII, none of them a space";
            },
            "");
        add("upgrade", "Convert a heap of an older format, in place, to the format of this release", k_upgrade_examples,
            [this] { return upgrade(file_, application_); })
            ->add_option("--application", application_, "Also record whose heap it is, if nothing is recorded yet")
            ->type_name("NAME")
            ->check(is_application);
    }

    static constexpr const char* k_version_about = "A number that rem log shows, or the name of a kept version";

    CLI::App app_{k_about, "rem"};
    const CLI::Validator is_name_{[](const std::string& name) { return name.empty() ? "the name is empty" : ""; }, ""};
    std::map<const CLI::App*, std::function<int()>> commands_;
    std::string file_;
    std::string to_;
    bool dry_run_ = false;
    std::string application_;
    std::string object_;
    std::string root_;
    std::string seen_version_;
    std::string version_;
    std::string other_;
    std::uint64_t base_ = 0;
    std::uint64_t steps_ = 1;
    history_change change_;
    bool as_cpp_ = false;
    bool as_cbor_ = false;
    bool salvages_ = false;
    bool as_json_ = false;
    bool force_ = false;
    bool with_history_ = false;
    verified_too verified_too_;
};

int run(int argc, char** argv) {
    const int code = command_line().run(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
        fmt::print(stderr, "rem: cannot write to standard output.\n");
        return code == exit_ok ? exit_error : code;
    }
    return code;
}

} // namespace

} // namespace remanence::tool

int main(int argc, char** argv) {
    remanence::tool::take_standard_descriptors(); // so that no file that is opened later becomes standard output
    try {
        return remanence::tool::run(argc, argv);
    } catch (const std::exception& stop) { // memory is lacking
        std::fprintf(stderr, "rem: %s\n", stop.what());
        return remanence::tool::exit_error;
    }
}
