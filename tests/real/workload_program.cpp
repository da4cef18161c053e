// workload_program: the crash suite's workloads (tests/crash/workloads.hpp), run as a process on the real file system.
// The heap is heaps/heap below the working directory.
//
//   list                    names of the workloads; but not of those that only a simulated disk can cut short
//   run NAME SEED           runs one. Each promise is a line on standard output, at that moment: "1 3 4 commit begins":
//                           created, version 3 acknowledged, 4 in flight, why. After each, and after the line "full"
//                           when the disk is, it waits for a byte from standard input, or its end.
//   check NAME SEED CREATED ACKNOWLEDGED IN_FLIGHT
//                           opens what such a run left, after that promise: it is kept in every byte, the full check
//                           passes, and the heap works on. Prints the version found.
//   trace NAME SEED         runs it on the simulated disk and prints the operations, and the promises, in order
//   judge NAME SEED STATES  reads operations as trace prints them, of which syncs may be missing, and tries states in
//                           which a power loss may leave the simulated disk, had it been asked for just these
// Ends with 0; 1: a promise was broken; 2: wrong use; 3: an error was reported.
#include "crash/workloads.hpp"
#include "support/huge_pages.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace remanence::crash; // NOLINT(google-build-using-namespace): this is its program
namespace os = remanence::os;
using kind = remanence::simulation::disk_operation::kind;

std::string text_of(const promise& made, os::call_site what) {
    return std::to_string(made.created ? 1 : 0) + ' ' + std::to_string(made.acknowledged) + ' ' +
           std::to_string(made.in_flight) + ' ' + what.name();
}

/// Tells the process at the other ends of standard input and output.
class pipe_witness final : public witness {
public:
    void promised(const promise& made, os::call_site what) override {
        tell(text_of(made, what));
        (void)hear();
    }
    bool makes_room() override {
        tell("full");
        return hear();
    }

private:
    static void tell(std::string line) {
        line += '\n';
        if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
            throw std::runtime_error("nobody listens");
    }
    static bool hear() {
        char answer = 0;
        ssize_t n = 0;
        do {
            n = ::read(STDIN_FILENO, &answer, 1);
        } while (n < 0 && errno == EINTR);
        return n == 1;
    }
};

class silent_witness final : public witness {
public:
    void promised(const promise&, os::call_site) override {}
    bool makes_room() override { return false; }
};

bool for_real_files(const workload& each) { return !each.cuts_short && each.durable_writes; }

workload named(const std::string& name) {
    for (workload& each : engine_workloads())
        if (each.name == name && for_real_files(each))
            return each;
    throw std::invalid_argument("no workload " + name);
}

/// All phases in order, each of which begins on what the death of the process in the one before left.
template <class Begin>
history run_phases(const workload& what, std::uint64_t seed, const Begin& begin) {
    history past{promise{}};
    for (std::size_t phase = 0; phase < what.phases.size(); phase++) {
        session program = begin(past, seed + 1000 * phase); // as explore() does
        what.phases[phase](program);
        program.expect_health();
    }
    return past;
}

void run(const workload& what, std::uint64_t seed) {
    std::filesystem::create_directory("heaps");
    pipe_witness parent;
    run_phases(what, seed, [&](history& past, std::uint64_t seed_of_phase) {
        return session(os::posix_file_system(), parent, what.open, past, seed_of_phase);
    });
}

struct simulated_run {
    history past;
    trace operations;
};

simulated_run simulate(const workload& what, std::uint64_t seed) {
    remanence::simulation::simulated_disk disk;
    history past = run_phases(what, seed, [&](history& growing, std::uint64_t seed_of_phase) {
        return session(disk, what.open, growing, seed_of_phase);
    });
    return {std::move(past), disk.take_trace()};
}

void check(const workload& what, std::uint64_t seed, promise given) {
    // What each version holds, the simulated run tells.
    const history simulated = simulate(what, seed).past;
    std::map<std::uint64_t, std::shared_ptr<const content>> contents;
    for (const promise& made : simulated) {
        contents[made.acknowledged] = made.acknowledged_content;
        contents[made.in_flight] = made.in_flight_content;
    }
    if (!given.created && given.in_flight == 0) // nothing yet: the version that creation makes, if there is a heap
        given = simulated.front();
    given.acknowledged_content = contents.at(given.acknowledged);
    given.in_flight_content = contents.at(given.in_flight);
    for (std::uint64_t version = given.acknowledged + 1; version < given.in_flight; ++version)
        given.between.push_back(contents.at(version));
    silent_witness nobody;
    history past{given};
    session program(os::posix_file_system(), nobody, what.open, past, seed + 1);
    program.open();
    std::cout << program.opened().version() << '\n';
    program.verify();
    program.change_anything();
    program.commit();
    program.close();
    program.open();
    program.verify();
    program.close();
}

