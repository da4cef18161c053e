// Nodes by malloc, written by fwrite one after the other, and linked again when they are read.
#include "ring.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <system_error>

namespace {

void check(bool done) {
    if (!done)
        throw std::system_error(errno, std::generic_category(), "the ring's file");
}

class malloc_ring final : public ring {
public:
    explicit malloc_ring(std::filesystem::path file) : file_(std::move(file)) {}
    ~malloc_ring() override { free_all(); }

    void create() override {
        for (std::uint64_t i = 0; i < k_nodes; ++i)
            append(static_cast<int>(i));
        is_changed_ = true;
    }

    void read() {
        std::FILE* const in = std::fopen(file_.c_str(), "rb");
        check(in != nullptr);
        for (int value = 0; std::fread(&value, sizeof value, 1, in) == 1;)
            append(value);
        check(std::ferror(in) == 0);
        std::fclose(in);
    }

    std::uint64_t sum() override { return sum_of_ring(first_); }

    void close() override {
        if (is_changed_)
            write();
        free_all();
    }

private:
    void append(int value) {
        auto* const node = static_cast<link_node*>(std::malloc(sizeof(link_node)));
        if (node == nullptr)
            throw std::bad_alloc();
        node->value = value;
        if (first_ == nullptr)
            first_ = node->next = node->previous = node;
        else
            link_before(first_, node);
    }

    void write() {
        std::FILE* const out = std::fopen(file_.c_str(), "wb");
        check(out != nullptr);
        const link_node* node = first_;
        do {
            check(std::fwrite(&node->value, sizeof node->value, 1, out) == 1);
            node = node->next;
        } while (node != first_);
        check(std::fflush(out) == 0 && ::fsync(::fileno(out)) == 0);
        check(std::fclose(out) == 0);
    }

    void free_all() {
        if (first_ == nullptr)
            return;
        first_->previous->next = nullptr;
        for (link_node* node = first_; node != nullptr;) {
            link_node* const next = node->next;
            std::free(node);
            node = next;
        }
        first_ = nullptr;
    }

    std::filesystem::path file_;
    link_node* first_ = nullptr;
    bool is_changed_ = false;
};

} // namespace

system_kind malloc_system() {
    return {"malloc and fwrite",
            [](const std::filesystem::path& file) -> std::unique_ptr<ring> {
                auto made = std::make_unique<malloc_ring>(file);
                made->create();
                return made;
            },
            [](const std::filesystem::path& file) -> std::unique_ptr<ring> {
                auto read = std::make_unique<malloc_ring>(file);
                read->read();
                return read;
            }};
}
