#include "marker.hpp"

#include <algorithm>

namespace remanence::softpm {

namespace {

using llvm::dyn_cast;
using llvm::Instruction;
using llvm::isa;
using llvm::Type;
using llvm::Value;

constexpr std::uint64_t k_inline_bytes_max = 1024; // the marks of a longer copy are copied by a call of the runtime

llvm::IRBuilder<> behind(Instruction& store) { return llvm::IRBuilder<>(store.getNextNode()); }

llvm::ConstantInt* number(llvm::IRBuilder<>& at, std::uint64_t value) { return at.getInt64(value); }

Value* at_offset(llvm::IRBuilder<>& at, Value* address, std::uint64_t bytes) {
    return bytes == 0 ? address : at.CreateConstInBoundsGEP1_64(at.getInt8Ty(), address, bytes);
}

// The function now writes marks, which other functions read. So its former promises about memory are no longer true.
void forget_memory_effects(llvm::Function& function) {
    function.removeFnAttr(llvm::Attribute::Memory);
    function.removeFnAttr(llvm::Attribute::Speculatable);
}

// Gives the normal edge of each invoke a block of its own, where code for the marks of its result can be added.
llvm::Function& split_edges_behind_invokes(llvm::Function& function) {
    llvm::SmallVector<llvm::InvokeInst*, 8> invokes;
    for (Instruction& each : llvm::instructions(function))
        if (auto* invoke = dyn_cast<llvm::InvokeInst>(&each);
            invoke != nullptr && invoke->getNormalDest()->getSinglePredecessor() == nullptr)
            invokes.push_back(invoke);
    for (llvm::InvokeInst* each : invokes)
        llvm::SplitEdge(each->getParent(), each->getNormalDest());
    return function;
}

} // namespace

marker::marker(const shadow_builder& build, llvm::Function& function)
    : build_(build),
      function_(split_edges_behind_invokes(function)),
      layout_(function.getDataLayout()),
      origins_(build, function) {}

void marker::run() {
    llvm::SmallVector<Instruction*, 64> written; // collected before any instruction is added
    for (Instruction& each : llvm::instructions(function_))
        written.push_back(&each);
    for (Instruction* each : written) {
        if (auto* store = dyn_cast<llvm::StoreInst>(each))
            on_store(*store);
        else if (auto* exchange = dyn_cast<llvm::AtomicRMWInst>(each))
            on_exchange(*exchange);
        else if (auto* compared = dyn_cast<llvm::AtomicCmpXchgInst>(each))
            on_compare_exchange(*compared);
        else if (auto* copy = dyn_cast<llvm::MemTransferInst>(each))
            on_copy(*copy);
        else if (auto* set = dyn_cast<llvm::MemSetInst>(each))
            on_set(*set);
        else if (auto* intrinsic = dyn_cast<llvm::IntrinsicInst>(each))
            on_masked_store(*intrinsic);
        else if (auto* call = dyn_cast<llvm::CallBase>(each))
            call->removeFnAttr(llvm::Attribute::Memory);
    }
    for (llvm::Argument& each : function_.args())
        if (each.hasByValAttr())
            on_parameter(each);
    forget_memory_effects(function_);
}

llvm::IRBuilder<> marker::place_for(Instruction& store, Value* marks) const {
    return provenance::is_data(marks) ? behind(store) : llvm::IRBuilder<>(&store);
}

void marker::on_store(llvm::StoreInst& store) {
    Type* const type = store.getValueOperand()->getType();
    if (store.getPointerAddressSpace() != 0 || origins_.is_local(store.getPointerOperand()))
        return;
    if (type->isPointerTy())
        on_pointer_store(store);
    else if (type->isAggregateType())
        on_aggregate_store(store);
    else if (words_of(type, layout_) != 0)
        on_word_store(store);
    else if (!type->isScalableTy())
        on_odd_store(store, layout_.getTypeStoreSize(type));
}

void marker::on_pointer_store(llvm::StoreInst& store) {
    if (store.getAlign() < k_word_bytes) {
        auto at = behind(store);
        build_.call(at, "softpm_stored_unaligned", {store.getPointerOperand()});
        return;
    }
    Value* const marks = origins_.marks_of(store.getValueOperand());
    auto at = place_for(store, marks);
    build_.put(at, store.getPointerOperand(), marks);
}

// True for code such as x->n += k, after which the word keeps its mark.
bool marker::changes_by_a_number(llvm::StoreInst& store) const {
    const auto* sum = dyn_cast<llvm::BinaryOperator>(store.getValueOperand());
    if (sum == nullptr)
        return false;
    for (unsigned i = 0; i < 2; ++i)
        if (const auto* load = dyn_cast<llvm::LoadInst>(sum->getOperand(i));
            load != nullptr && load->getPointerOperand() == store.getPointerOperand() &&
            isa<llvm::Constant>(sum->getOperand(1 - i)))
            return true;
    return false;
}

void marker::on_word_store(llvm::StoreInst& store) {
    if (changes_by_a_number(store))
        return;
    Value* const marks = origins_.marks_of(store.getValueOperand());
    auto at = place_for(store, marks);
    build_.put(at, store.getPointerOperand(), marks);
}

void marker::on_aggregate_store(llvm::StoreInst& store) {
    auto at = llvm::IRBuilder<>(&store);
    put_parts(at, store.getPointerOperand(), store.getValueOperand(), 0);
}

void marker::put_parts(llvm::IRBuilder<>& at, Value* address, Value* part, std::uint64_t offset) {
    Type* const type = part->getType();
    const auto* structure = dyn_cast<llvm::StructType>(type);
    if (structure != nullptr || type->isArrayTy()) {
        const unsigned parts =
            structure != nullptr ? structure->getNumElements() : static_cast<unsigned>(type->getArrayNumElements());
        for (unsigned i = 0; i < parts; ++i) {
            const std::uint64_t where =
                structure != nullptr ? layout_.getStructLayout(llvm::cast<llvm::StructType>(type))->getElementOffset(i)
                                     : i * layout_.getTypeAllocSize(type->getArrayElementType());
            put_parts(at, address, at.CreateExtractValue(part, i), offset + where);
        }
        return;
    }
    if (Value* const marks = offset % k_word_bytes == 0 ? origins_.marks_of(part) : nullptr)
        build_.put(at, at_offset(at, address, offset), marks);
}

// Handles a store of less than a word, or of several words and a part of one (M2).
void marker::on_odd_store(llvm::StoreInst& store, std::uint64_t bytes) {
    Value* const address = store.getPointerOperand();
    auto* const load = dyn_cast<llvm::LoadInst>(origins_.behind_local(store.getValueOperand()));
    const bool is_copy = load != nullptr && !origins_.is_local(load->getPointerOperand());
    Type* const marks = build_.marks_type(static_cast<unsigned>((bytes + k_word_bytes - 1) / k_word_bytes));
    if (!is_copy) {
        auto at = behind(store);
        build_.put(at, address, shadow_builder::all(marks, mark::data));
        return;
    }
    auto beside_load = behind(*load);
    Value* const from = build_.get(beside_load, load->getPointerOperand(), marks);
    llvm::IRBuilder<> at(&store);
    if (bytes > k_word_bytes) {
        build_.put(at, address, from);
        return;
    }
    Value* const place = at.CreateAnd(at.CreatePtrToInt(address, build_.word), k_word_bytes - 1);
    Value* const is_first = at.CreateICmpEQ(place, number(at, 0));
    build_.put(at, address, at.CreateSelect(is_first, from, build_.get(at, address, marks)));
}

void marker::on_exchange(llvm::AtomicRMWInst& exchange) {
    // after other operations than exchange, the word keeps its mark
    const bool sets = exchange.getOperation() == llvm::AtomicRMWInst::Xchg;
    if (!sets || words_of(exchange.getType(), layout_) != 1)
        return;
    Value* const marks = origins_.marks_of(exchange.getValOperand());
    auto at = place_for(exchange, marks);
    build_.put(at, exchange.getPointerOperand(), marks);
}

// A compare-exchange may store nothing; then an existing mark must stay. A superfluous mark does no harm.
void marker::on_compare_exchange(llvm::AtomicCmpXchgInst& exchange) {
    Value* const wanted = exchange.getNewValOperand();
    Value* const marks = origins_.marks_of(wanted);
    if (marks == nullptr || marks->getType() != build_.byte || provenance::is_data(marks))
        return;
    llvm::IRBuilder<> at(&exchange);
    Value* const before = build_.get(at, exchange.getPointerOperand(), build_.byte);
    Value* const is_none = at.CreateICmpEQ(marks, shadow_builder::all(build_.byte, mark::data));
    build_.put(at, exchange.getPointerOperand(), at.CreateSelect(is_none, before, marks));
}

bool marker::is_whole_words(Value* address, llvm::MaybeAlign align, Value* bytes) const {
    const auto* size = dyn_cast<llvm::ConstantInt>(bytes);
    const llvm::Align known = std::max(align.valueOrOne(), llvm::getKnownAlignment(address, layout_));
    return size != nullptr && size->getZExtValue() % k_word_bytes == 0 && size->getZExtValue() <= k_inline_bytes_max &&
           known >= k_word_bytes;
}

void marker::on_copy(llvm::MemTransferInst& copy) {
    if (origins_.is_local(copy.getRawDest()))
        return;
    llvm::IRBuilder<> at(&copy);
    Value* const bytes = at.CreateZExtOrTrunc(copy.getLength(), build_.word);
    if (origins_.is_variadic())
        build_.call(at, "softpm_mark_unmarked_by_window", {copy.getRawSource(), bytes});
    if (!is_whole_words(copy.getRawDest(), copy.getDestAlign(), copy.getLength()) ||
        !is_whole_words(copy.getRawSource(), copy.getSourceAlign(), copy.getLength())) {
        build_.call(at, "softpm_copy_marks", {copy.getRawDest(), copy.getRawSource(), bytes});
        return;
    }
    Value* const to = build_.address(at, copy.getRawDest());
    Value* const from = build_.address(at, copy.getRawSource());
    const std::uint64_t words = llvm::cast<llvm::ConstantInt>(copy.getLength())->getZExtValue() / k_word_bytes;
    at.CreateMemMove(to, llvm::Align(1), from, llvm::Align(1), words);
}

void marker::on_set(llvm::MemSetInst& set) {
    if (origins_.is_local(set.getRawDest()))
        return;
    auto at = behind(set);
    if (!is_whole_words(set.getRawDest(), set.getDestAlign(), set.getLength())) {
        build_.call(at, "softpm_clear_marks", {set.getRawDest(), at.CreateZExtOrTrunc(set.getLength(), build_.word)});
        return;
    }
    const std::uint64_t words = llvm::cast<llvm::ConstantInt>(set.getLength())->getZExtValue() / k_word_bytes;
    at.CreateMemSet(build_.address(at, set.getRawDest()), at.getInt8(0), words, llvm::Align(1));
}

void marker::on_masked_store(llvm::IntrinsicInst& store) {
    const bool is_scatter = store.getIntrinsicID() == llvm::Intrinsic::masked_scatter;
    if (!is_scatter && store.getIntrinsicID() != llvm::Intrinsic::masked_store)
        return;
    Value* const value = store.getArgOperand(0);
    if (layout_.getTypeStoreSize(value->getType()->getScalarType()) != k_word_bytes)
        return; // a store of numbers, or of parts of words
    Value* const marks = origins_.marks_of(value);
    if (marks == nullptr || !marks->getType()->isVectorTy())
        return;
    auto at = place_for(store, marks);
    Value* const to = build_.address(at, store.getArgOperand(1));
    build_.is_mark(is_scatter ? at.CreateMaskedScatter(marks, to, llvm::Align(1), store.getArgOperand(3))
                              : at.CreateMaskedStore(marks, to, llvm::Align(1), store.getArgOperand(3)));
}

// The code generator copies parameters that are passed by value, but does not copy their marks.
void marker::on_parameter(llvm::Argument& parameter) {
    Type* const type = parameter.getParamByValType();
    llvm::IRBuilder<> at(&*function_.getEntryBlock().getFirstInsertionPt());
    build_.call(at, "softpm_mark_by_window", {&parameter, number(at, layout_.getTypeAllocSize(type))});
    mark_pointers_of(at, &parameter, type, 0);
}

void marker::mark_pointers_of(llvm::IRBuilder<>& at, Value* address, Type* type, std::uint64_t offset) {
    if (type->isPointerTy()) {
        build_.put(at, at_offset(at, address, offset), shadow_builder::all(build_.byte, mark::pointer));
    } else if (auto* structure = dyn_cast<llvm::StructType>(type)) {
        for (unsigned i = 0; i < structure->getNumElements(); ++i)
            mark_pointers_of(at, address, structure->getElementType(i),
                             offset + layout_.getStructLayout(structure)->getElementOffset(i));
    } else if (auto* array = dyn_cast<llvm::ArrayType>(type)) {
        for (std::uint64_t i = 0; i < array->getNumElements(); ++i)
            mark_pointers_of(at, address, array->getElementType(),
                             offset + i * layout_.getTypeAllocSize(array->getElementType()));
    }
}

} // namespace remanence::softpm
