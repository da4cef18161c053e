#include "txn/session.hpp"

#include <utility>

namespace remanence::txn {

result<void> session::prepare() {
    if (identity_)
        return {};
    auto drawn = store_.next_session();
    if (!drawn)
        return drawn.error();
    identity_ = *drawn;
    return {};
}

result<void> session::begin(log::log_lock whose) {
    const auto& super = store_.super();
    auto mode = store_.file().permissions();
    if (!mode)
        return mode.error();
    // The process that created the heap may have died before it synced the directory. If only the log's name became
    // durable, that log would be in the way of another heap.
    if (version_ == 0)
        REM_TRY(files_.sync_directory("store: sync directory before first log", names_.heap()));
    auto log = log::redo_log::create(files_, names_.log_for(names_.heap()), super.uuid, *identity_, super.sequence + 1,
                                     *mode, version_, whose);
    if (!log)
        return log.error();
    REM_TRY(health_.poison_if_failed(
        store_.writer().publish({version_, chain_, *identity_, false, format::k_log_header_bytes})));
    log_ = std::move(*log);
    names_.add_log(log_->file());
    shared_log_ = log_.get();
    return {};
}

result<void> session::join(os::access how) {
    auto log = log::redo_log::join(files_, names_.heap(), names_.log_for(names_.heap()), how);
    if (!log)
        return log.error();
    log_ = std::move(*log);
    names_.add_log(log_->file());
    shared_log_ = log_.get();
    return {};
}

result<void> session::follow(std::uint64_t log_begin, const log::log_tail& tail, std::uint64_t chain) {
    REM_TRY(log_->follow(log_begin, tail));
    promised_ = version_ = tail.version;
    chain_ = chain;
    return {};
}

std::uint64_t session::append(log::record_builder& record, std::uint64_t image_bytes,
                              log::redo_log::prerequisite first) {
    const auto& super = store_.super();
    const std::uint64_t bytes =
        record.finish({super.session, super.epoch, version_ + 1, chain_, log_->durable_through()}, image_bytes).size();
    log_->append(record.take(), std::move(first));
    ++version_;
    if (promised_ < version_)
        promised_ = version_;
    chain_ = record.checksum();
    return bytes;
}

result<void> session::await(std::uint64_t version, log::durability how) {
    log::redo_log* const log = shared_log_;
    if (log == nullptr)
        return {}; // nothing was committed
    return health_.poisoning_without_memory([&] { return health_.poison_if_failed(log->await(version, how)); });
}

std::uint64_t session::appended_through() const {
    const log::redo_log* const log = shared_log_;
    return log == nullptr ? 0 : log->appended_through();
}

std::uint64_t session::durable_through() const {
    const log::redo_log* const log = shared_log_;
    return log == nullptr ? 0 : log->durable_through();
}

} // namespace remanence::txn
