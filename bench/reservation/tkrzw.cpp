// Tkrzw's B+-tree, with a hard synchronization at a transaction's end: what it has for durability without a log of its own,
// though a crash in the midst may leave a part.
#include "byte_store.hpp"

#include <tkrzw_dbm_tree.h>

#include <stdexcept>

namespace {

void check(const tkrzw::Status& status, const char* what) {
    if (status != tkrzw::Status::SUCCESS)
        throw std::runtime_error(std::string("Tkrzw, ") + what + ": " + tkrzw::ToString(status));
}

class tkrzw_bytes {
public:
    explicit tkrzw_bytes(const std::filesystem::path& directory) {
        check(file_.Open((directory / "reservations.tkt").string(), true), "Open");
        at_ = file_.MakeIterator();
    }

    void begin(bool changes) { changes_ = changes; }
    void end() {
        if (changes_)
            check(file_.Synchronize(true), "Synchronize");
    }
    bool seek(std::string_view key) {
        check(at_->Jump(key), "Jump");
        return get();
    }
    bool seek_first() {
        check(at_->First(), "First");
        return get();
    }
    bool next() {
        check(at_->Next(), "Next");
        return get();
    }
    [[nodiscard]] std::string_view key() const { return key_; }
    [[nodiscard]] std::string_view value() const { return value_; }
    void put(std::string_view key, std::string_view value) { check(file_.Set(key, value), "Set"); }
    bool erase(std::string_view key) {
        const tkrzw::Status status = file_.Remove(key);
        if (status == tkrzw::Status::NOT_FOUND_ERROR)
            return false;
        check(status, "Remove");
        return true;
    }
    void close() {
        at_.reset();
        check(file_.Close(), "Close");
    }

private:
    bool get() {
        const tkrzw::Status status = at_->Get(&key_, &value_);
        if (status == tkrzw::Status::NOT_FOUND_ERROR)
            return false;
        check(status, "Get");
        return true;
    }

    tkrzw::TreeDBM file_;
    std::unique_ptr<tkrzw::DBM::Iterator> at_;
    std::string key_;
    std::string value_;
    bool changes_ = false;
};

} // namespace

system_kind tkrzw_system() { return byte_system<tkrzw_bytes>("Tkrzw tree"); }
