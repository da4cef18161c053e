// Remanence: the spool of examples/news_spool, with a heap for each group and one for the catalogue.
#include "store.hpp"

#include <administration.hpp>
#include <posting.hpp>
#include <spool.hpp>

#include <optional>
#include <stdexcept>

namespace {

class remanence_store final : public store {
public:
    explicit remanence_store(const std::filesystem::path& directory) : spool_(directory) {}

    void make_group(const std::string& name) override { news::make_group(spool_, name, "for measurements"); }
    void post(const news::article& what, unsigned process) override {
        const news::post_result result = news::post(spool_, what, process, [] { return false; });
        if (!result.posted)
            throw std::runtime_error(what.message_id + ": " + result.reason);
    }
    std::string read(std::string_view message_id) override {
        for (const std::string& name : spool_.index().places(message_id)) {
            const news::group_file* const group = spool_.open(name);
            const auto number = group == nullptr ? std::nullopt : group->number_of(message_id);
            if (number)
                return group->find(*number)->text;
        }
        throw std::runtime_error("there is no " + std::string(message_id));
    }
    std::string overview(const std::string& group, std::size_t count) override {
        std::string lines;
        std::size_t left = count;
        spool_.open(group)->visit(1, ~news::article_number{0}, [&](news::article_number number, const auto& each) {
            lines += std::to_string(number) + '\t';
            lines.append(each.overview).append("\r\n");
            return --left != 0;
        });
        return lines;
    }

private:
    news::spool spool_;
};

} // namespace

system_kind remanence_system() {
    return {"Remanence",
            [](const std::filesystem::path& directory) { return std::make_unique<remanence_store>(directory); }};
}
