// Input: a byte that chooses the kind of container, then operations of six bytes each, as the conformance tests make them up. The
// container in a heap and its model do them, with sections, failures of elements, commits, rollbacks and reopenings among
// them; after each the two hold the same, the structure is whole, and all of it lies in the heap. What fails ends the process.
#pragma once

#include "conformance/harness.hpp"
#include "support/temp_dir.hpp"

#include <remanence/heap.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace remanence::test {

/// What the target tries; each defines its own.
std::vector<std::unique_ptr<specimen>> all_kinds();

} // namespace remanence::test

namespace remanence::fuzz {

/// A container and its model, by the adapter that the conformance tests use for them.
template <class Adapter, class Container, class Model>
std::unique_ptr<test::specimen> kind() {
    return std::make_unique<test::container_and_model<Adapter, Container, Model>>();
}

/// Runs one input after the other, all in one heap.
class container_session {
public:
    explicit container_session(std::vector<std::unique_ptr<test::specimen>> kinds);
    void run(const std::uint8_t* data, std::size_t bytes);

private:
    void begin();
    void end();
    void step(const test::operation& o);
    void change(const test::operation& o);
    void change_in_section(const test::operation& o);
    void fail(const test::operation& o);
    void commit();
    void rollback();
    void reopen();

    std::vector<std::unique_ptr<test::specimen>> kinds_;
    test::specimen* of_ = nullptr; // the input's
    test::temp_dir directory_ = test::temp_dir::in_memory();
    std::optional<heap> book_;
    std::uint64_t allocated_bytes_empty_ = 0;
};

} // namespace remanence::fuzz
