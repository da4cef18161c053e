// drawing_demo: a drawing is edited, undone, redone and edited another way; then processes that do so at random are killed, and each
// leaves the drawing as of its last command.
#include "drawing.hpp"

#include "arguments.hpp"
#include "temporary_directory.hpp"
#include "terminal.hpp"

#include <signal.h> // NOLINT(modernize-deprecated-headers): kill
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <new>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace {

using namespace examples;
using terminal::counted;
using terminal::duration;

constexpr int k_width = 60;
constexpr int k_height = 14;

constexpr std::string_view k_usage = R"(usage: drawing_demo [FILE] [--svg NAME] [--kills N] [--run-ms N] [--seed N]

Edits a drawing in FILE (new; kept) or in a temporary directory (removed), undoes and redoes, prints it, and writes it to NAME
(drawing.svg). Then a process edits, undoes and redoes at random, and is killed with signal 9 after up to --run-ms (200); N (5) times, each
time another one goes on with the drawing and its history. After each, all steps of all processes are undone and redone.

exit status: 0 all is well   1 something is wrong   2 wrong usage
)";

rem::heap open(const std::filesystem::path& file) {
    return rem::heap::open(file, {.history = {.bytes_max = 64 << 20, .kept_over_sessions = true}});
}

/// What a process tells before it is killed, in memory that it shares with the demo: pictures by their hash.
struct report {
    std::atomic<bool> has_begun = false;
    std::atomic<std::size_t> acknowledged = 0; ///< what its last command left
    std::atomic<std::size_t> begun = 0;        ///< what the one that is under way leaves
    std::atomic<std::uint64_t> commands = 0;

    /// What the states of the history look like, as far as a process lived to tell: by version.
    struct known_state {
        std::uint64_t version;
        std::size_t picture;
    };
    std::atomic<std::size_t> known_count = 0;
    std::array<known_state, 1 << 16> known{};
    [[nodiscard]] std::map<std::uint64_t, std::size_t> all_known() const {
        std::map<std::uint64_t, std::size_t> all;
        for (std::size_t i = 0; i != known_count; ++i)
            all[known[i].version] = known[i].picture;
        return all;
    }
    void tell(const known_state& state) {
        if (known_count == known.size())
            return;
        known[known_count] = state;
        ++known_count; // what it is killed before does not count
    }
};

class shared_report {
public:
    shared_report()
        : memory_(::mmap(nullptr, sizeof(report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
        if (memory_ == MAP_FAILED)
            throw std::system_error(errno, std::generic_category(), "mmap");
        new (memory_) report;
    }
    shared_report(const shared_report&) = delete;
    shared_report& operator=(const shared_report&) = delete;
    ~shared_report() { ::munmap(memory_, sizeof(report)); }
    report& operator*() const { return *static_cast<report*>(memory_); }
    report* operator->() const { return &**this; }

private:
    void* memory_;
};

std::size_t hash_of(const document& of) { return std::hash<std::string>{}(as_svg(of, k_width, k_height)); }

/// Edits, undoes and redoes until it is killed.
class editor {
public:
    editor(rem::heap& heap, std::uint64_t seed, report& told)
        : heap_(heap), drawing_(heap), told_(told), dice_(seed), known_(told.all_known()) {
        note();
        told_.begun = told_.acknowledged.load();
        told_.has_begun = true;
    }

    [[noreturn]] void run() {
        for (;;) {
            const int what = below(10);
            if (what < 3 && may_undo())
                undo();
            else if (what < 5 && !undone_.empty())
                redo();
            else
                edit();
            note();
            ++told_.commands;
        }
    }

private:
    int below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(dice_); }
    void note() {
        const std::size_t now = hash_of(drawing_.contents());
        if (known_.emplace(present(), now).second)
            told_.tell({present(), now});
        told_.acknowledged = now;
    }
    [[nodiscard]] std::uint64_t present() const {
        const auto steps = heap_.history();
        return std::find_if(steps.begin(), steps.end(), [](const auto& each) { return each.is_present; })->version;
    }
    /// It has to tell what that leads to, also when it is of another process.
    [[nodiscard]] bool may_undo() const {
        const auto steps = heap_.history();
        const auto here = std::find_if(steps.begin(), steps.end(), [](const auto& each) { return each.is_present; });
        return here->parent && known_.contains(*here->parent);
    }
    void undo() {
        const auto steps = heap_.history();
        const auto here = std::find_if(steps.begin(), steps.end(), [](const auto& each) { return each.is_present; });
        told_.begun = known_.at(here->parent.value());
        undone_.push_back(here->version);
        heap_.undo();
    }
    void redo() {
        told_.begun = known_.at(undone_.back());
        undone_.pop_back();
        heap_.redo();
    }
    /// What it leaves is told before it is committed, within its section.
    void edit() {
        heap_.write("edit", [&] {
            const auto& shapes = drawing_.contents().shapes;
            const int what = below(8);
            const auto any = [&] { return shapes[static_cast<std::size_t>(below(static_cast<int>(shapes.size())))]; };
            if (shapes.empty() || what < 3)
                drawing_.box(below(k_width), below(k_height), below(10), below(4));
            else if (what == 3)
                drawing_.circle(below(k_width), below(k_height), 1 + below(3));
            else if (what < 6)
                drawing_.move(any(), below(5) - 2, below(5) - 2);
            else if (what == 6 && shapes.size() > 1)
                drawing_.combine({shapes.front(), shapes.back()});
            else
                drawing_.remove(any());
            told_.begun = hash_of(drawing_.contents());
        });
        undone_.clear();
    }

    rem::heap& heap_;
    drawing drawing_;
    report& told_;
    std::mt19937_64 dice_;
    std::map<std::uint64_t, std::size_t> known_; // what each version looks like
    std::vector<std::uint64_t> undone_;          // that can be redone, the next one last
};

struct settings {
    std::filesystem::path file;
    std::filesystem::path svg;
    std::uint64_t kills = 5;
    std::chrono::milliseconds run{200};
    std::uint64_t seed = 0;
};

class demo {
public:
    explicit demo(settings chosen) : chosen_(std::move(chosen)), look_(STDOUT_FILENO), dice_(chosen_.seed) {}

