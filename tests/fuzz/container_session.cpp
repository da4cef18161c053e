#include "container_session.hpp"

#include "heap_files.hpp"

#include "conformance/elements.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace remanence::fuzz {

namespace {

constexpr std::size_t k_operations_max = 400; // an input's
constexpr std::size_t k_operation_bytes = 6;

/// Of 32, 24 are changes.
test::operation::kind kind_of(std::uint8_t byte) {
    using kind = test::operation::kind;
    switch (byte % 32) {
    case 0:
        return kind::commit;
    case 1:
        return kind::rollback;
    case 2: // an opening takes as long as many others
        return byte == 2 ? kind::reopen : byte == 34 ? kind::commit_and_reopen : kind::commit;
    case 3:
        return kind::change_in_section;
    case 4:
    case 5:
    case 6:
    case 7:
        return kind::fail;
    default:
        return kind::change;
    }
}

test::operation operation_at(const std::uint8_t* bytes) {
    return {kind_of(bytes[0]), bytes[1], bytes[2], bytes[3] % 40U, bytes[4] % 201U, 1U + bytes[5] % 29U};
}

} // namespace

container_session::container_session(std::vector<std::unique_ptr<test::specimen>> kinds)
    : kinds_(std::move(kinds)), book_(heap::open(directory_ / "book.rem")) {
    book_->write([this] { // so that the root directory has its size
        for (const auto& each : kinds_) {
            each->make(*book_);
            each->remove(*book_);
        }
    });
    allocated_bytes_empty_ = book_->stats().allocated_bytes;
}

void container_session::run(const std::uint8_t* data, std::size_t bytes) {
    if (bytes == 0)
        return;
    of_ = kinds_[data[0] % kinds_.size()].get();
    begin();
    const std::size_t count = std::min((bytes - 1) / k_operation_bytes, k_operations_max);
    for (std::size_t i = 0; i != count; ++i)
        step(operation_at(data + 1 + i * k_operation_bytes));
    end();
}

void container_session::begin() {
    book_->write([this] { of_->make(*book_); });
    of_->begin_model();
}

void container_session::end() {
    require(book_->check_pointers().clean(), "a pointer leads out of the heap");
    book_->write([this] { of_->remove(*book_); });
    require(book_->stats().allocated_bytes == allocated_bytes_empty_, "memory has leaked");
}

void container_session::step(const test::operation& o) {
    using kind = test::operation::kind;
    switch (o.what) {
    case kind::change:
        change(o);
        break;
    case kind::change_in_section:
        change_in_section(o);
        break;
    case kind::fail:
        fail(o);
        break;
    case kind::commit:
        commit();
        break;
    case kind::rollback:
        rollback();
        break;
    case kind::commit_and_reopen:
        commit();
        reopen();
        break;
    case kind::reopen: // what is not committed is gone
        of_->roll_back_model();
        reopen();
        break;
    case kind::kill: // kind_of() makes none
    case kind::kill_in_commit:
        break;
    }
    require(of_->contents() == of_->contents_of_model(), "the contents differ");
    of_->check(*book_);
}

void container_session::change(const test::operation& o) {
    const std::string seen = of_->apply(o);
    require(seen == of_->apply_to_model(o), "an operation has another result");
}

/// Declared where the container declares all that it writes: what it has not is refused in builds with assertions.
void container_session::change_in_section(const test::operation& o) {
    if (of_->is_declared(o)) {
        commit(); // of what was changed outside of sections
        book_->write(declared, [&] { change(o); });
    } else {
        book_->write([&] { change(o); });
    }
    of_->commit_model();
}

void container_session::fail(const test::operation& o) {
    test::fuse = o.fuse;
    std::optional<std::string> seen;
    try {
        seen = of_->apply(o);
    } catch (const test::injected_failure&) {
    }
    test::fuse = 0;
    if (seen) {
        require(*seen == of_->apply_to_model(o), "an operation has another result");
    } else if (!of_->is_strong(o)) { // any valid content is allowed
        of_->check(*book_);
        rollback();
    }
}

void container_session::commit() {
    book_->commit();
    of_->commit_model();
}

void container_session::rollback() {
    book_->rollback();
    of_->roll_back_model();
}

void container_session::reopen() {
    book_->close();
    book_.reset();
    book_.emplace(heap::open(directory_ / "book.rem"));
    of_->find(*book_);
}

} // namespace remanence::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
    static remanence::fuzz::container_session all(remanence::test::all_kinds());
    all.run(data, bytes);
    return 0;
}