/// "write heaps/heap 0 4096": what, which file, where, how much.
template <class... Words>
std::string line_of(const Words&... words) {
    std::ostringstream line;
    const char* gap = "";
    ((line << gap << words, gap = " "), ...);
    return line.str();
}

/// A line for each operation. Files have the names that they have at the time.
std::vector<std::string> lines_of(const trace& operations, const history& past) {
    std::vector<std::string> lines;
    std::map<std::uint32_t, std::string> names; // by inode
    for (const auto& each : operations) {
        std::string& name = names[each.inode];
        switch (each.what) {
        case kind::write:
        case kind::write_direct:
        case kind::sync_written:
        case kind::reserve:
        case kind::punch:
            lines.push_back(line_of(remanence::simulation::name_of(each.what), name, each.offset, each.bytes));
            break;
        case kind::resize:
            lines.push_back(line_of("resize", name, each.bytes));
            break;
        case kind::sync:
            lines.push_back(line_of("fdatasync", name));
            break;
        case kind::create:
            name = each.path;
            lines.push_back(line_of("create", name));
            break;
        case kind::rename:
            name = each.to;
            lines.push_back(line_of("rename", each.path, name));
            break;
        case kind::remove:
            lines.push_back(line_of("remove", each.path));
            break;
        case kind::sync_directory:
            lines.push_back(line_of("fsync", each.path));
            break;
        case kind::marker:
            lines.push_back(line_of("told", text_of(past[each.bytes], each.where)));
            break;
        }
    }
    return lines;
}

void print_trace(const workload& what, std::uint64_t seed) {
    const simulated_run done = simulate(what, seed);
    for (const std::string& line : lines_of(done.operations, done.past))
        std::cout << line << '\n';
}

void judge(const workload& what, std::uint64_t seed, std::uint64_t states) {
    if (what.phases.size() != 1)
        throw std::invalid_argument(what.name + " has several phases");
    const simulated_run done = simulate(what, seed);
    const std::vector<std::string> lines = lines_of(done.operations, done.past);
    trace performed;
    std::string real;
    bool at_end = !std::getline(std::cin, real);
    for (std::size_t i = 0; i < lines.size(); i++) {
        if (!at_end && real == lines[i]) {
            performed.push_back(done.operations[i]);
            at_end = !std::getline(std::cin, real);
        } else if (!done.operations[i].is_sync()) {
            throw std::invalid_argument("where the simulated run has '" + lines[i] + "', there is '" + real + '\'');
        }
    }
    if (!at_end)
        throw std::invalid_argument("the simulated run has ended, where there is '" + real + '\'');
    const auto report = explore(
        what, {.seed = seed, .states = states, .levels = 1, .performed = [&](const trace&) { return performed; }});
    std::cout << lines.size() - performed.size() << " syncs are missing\n"
              << report.levels[0].states() << " of " << report.levels[0].possible << " states tried\n"
              << std::flush;
    if (!report.violation.empty())
        throw violation(report.violation);
}

int run_command(const std::vector<std::string>& words) {
    const auto number = [&](std::size_t i) { return std::stoull(words.at(i)); };
    const std::string& command = words.at(0);
    if (command == "list") {
        for (const workload& each : engine_workloads())
            if (for_real_files(each))
                std::cout << each.name << '\n';
        return 0;
    }
    const workload what = named(words.at(1));
    const std::uint64_t seed = number(2);
    if (command == "run")
        run(what, seed);
    else if (command == "check")
        check(what, seed, {number(3) != 0, number(4), number(5)});
    else if (command == "trace")
        print_trace(what, seed);
    else if (command == "judge")
        judge(what, seed, number(3));
    else
        throw std::invalid_argument(command);
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL); // never outlives the test
    remanence::test::refuse_huge_pages();
    try {
        return run_command({argv + 1, argv + argc});
    } catch (const operation_failed& reported) {
        std::cerr << reported.what() << '\n';
        return 3;
    } catch (const violation& broken) {
        std::cerr << broken.what() << '\n';
        return 1;
    } catch (const std::logic_error& wrong) { // of arguments
        std::cerr << "workload_program: " << wrong.what() << '\n';
        return 2;
    }
}
