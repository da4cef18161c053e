// Runs random operations on a container in a heap and on its std model side by side, with commits, rollbacks, failures
// of elements, reopenings and kills of the process among them. After each operation both hold the same, and all of it lies in the
// heap. Apart from what is known of the types, so that this is compiled once.
#pragma once

#include "condemned.hpp"
#include "operations.hpp"

#include <remanence/heap.hpp>

#include <string>

namespace remanence::test {

/// A container in a heap, and its model with what was committed of it.
class specimen {
public:
    virtual ~specimen() = default;

    // The container is the root "container".
    virtual void make(heap& in) = 0;
    virtual void find(heap& in) = 0; ///< after an opening
    virtual void remove(heap& in) = 0;

    /// The result of an operation, as far as one can see it.
    virtual std::string apply(const operation& o) = 0;
    virtual std::string apply_to_model(const operation& o) = 0;
    /// Whether a failure leaves the container as it was.
    [[nodiscard]] virtual bool is_strong(const operation& o) const = 0;
    /// Whether it declares all that it changes.
    [[nodiscard]] virtual bool is_declared(const operation& o) const = 0;

    virtual void begin_model() = 0; ///< empty
    virtual void follow() = 0;      ///< the model is as the container is, and that is committed
    virtual void commit_model() = 0;
    virtual void roll_back_model() = 0;

    [[nodiscard]] virtual texts contents() const = 0; ///< throws `mismatch` where size() is another number
    [[nodiscard]] virtual texts contents_of_model() const = 0;
    [[nodiscard]] virtual texts committed_contents() const = 0;
    /// Throws `mismatch` where the container's structure is not right, or something of it lies elsewhere.
    virtual void check(const heap& in) const = 0;

protected:
    specimen() = default;
    specimen(const specimen&) = default;
    specimen& operator=(const specimen&) = default;
};

/// At least 10,000 operations with each event, fewer in builds with a sanitizer; says how many. `may_throw`: elements do.
void expect_conformance(specimen& of, bool may_throw);

} // namespace remanence::test