    bool run() {
        draw();
        line(look_.bold("Now it is edited at random, by processes that are killed.") + " Seed " +
             std::to_string(chosen_.seed) + ".");
        for (std::uint64_t kill = 1; kill <= chosen_.kills; ++kill)
            edit_and_kill(kill);
        line(problems_ == 0 ? look_.good("\nEach drawing was as its last command left it, and so was its history.")
                            : look_.bad("\nFAILED: " + counted(problems_, "problem")));
        return problems_ == 0;
    }

private:
    static void line(const std::string& text) { std::cout << text << '\n' << std::flush; }
    void problem(const std::string& text) {
        ++problems_;
        line(look_.bad("WRONG: ") + text);
    }
    void show(const std::string& what, const drawing& shown) {
        if (!what.empty())
            line(look_.bold(what));
        line(as_text(shown.contents(), k_width, k_height));
    }

    void draw() {
        rem::heap heap = open(chosen_.file);
        drawing page(heap);
        shape* const wall = page.box(8, 6, 20, 6);
        shape* const left = page.line(6, 6, 18, 1, '/');
        shape* const right = page.line(18, 1, 30, 6, '\\');
        shape* const house = page.combine({wall, left, right});
        page.circle(48, 3, 2);
        show("A house and the sun, by five commands.", page);

        page.move(house, 12, 1);
        page.remove(house);
        show("The house is moved and deleted.", page);
        const std::uint64_t without = heap.version();
        time("Two steps are undone", [&] { heap.undo(2); });
        show("", page);
        {
            const auto fence = heap.group("draw fence");
            for (int x = 32; x < 60; x += 4)
                page.line(x, 9, x, 12, '|');
            page.line(30, 10, 59, 10, '=');
        }
        show("A fence instead: eight commits, one step.", page);
        const std::uint64_t fenced = heap.version();
        try {
            heap.redo();
        } catch (const rem::error& e) {
            const std::string why = e.what();
            line("redo() says: " + why.substr(why.find(": ") + 2) + '\n');
        }
        heap.go_to(without);
        list(heap);
        heap.go_to(fenced);
        std::ofstream(chosen_.svg) << as_svg(page.contents(), k_width, k_height);
        line("The drawing with the fence is in " + chosen_.svg.filename().string() + ".\n");
        if (!page.is_sound())
            problem("a shape is not in the group that it is of");
        heap.close();
    }
    void list(const rem::heap& heap) {
        line(look_.bold("The history, at the state without a house:"));
        for (const rem::history_step& each : heap.history())
            line((each.is_present ? "  * " : "    ") + terminal::right_aligned(std::to_string(each.version), 3) +
                 (each.parent ? " after " + terminal::right_aligned(std::to_string(*each.parent), 3)
                              : std::string(10, ' ')) +
                 "  " + each.name);
        line("");
    }
    template <class F>
    void time(const std::string& what, const F& f) {
        const auto began = std::chrono::steady_clock::now();
        f();
        line(what + " in " + duration(std::chrono::steady_clock::now() - began) + ':');
    }

