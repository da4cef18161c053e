// Adds code to a function, to maintain the marks of the words that the function writes. Depends on provenance.
//
//   M1  A word is marked before a pointer is stored in it. Its mark is cleared after other data is stored. So a word
//       that holds a pointer is marked at every moment.
//   M2  Marks are copied together with bytes: by block copies, by copies of words, and by copies of single bytes. A
//       copy of single bytes copies the mark together with the first byte of a word.
#pragma once

#include "provenance.hpp"

namespace remanence::softpm {

class marker {
public:
    marker(const shadow_builder& build, llvm::Function& function);
    void run();

private:
    void on_store(llvm::StoreInst& store);
    void on_pointer_store(llvm::StoreInst& store);
    void on_word_store(llvm::StoreInst& store);
    void on_aggregate_store(llvm::StoreInst& store);
    void on_odd_store(llvm::StoreInst& store, std::uint64_t bytes);
    void on_exchange(llvm::AtomicRMWInst& exchange);
    void on_compare_exchange(llvm::AtomicCmpXchgInst& exchange);
    void on_copy(llvm::MemTransferInst& copy);
    void on_set(llvm::MemSetInst& set);
    void on_masked_store(llvm::IntrinsicInst& store);
    void on_parameter(llvm::Argument& parameter);
    /// Writes the marks of the parts of an aggregate, each for the part's word.
    void put_parts(llvm::IRBuilder<>& at, llvm::Value* address, llvm::Value* part, std::uint64_t offset);
    void mark_pointers_of(llvm::IRBuilder<>& at, llvm::Value* address, llvm::Type* type, std::uint64_t offset);
    /// Returns where to write the marks: before the store if they may mark a pointer, otherwise after it (M1).
    llvm::IRBuilder<> place_for(llvm::Instruction& store, llvm::Value* marks) const;
    [[nodiscard]] bool changes_by_a_number(llvm::StoreInst& store) const;
    [[nodiscard]] bool is_whole_words(llvm::Value* address, llvm::MaybeAlign align, llvm::Value* bytes) const;

    const shadow_builder& build_;
    llvm::Function& function_;
    const llvm::DataLayout& layout_;
    provenance origins_;
};

} // namespace remanence::softpm
