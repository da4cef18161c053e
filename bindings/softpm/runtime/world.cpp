#include "world.hpp"

#include "base/undying.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

namespace remanence::softpm {

namespace {

using namespace std::chrono_literals;

constexpr auto k_longest_stop = 10s;
int stop_signal() { return SIGRTMIN + 3; }

struct thread_state {
    int id = 0; // 0 if this is no thread of the program
    unsigned depth = 0;
    std::atomic<bool> is_asked_to_stop = false;
    std::atomic<bool> is_standing = false;
    unsigned library_calls = 0;
};

constinit thread_local thread_state self;

bool is_main_thread() { return ::getpid() == ::gettid(); }

struct all_threads {
    std::mutex lock;                   // held while the world is stopped, so that no thread begins or ends
    std::vector<thread_state*> others; // without the main thread at first, and without threads of the library
    std::atomic<int> standing = 0;
    std::atomic<std::uint32_t> round = 0;  // changes when all threads may go on
    std::atomic<bool> is_stopping = false; // if false, a stop signal that arrives late has no effect
    bool is_ready = false;                 // the handler of the signal is set
};
all_threads& threads() {
    static union undying<all_threads> all;
    return all.value;
}

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) {
    return ::syscall(SYS_futex, &word, operation, value, nullptr, nullptr, 0);
}

void stand() {
    const int saved = errno;
    all_threads& all = threads();
    self.is_asked_to_stop.store(false, std::memory_order_relaxed);
    const std::uint32_t round = all.round.load(std::memory_order_acquire);
    if (all.is_stopping.load(std::memory_order_acquire)) {
        self.is_standing.store(true, std::memory_order_relaxed);
        all.standing.fetch_add(1, std::memory_order_acq_rel);
        while (all.round.load(std::memory_order_acquire) == round)
            futex(all.round, FUTEX_WAIT_PRIVATE, round);
        self.is_standing.store(false, std::memory_order_relaxed);
    }
    errno = saved;
}

void on_stop_signal(int /*signal*/) {
    if (self.depth == 0)
        stand();
    else
        self.is_asked_to_stop.store(true, std::memory_order_relaxed); // stop at the end of the critical section (W1)
}

/// Of all threads, a forked child has only the one that called fork(), with another number.
void begin_child() {
    all_threads& all = threads();
    all.others.clear();
    if (self.id != 0) {
        self.id = static_cast<int>(::gettid());
        self.is_asked_to_stop.store(false, std::memory_order_relaxed);
        all.others.push_back(&self);
    }
    all.lock.unlock();
}

void prepare(all_threads& all) {
    if (all.is_ready)
        return;
    ::pthread_atfork([] { threads().lock.lock(); }, [] { threads().lock.unlock(); }, begin_child);
    struct sigaction action = {};
    action.sa_handler = on_stop_signal;
    action.sa_flags = SA_RESTART;
    sigfillset(&action.sa_mask);
    ::sigaction(stop_signal(), &action, nullptr);
    all.is_ready = true;
}

void join_threads() {
    all_threads& all = threads();
    const std::scoped_lock lock(all.lock);
    prepare(all);
    self.id = static_cast<int>(::gettid());
    all.others.push_back(&self);
}

void leave_threads() {
    all_threads& all = threads();
    const std::scoped_lock lock(all.lock);
    std::erase(all.others, &self);
    self.id = 0;
}

/// Registers the main thread, when the first other thread starts. The main thread may end before the process, by
/// pthread_exit(); this calls the destructors of the thread's keys, as exit() does not.
void join_main_thread() {
    static pthread_key_t at_end;
    static const bool is_made = ::pthread_key_create(&at_end, [](void* /*value*/) { leave_threads(); }) == 0;
    if (is_made)
        ::pthread_setspecific(at_end, &at_end);
    join_threads();
}

/// `Result` is void* for pthread_create(), int for thrd_create().
template <class Result>
struct start_of_thread {
    Result (*function)(void*);
    void* argument;
};

template <class Result>
Result run_thread(void* given) {
    auto* const from = static_cast<start_of_thread<Result>*>(given);
    const start_of_thread<Result> start = *from;
    delete from;
    struct membership { // also destroyed if the thread ends by pthread_exit()
        membership() { join_threads(); }
        ~membership() { leave_threads(); }
    } const here;
    return start.function(start.argument);
}

/// Calls `create` with the function and the argument for the new thread. `create` returns 0 if the thread was started.
template <class Result, class Create>
int start_thread(Result (*function)(void*), void* argument, int without_memory, Create&& create) {
    if (self.library_calls != 0 || (self.id == 0 && !is_main_thread()))
        return create(function, argument);
    if (self.id == 0)
        join_main_thread();
    auto* const start = new (std::nothrow) start_of_thread<Result>{function, argument};
    if (start == nullptr)
        return without_memory;
    int failed = 0;
    {
        // Starting a thread acquires locks of the C library. A point that starts a thread of the library needs them,
        // too.
        const critical_section here;
        failed = create(run_thread<Result>, start);
    }
    if (failed != 0)
        delete start;
    return failed;
}

// Returns this set of signals without the one that stops threads.
sigset_t without_ours(const sigset_t* set) {
    sigset_t kept = *set;
    sigdelset(&kept, stop_signal());
    return kept;
}

template <class Function>
Function next(const char* name) {
    return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

/// Returns the number and name of each thread that has not stopped.
std::string names_of_moving(const all_threads& all) {
    std::string text;
    for (const thread_state* each : all.others) {
        if (each == &self || each->is_standing.load(std::memory_order_acquire))
            continue;
        std::string name;
        std::getline(std::ifstream("/proc/self/task/" + std::to_string(each->id) + "/comm"), name);
        text += (text.empty() ? "" : ", ") + std::to_string(each->id) + " (" + name + ")";
    }
    return text;
}

// Blocks signals during a point, because a handler might change memory that the point has already read. Faults are not
// blocked.
void block_signals(sigset_t& before) {
    sigset_t all;
    sigfillset(&all);
    for (const int each : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP})
        sigdelset(&all, each);
    next<decltype(&pthread_sigmask)>("pthread_sigmask")(SIG_SETMASK, &all, &before);
}
void set_signals(const sigset_t& blocked) {
    next<decltype(&pthread_sigmask)>("pthread_sigmask")(SIG_SETMASK, &blocked, nullptr);
}

} // namespace

