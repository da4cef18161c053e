// Finds the marks of a value from the value's origin. Depends on shadow_builder.
//
//   P1  A loaded value has the marks of the place from which it was loaded. A pointer is marked as one. Constants are
//       data, and so are the results of all operations except adding, masking and choosing.
//   P2  The origin of parameters and of results of calls is unknown. Their values decide (shadow_builder::by_window).
#pragma once

#include "shadow_builder.hpp"

namespace remanence::softpm {

class provenance {
public:
    provenance(const shadow_builder& build, llvm::Function& function);

    /// Returns the marks of a value that fills whole words, as instructions next to its definition; null for other
    /// values.
    llvm::Value* marks_of(llvm::Value* value);
    /// If `value` was loaded from a local variable to which a single place stores, returns the stored value. Code that
    /// is not optimized stores all values in such variables.
    llvm::Value* behind_local(llvm::Value* value) const;
    /// True if an address is in a local variable that needs no marks, because it never leaves the function and is never
    /// copied from.
    bool is_local(llvm::Value* address);
    /// True if a load may read a variadic argument on the stack, which has no mark.
    [[nodiscard]] bool is_variadic() const { return is_variadic_; }
    static bool is_data(llvm::Value* marks);

private:
    llvm::Value* find(llvm::Value* value, unsigned depth);
    llvm::Value* of_instruction(llvm::Instruction* value, llvm::Type* marks, unsigned depth);
    llvm::Value* of_phi(llvm::PHINode* phi, llvm::Type* marks, unsigned depth);
    llvm::Value* of_choice(llvm::Instruction* value, llvm::Type* marks, unsigned depth);
    llvm::Value* of_insertion(llvm::Instruction* value, llvm::Type* marks, unsigned depth);
    llvm::Value* of_shuffle(llvm::ShuffleVectorInst* shuffle, llvm::Type* marks, unsigned depth);
    llvm::Value* of_call(llvm::Instruction* value, llvm::Type* marks);
    llvm::Value* of_load(llvm::LoadInst* load, llvm::Type* marks);
    llvm::Value* of_sum(llvm::Instruction* sum, unsigned depth);
    llvm::Value* of_parts(llvm::Instruction* value, llvm::Type* marks, unsigned depth);
    llvm::Value* of_unknown(llvm::Value* value, llvm::Type* marks);
    [[nodiscard]] bool has_elements_of_words(llvm::Type* vector) const;

    const shadow_builder& build_;
    llvm::Function& function_;
    const llvm::DataLayout& layout_;
    llvm::DominatorTree order_;
    bool is_variadic_ = false; // the function may load variadic arguments, which have no marks
    llvm::DenseMap<llvm::Value*, llvm::Value*> known_;
    llvm::DenseMap<const llvm::AllocaInst*, bool> locals_;
};

} // namespace remanence::softpm
