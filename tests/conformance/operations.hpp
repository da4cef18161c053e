// Steps of a conformance test, and RapidCheck, which makes sequences of them up and shrinks one that fails. Depends on the
// standard library only: RapidCheck's templates are compiled once, in operations.cpp.
#pragma once

#include <cstddef>
#include <functional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace remanence::test {

/// What becomes of changes, again and again, in a sequence; sections, commits and rollbacks there are in all of them.
enum class event { commit, rollback, reopen, kill };
inline constexpr event k_events[] = {event::commit, event::rollback, event::reopen, event::kill};
[[nodiscard]] const char* name_of(event often);

/// One step; what the numbers mean is up to the adapter.
struct operation {
    enum class kind {
        change,
        change_in_section,
        fail,
        commit,
        rollback,
        reopen,
        commit_and_reopen,
        kill,          ///< the process, at once
        kill_in_commit ///< at one of its writes and syncs, or behind it
    };
    kind what;
    unsigned choice;     ///< which of the adapter's operations
    unsigned position;   ///< where, modulo the container's size
    unsigned key;        ///< from few, so that they meet again
    unsigned text_bytes; ///< 0 to 200
    unsigned fuse;       ///< with `fail`: which use of an element throws

    [[nodiscard]] std::string key_text() const { return pattern(key * 37 % 201, key); }
    [[nodiscard]] std::string text() const { return pattern(text_bytes, text_bytes * 7 + choice); }

    /// Whether elements come from outside all heaps.
    [[nodiscard]] bool is_foreign() const { return key % 2 == 0; }

    friend std::ostream& operator<<(std::ostream& out, const operation& o) {
        return out << "{kind " << static_cast<int>(o.what) << ", choice " << o.choice << ", position " << o.position
                   << ", key " << o.key << ", text " << o.text_bytes << ", fuse " << o.fuse << '}';
    }

private:
    static std::string pattern(std::size_t bytes, unsigned seed) {
        std::string text(bytes, ' ');
        for (std::size_t i = 0; i < bytes; ++i)
            text[i] = static_cast<char>('a' + (seed + i * (1 + seed % 5)) % 26);
        return text;
    }
};

/// The container is not what its model is, or something else is wrong; RapidCheck prints it with the sequence.
class mismatch : public std::logic_error {
public:
    using std::logic_error::logic_error;
};
inline void require(bool holds, const char* what) {
    if (!holds)
        throw mismatch(what);
}

inline constexpr std::size_t k_steps = 100; // of a sequence
/// Sequences, so that they are 10,000 steps; fewer in builds with a sanitizer, whose preset says so to RapidCheck, too.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::size_t k_sequences_least = 10;
#elif defined(__has_feature)
inline constexpr std::size_t k_sequences_least =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ? 10 : 100;
#else
inline constexpr std::size_t k_sequences_least = 100;
#endif

/// The process aborts, and says where it was, when it has hung while this lives.
class time_limit {
public:
    time_limit();
    time_limit(const time_limit&) = delete;
    time_limit& operator=(const time_limit&) = delete;
    ~time_limit();
};

/// Runs sequences, 100 or as RC_PARAMS=max_success=… says. One for which `run` throws is shrunk, and printed with the seed.
/// True: none did.
bool check_sequences(event often, const std::function<void(const std::vector<operation>&)>& run);

} // namespace remanence::test