critical_section::critical_section() noexcept {
    ++self.depth;
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

critical_section::~critical_section() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (--self.depth == 0 && self.is_asked_to_stop.load(std::memory_order_relaxed)) [[unlikely]]
        stand();
}

library_call::library_call() noexcept { ++self.library_calls; }
library_call::~library_call() { --self.library_calls; }

stopped_world::stopped_world() {
    all_threads& all = threads();
    all.lock.lock(); // acquired outside of a critical section, so that another thread can stop this one first
    ++self.depth;
    block_signals(signals_before_);
    all.standing.store(0, std::memory_order_relaxed);
    all.is_stopping.store(true, std::memory_order_release);
    int asked = 0;
    for (const thread_state* each : all.others)
        if (each != &self && ::syscall(SYS_tgkill, ::getpid(), each->id, stop_signal()) == 0)
            ++asked;
    is_stopped_ = true;
    const auto until = std::chrono::steady_clock::now() + k_longest_stop;
    for (unsigned looks = 0; all.standing.load(std::memory_order_acquire) < asked; ++looks) {
        if (looks < 1000)
            std::this_thread::yield();
        else
            ::usleep(50);
        if (std::chrono::steady_clock::now() < until)
            continue;
        const std::string text = "persistence point: of " + std::to_string(asked) +
                                 " threads these did not stop within 10 seconds: " + names_of_moving(all) +
                                 ". They block all signals, or wait for a device. Nothing was written.";
        go_on();
        throw std::runtime_error(text);
    }
}

void stopped_world::go_on() {
    if (!is_stopped_)
        return;
    is_stopped_ = false;
    all_threads& all = threads();
    all.is_stopping.store(false, std::memory_order_release);
    all.round.fetch_add(1, std::memory_order_release);
    futex(all.round, FUTEX_WAKE_PRIVATE, INT_MAX);
    all.lock.unlock();
    set_signals(signals_before_);
    if (--self.depth == 0 && self.is_asked_to_stop.load(std::memory_order_relaxed))
        stand();
}

stopped_world::~stopped_world() { go_on(); }

} // namespace remanence::softpm

// Wrappers of the C library's functions, for the program and its libraries.
extern "C" {

[[gnu::visibility("default")]] int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                                  void* (*function)(void*), void* argument) {
    using namespace remanence::softpm;
    static const auto real = next<decltype(&pthread_create)>("pthread_create");
    return start_thread(function, argument, EAGAIN,
                        [&](void* (*run)(void*), void* with) { return real(thread, attributes, run, with); });
}

[[gnu::visibility("default")]] int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
    using namespace remanence::softpm;
    static const auto real = next<decltype(&thrd_create)>("thrd_create");
    return start_thread(function, argument, thrd_nomem,
                        [&](thrd_start_t run, void* with) { return real(thread, run, with); });
}

[[gnu::visibility("default")]] int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) {
    using namespace remanence::softpm;
    static const auto real = next<decltype(&pthread_sigmask)>("pthread_sigmask");
    if (set == nullptr || how == SIG_UNBLOCK || self.library_calls != 0 || (self.id == 0 && !is_main_thread()))
        return real(how, set, before);
    const sigset_t kept = without_ours(set);
    return real(how, &kept, before);
}

[[gnu::visibility("default")]] int sigprocmask(int how, const sigset_t* set, sigset_t* before) {
    const int failed = pthread_sigmask(how, set, before);
    if (failed == 0)
        return 0;
    errno = failed;
    return -1;
}

// If a program waits for all signals, it must not get the one that stops threads, nor block it.
[[gnu::visibility("default")]] int sigsuspend(const sigset_t* set) {
    using namespace remanence::softpm;
    static const auto real = next<decltype(&sigsuspend)>("sigsuspend");
    const sigset_t kept = without_ours(set);
    return real(&kept);
}

[[gnu::visibility("default")]] int sigwait(const sigset_t* set, int* which) {
    using namespace remanence::softpm;
    static const auto real = next<decltype(&sigwait)>("sigwait");
    const sigset_t kept = without_ours(set);
    return real(&kept, which);
}

[[gnu::visibility("default")]] int sigwaitinfo(const sigset_t* set, siginfo_t* which) {
    using namespace remanence::softpm;
    static const auto real = next<decltype(&sigwaitinfo)>("sigwaitinfo");
    const sigset_t kept = without_ours(set);
    return real(&kept, which);
}

[[gnu::visibility("default")]] int sigtimedwait(const sigset_t* set, siginfo_t* which, const timespec* longest) {
    using namespace remanence::softpm;
    static const auto real = next<decltype(&sigtimedwait)>("sigtimedwait");
    const sigset_t kept = without_ours(set);
    return real(&kept, which, longest);
}
}