    /// Undoes all steps, of whatever process, and redoes them. Returns how many states looked as they had.
    std::uint64_t go_through(rem::heap& heap, const drawing& page) {
        const auto known = told_->all_known();
        const std::size_t now = hash_of(page.contents());
        const std::uint64_t steps = heap.undo_depth();
        std::uint64_t compared = 0;
        for (std::uint64_t undone = 0; undone != steps; ++undone) {
            heap.undo();
            const auto all = heap.history();
            const auto here = std::find_if(all.begin(), all.end(), [](const auto& each) { return each.is_present; });
            const auto expected = known.find(here->version);
            if (expected == known.end() || heap.find_root<document>("drawing") == nullptr)
                continue;
            ++compared;
            if (hash_of(page.contents()) != expected->second)
                problem("an undo did not lead to what was there before");
        }
        heap.redo(steps);
        if (hash_of(page.contents()) != now)
            problem("redo did not lead back to where undo began");
        return compared;
    }

    void edit_and_kill(std::uint64_t kill) {
        const shared_report& told = told_;
        told->has_begun = false;
        told->commands = 0;
        const std::uint64_t seed = dice_();
        std::cout.flush();
        const pid_t child = ::fork();
        if (child < 0)
            throw std::system_error(errno, std::generic_category(), "fork");
        if (child == 0) {
            try {
                rem::heap heap = open(chosen_.file);
                editor(heap, seed, *told).run();
            } catch (const std::exception& e) {
                std::cerr << "drawing_demo: " << e.what() << '\n';
            }
            std::_Exit(1);
        }
        while (!told->has_begun && ::waitpid(child, nullptr, WNOHANG) == 0)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        std::this_thread::sleep_for(chosen_.run / 2 + chosen_.run / 2 * (dice_() % 1000) / 1000);
        ::kill(child, SIGKILL);
        int status = 0;
        if (::waitpid(child, &status, 0) != child || !WIFSIGNALED(status))
            throw std::runtime_error("the editor ended by itself");

        const auto began = std::chrono::steady_clock::now();
        rem::heap heap = open(chosen_.file);
        const auto took = std::chrono::steady_clock::now() - began;
        const drawing page(heap);
        const std::size_t found = hash_of(page.contents());
        if (found != told->acknowledged && found != told->begun)
            problem("the drawing is not what the last command left, nor what the next one was to leave");
        if (!page.is_sound() || !heap.verify().clean())
            problem("the drawing is damaged");
        line("  kill " + terminal::right_aligned(std::to_string(kill), 3) + ": " +
             terminal::right_aligned(terminal::grouped(told->commands), 6) + " commands, " +
             terminal::right_aligned(std::to_string(page.contents().shapes.size()), 3) +
             " shapes at the top; open again in " + duration(took));
        if (!heap.why_history_is_new().empty())
            problem(heap.why_history_is_new());
        const std::uint64_t steps = heap.undo_depth();
        const std::uint64_t compared = go_through(heap, page);
        line("            " + terminal::right_aligned(terminal::grouped(steps), 6) +
             " steps of all processes undone, " + terminal::grouped(compared) + " states compared, and redone");
        heap.close();
    }

    const settings chosen_;
    terminal::style look_;
    std::mt19937_64 dice_;
    std::uint64_t problems_ = 0;
    const shared_report told_;
};

int run(arguments& words) {
    if (words.flag("help")) {
        std::cout << k_usage;
        return 0;
    }
    settings chosen;
    chosen.kills = words.number("kills", 1, 1'000'000).value_or(chosen.kills);
    chosen.run = std::chrono::milliseconds(words.number("run-ms", 2, 3'600'000).value_or(200));
    chosen.seed = words.number("seed", 0, ~std::uint64_t{0}).value_or(std::random_device{}());
    chosen.svg = words.value("svg").value_or("drawing.svg");
    chosen.file = words.new_file().value_or("");
    std::optional<temporary_directory> temporary;
    if (chosen.file.empty())
        chosen.file = temporary.emplace("drawing_demo").path() / "drawing.rem";
    return demo(chosen).run() ? 0 : 1;
}

} // namespace

int main(int count, char* words[]) { return run_demo("drawing_demo", count, words, run); }
