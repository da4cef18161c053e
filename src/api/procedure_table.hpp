// The table of procedures behind a procedure_set.
#pragma once

namespace remanence::detail {

class heap_impl;

/// Abstract, so that a program that adds no procedure does not link the code that calls procedures.
class procedure_table {
public:
    procedure_table() = default;
    procedure_table(const procedure_table&) = delete;
    procedure_table& operator=(const procedure_table&) = delete;
    virtual ~procedure_table() = default;
    /// Makes `heap` call these procedures. The table must live as long as the heap.
    virtual void serve(heap_impl& heap) const = 0;
};

/// What a heap with procedures does before and after undo, redo and the like.
class procedure_service {
public:
    procedure_service() = default;
    procedure_service(const procedure_service&) = delete;
    procedure_service& operator=(const procedure_service&) = delete;
    virtual ~procedure_service() = default;
    /// Called when undo, redo or the like begins; the caller holds the write lock.
    virtual void begin() noexcept = 0;
    /// Called when such an operation has failed. If a procedure has run since begin(), restores the committed state of
    /// memory. Throws the procedure's exception.
    virtual void recover() = 0;
};

} // namespace remanence::detail
