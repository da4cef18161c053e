// What stands behind a procedure_set.
#pragma once

namespace remanence::detail {

class heap_impl;

/// Abstract, so that a program which adds no procedure does not have the code that calls them.
class procedure_table {
public:
    procedure_table() = default;
    procedure_table(const procedure_table&) = delete;
    procedure_table& operator=(const procedure_table&) = delete;
    virtual ~procedure_table() = default;
    /// The heap calls these. This lives as long.
    virtual void serve(heap_impl& heap) const = 0;
};

/// What a heap that has procedures does besides.
class procedure_service {
public:
    procedure_service() = default;
    procedure_service(const procedure_service&) = delete;
    procedure_service& operator=(const procedure_service&) = delete;
    virtual ~procedure_service() = default;
    /// Undo, redo or the like begins, with the write lock held.
    virtual void begin() noexcept = 0;
    /// It has failed: memory becomes what is committed, if a procedure was run since begin(). Throws what that threw.
    virtual void recover() = 0;
};

} // namespace remanence::detail
