#include "program.hpp"

#include <remanence/remanence.hpp>

#include "api/raise.hpp"
#include "inspect/inspection.hpp"
#include "store/heap_copy.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace remanence::faults {

struct shelf {
    std::uint64_t serial = 0;
    remanence::vector<std::uint64_t> numbers;
    remanence::map<std::uint64_t, remanence::string> names;
};

namespace {

struct model {
    std::uint64_t serial = 0;
    std::vector<std::uint64_t> numbers;
    std::map<std::uint64_t, std::string> names;
};

constexpr std::uint64_t k_on_copy = 8;
constexpr std::uint64_t k_removed = 100; // the root is

heap_options options() {
    heap_options how;
    how.memory.chunk_bytes = 64 << 10;
    how.memory.reserve_bytes = 64 << 20;
    how.memory.dirty_limit_bytes = 1;  // some of what is new is spilled
    how.log.log_limit_bytes = 3 << 10; // a checkpoint beside some commits, which one waits for
    return how;
}

std::filesystem::path log_of(const std::filesystem::path& heap_path) { return heap_path.string() + "-log"; }

/// What step k does, to the shelf and to its model alike.
template <class Shelf>
void change(Shelf& s, std::uint64_t k) {
    s.serial = k;
    if (k == 3)
        s.numbers.resize(40'000); // 312 KiB: fresh chunks
    else
        s.numbers.push_back(k);
    for (std::size_t i = 0; i < s.numbers.size(); i += k == 6 ? 1 : 1 + 97 * k) // 6: all of their chunks move
        s.numbers[i] += k;
    if (k == 7 || k == 60) {
        for (std::uint64_t i = 0; i < 14; i++)
            s.names[1000 + i].assign(50'000 + k, static_cast<char>('a' + i));
    }
    s.names.erase(k / 2);
    s.names[k].assign(20 + 300 * k, static_cast<char>('a' + k));
}

model after(std::uint64_t steps) {
    model m;
    for (std::uint64_t k = 1; k <= steps; k++)
        change(m, k);
    return m;
}

model after_on_copy() {
    model m = after(5);
    change(m, k_on_copy);
    return m;
}

bool equals(const shelf& found, const model& expected) {
    if (found.serial != expected.serial || found.numbers.size() != expected.numbers.size() ||
        found.names.size() != expected.names.size())
        return false;
    for (std::size_t i = 0; i < expected.numbers.size(); i++)
        if (found.numbers[i] != expected.numbers[i])
            return false;
    for (const auto& [key, name] : expected.names) {
        const auto at = found.names.find(key);
        if (at == found.names.end() || std::string_view(at->second) != name)
            return false;
    }
    return true;
}

/// What is said when nothing was written, so that the commit may be repeated.
bool wrote_nothing(const error& e) {
    return e.code() == errc::no_space || std::string_view(e.what()).find("random source") != std::string_view::npos;
}

struct found_by_verify : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class program {
public:
    program(const std::filesystem::path& where, bool once, story& told)
        : path_(where / "heap"), copy_(where / "copy"), once_(once), told_(told) {}

    void run(bool replaces) {
        {
            heap h = heap::open(path_, options());
            told_.begun = 1;
            shelf& s = h.root<shelf>("shelf"); // commits an empty one
            h.write([&] { change(s, 1); });
            told_.acknowledged = 1;
            step(h, s, 2);
            step(h, s, 3);
            roll_back(h, s);
            step(h, s, 4);
            h.checkpoint();
            step(h, s, 5);
            copy_open_files();
            verify(h);
            h.close();
        }
        use_copy();
        if (replaces)
            replace_copy();
        heap h = heap::open_existing(path_, options());
        shelf& s = *h.find_root<shelf>("shelf");
        step(h, s, 6);
        h.shrink();
        step(h, s, 7);
        told_.begun = k_removed;
        h.remove_root<shelf>("shelf");
        told_.acknowledged = k_removed;
        h.close();
    }

private:
    void step(heap& h, shelf& s, std::uint64_t k) {
        {
            told_.begun = k;
            std::unique_lock section(h);
            change(s, k);
            try {
                if (k == 7)
                    h.commit_async().wait();
                else
                    h.commit();
            } catch (const error& e) {
                if (!wrote_nothing(e) || !once_)
                    throw;
                h.commit();
                told_.repeated++;
            } catch (const std::bad_alloc&) {
                if (!once_)
                    throw;
                try {
                    h.commit();
                } catch (const error& e) {
                    if (e.code() == errc::poisoned) // then only reopening helps
                        throw std::bad_alloc();
                    throw;
                }
                told_.repeated++;
            }
        }
        told_.acknowledged = k;
    }

    static void roll_back(heap& h, shelf& s) {
        struct enough {};
        try {
            h.write([&] {
                change(s, 60);
                s.numbers.resize(90'000);
                throw enough();
            });
        } catch (const enough&) { // NOLINT(bugprone-empty-catch): thrown for the rollback alone
        }
        h.commit(); // of nothing; but a rollback that failed, perhaps after some pages, has poisoned the heap, and this says so
    }

    /// What could not be read counts as damaged. When that has failed once, it is there after all.
    void verify(heap& h) const {
        const auto first = h.verify();
        if (first.clean())
            return;
        if (once_)
            if (const auto second = h.verify(); !second.clean())
                told_.wrong = "verify() finds problems that stay: " + second.problems.front().what;
        throw found_by_verify("verify() finds: " + first.problems.front().what);
    }

    /// As the death of the process would leave them.
    void copy_open_files() {
        std::filesystem::copy_file(path_, copy_);
        std::filesystem::copy_file(log_of(path_), log_of(copy_));
        told_.copied = true;
    }

    // At another address than the heap's own it cannot be opened, so the heap must be closed.
    void use_copy() {
        heap h = heap::open_existing(copy_, options());
        shelf& s = *h.find_root<shelf>("shelf");
        h.write([&] { change(s, k_on_copy); });
        h.close();
    }

    /// As rem copy --force does it.
    void replace_copy() const {
        os::file_system& files = os::posix_file_system();
        auto closed = inspect::inspection::open(files, path_, {});
        auto copy = closed ? store::copy_in_progress::begin(files, copy_, 0600)
                           : result<std::unique_ptr<store::copy_in_progress>>(closed.error());
        auto done = copy ? (*copy)->update((*closed)->store(), {}) : result<void>(copy.error());
        if (done)
            done = (*copy)->finish(store::existing::replaced);
        if (!done)
            detail::raise(done.why());
    }

    std::filesystem::path path_;
    std::filesystem::path copy_;
    bool once_;
    story& told_;
};

/// Empty when the heap holds what it has after one of these numbers of steps, and can be used.
std::string check_heap(const std::filesystem::path& path, const std::vector<std::uint64_t>& allowed) try {
    heap h = heap::open(path, options());
    if (const auto report = h.verify(); !report.clean())
        return "verify() finds: " + report.problems.front().what;
    const shelf* found = h.find_root<shelf>("shelf");
    bool is_right = false;
    for (const std::uint64_t k : allowed) {
        if (k == k_removed || found == nullptr)
            is_right = is_right || (found == nullptr && (k == k_removed || k == 0));
        else if (k <= 1)
            is_right = is_right || equals(*found, after(k));
        else
            is_right = is_right || equals(*found, k == k_on_copy ? after_on_copy() : after(k));
    }
    if (!is_right)
        return "it holds " + (found == nullptr ? "nothing" : "step " + std::to_string(found->serial));
    h.write([&] { change(h.root<shelf>("shelf"), 9); });
    h.close();
    return {};
} catch (const std::exception& e) {
    return e.what();
}

} // namespace

story run_program(const std::filesystem::path& where, bool once, bool replaces) {
    story told;
    try {
        program(where, once, told).run(replaces);
    } catch (const std::bad_alloc&) {
        told.heard = "bad_alloc";
    } catch (const error& e) {
        told.heard = e.what();
        told.reason = e.reason();
        told.os_error = e.os_error();
    } catch (const found_by_verify& e) {
        told.heard = e.what();
        told.found_by_verify = true;
    } catch (const std::exception& e) {
        told.heard = e.what();
        told.wrong = "an exception that is none of the library's: " + told.heard;
    }
    return told;
}

std::string check_what_is_left(const std::filesystem::path& where, const story& told) {
    if (!told.wrong.empty())
        return told.wrong;
    std::vector<std::uint64_t> allowed{told.acknowledged};
    if (told.begun != told.acknowledged)
        allowed.push_back(told.begun);
    if (told.acknowledged == 0)
        allowed.insert(allowed.end(), {0, 1});
    if (auto wrong = check_heap(where / "heap", allowed); !wrong.empty())
        return "the heap after step " + std::to_string(told.acknowledged) + ": " + wrong;
    if (told.copied)
        if (auto wrong = check_heap(where / "copy", {5, k_on_copy}); !wrong.empty())
            return "the copy: " + wrong;
    return {};
}

std::uint64_t stride_of_faults(std::uint64_t usual) {
    const char* const wanted = std::getenv("REMANENCE_FAULT_STRIDE");
    return wanted != nullptr ? std::max<std::uint64_t>(std::strtoull(wanted, nullptr, 10), 1) : usual;
}

} // namespace remanence::faults
