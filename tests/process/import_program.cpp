// import_program HEAP PAGE_FD PIPE_FD ACKNOWLEDGED VERIFY: goes on with an import, commit by commit, and tells through
// the pipe how far it found it, and of each commit once it has returned. Checks first that the heap holds all
// acknowledged commits, perhaps one more, and nothing partial. Closes the heap after the last; rarely, since its fate
// is to be killed.
#include "address_import.hpp"
#include "commit_phases.hpp"

#include "api/heap_impl.hpp"
#include "store/heap_file.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>

namespace {

using namespace address_import; // NOLINT(google-build-using-namespace): this is its program
using remanence::test::phase;
using remanence::test::phase_recorder;
using remanence::test::progress_page;

struct arguments {
    std::string path;
    int pipe;
    std::uint64_t acknowledged;
    bool verify;
};

void tell(const arguments& with, std::uint64_t commit) {
    if (::write(with.pipe, &commit, sizeof commit) != sizeof commit)
        throw std::runtime_error("the pipe is broken");
}

bool say(const std::string& fault) {
    std::cerr << "import_program: " << fault << '\n';
    return false;
}

bool check(rem::heap& heap, const address_book& book, const position& where, const arguments& with) {
    if (where.commits < with.acknowledged || where.commits > with.acknowledged + 1) {
        return say("acknowledged are " + std::to_string(with.acknowledged) + " commits, there are " +
                   std::to_string(where.commits));
    }
    if (auto fault = find_fault(book, where))
        return say(*fault);
    if (!with.verify)
        return true;
    const auto report = heap.verify();
    for (const auto& problem : report.problems)
        say("verify: " + problem.what + " at byte " + std::to_string(problem.offset));
    return report.clean();
}

bool import(const arguments& with, progress_page& page) {
    phase_recorder recorder(page);
    remanence::test::observed_file_system files(remanence::os::posix_file_system(), recorder);
    recorder.enter(std::filesystem::exists(remanence::store::log_path(with.path)) ? phase::recovery : phase::opening);
    rem::heap heap = remanence::detail::open(files, with.path, options());
    recorder.enter(phase::opening);
    auto& book = heap.root<address_book>("book");
    auto& where = heap.root<position>("position");
    if (!check(heap, book, where, with))
        return false;
    tell(with, where.commits); // its process was killed before it could, perhaps; what was seen once stays as well

    page.importing.store(true);
    while (where.commits < k_commits) {
        recorder.enter(phase::working);
        heap.write([&] {
            add_batch(book, where);
            recorder.enter(phase::computing);
        });
        recorder.enter(phase::working);
        tell(with, where.commits);
    }
    page.importing.store(false);
    recorder.enter(phase::closing);
    heap.close();
    return true;
}

} // namespace

int main(int argc, char** argv) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL); // never outlives the test
    if (argc != 6)
        return 2;
    void* page = ::mmap(nullptr, sizeof(progress_page), PROT_READ | PROT_WRITE, MAP_SHARED, std::atoi(argv[2]), 0);
    if (page == MAP_FAILED)
        return 2;
    const arguments with{argv[1], std::atoi(argv[3]), std::strtoull(argv[4], nullptr, 10), argv[5][0] == '1'};
    try {
        return import(with, *static_cast<progress_page*>(page)) ? 0 : 1;
    } catch (const std::exception& why) {
        say(why.what());
        return 1;
    }
}
