// Elites and archives in C.

#include "base/try.hpp"
#include "capi/search.hpp"
#include "ptxgraft/search_report.hpp"

using namespace ptxgraft;
using capi::call;

namespace {

Expected<const search::Elite*> elite_at(const ptxgraft_elites& elites, std::size_t index) {
    TRY(capi::check_index(index, elites.all.size(), "elite"));
    return &elites.all[index];
}

// Text that work(archive, options) makes of an archive.
template <class Work>
ptxgraft_status give_report(char* text, size_t* size, const char* archive, const char* title, Work work) {
    return call({{size, "size"}, {archive, "archive"}}, [&]() -> Expected<void> {
        const auto opened = TRY(search::Archive::open(archive));
        const auto made =
            TRY(work(opened, std::span<const search::Archive>(), {.title = title != nullptr ? title : ""}));
        return capi::give_text(text, size, made);
    });
}

}  // namespace

extern "C" {

ptxgraft_status ptxgraft_elites_create(ptxgraft_elites** elites, const ptxgraft_search* search) {
    return call({{elites, "elites"}, {search, "search"}}, [&]() -> Expected<void> {
        *elites = new ptxgraft_elites{search->task.space, search->search.elites()};
        return {};
    });
}

ptxgraft_status ptxgraft_elites_create_from_archive(ptxgraft_elites** elites, const char* archive) {
    return call({{elites, "elites"}, {archive, "archive"}}, [&]() -> Expected<void> {
        const auto opened = TRY(search::Archive::open(archive));
        auto all = TRY(opened.elites());
        *elites = new ptxgraft_elites{opened.space(), std::move(all)};
        return {};
    });
}

ptxgraft_status ptxgraft_elites_create_front(ptxgraft_elites** front, const ptxgraft_elites* elites) {
    return call({{front, "front"}, {elites, "elites"}}, [&]() -> Expected<void> {
        *front = new ptxgraft_elites{elites->space, search::pareto_front(elites->all)};
        return {};
    });
}

void ptxgraft_elites_destroy(ptxgraft_elites* elites) { delete elites; }

size_t ptxgraft_elites_get_count(const ptxgraft_elites* elites) {
    return capi::get(elites, "elites", size_t{0}, [](const ptxgraft_elites& e) { return e.all.size(); });
}

ptxgraft_status ptxgraft_elites_get(ptxgraft_elite_info* info, const ptxgraft_elites* elites, size_t elite) {
    return call({{info, "info"}, {elites, "elites"}}, [&]() -> Expected<void> {
        const auto found = TRY(elite_at(*elites, elite));
        const search::Elite& e = *found;
        return capi::give_info(
            info, {sizeof(*info), e.index, e.cost, e.descriptor.data(), e.descriptor.size(), e.cell.data(),
                   e.cell.size(), e.genome.tunables.data(), e.genome.tunables.size()});
    });
}

ptxgraft_status ptxgraft_program_create_from_elite(ptxgraft_program** program, const ptxgraft_elites* elites,
                                                   size_t elite, size_t site) {
    return call({{program, "program"}, {elites, "elites"}}, [&]() -> Expected<void> {
        const auto found = TRY(elite_at(*elites, elite));
        TRY(capi::check_index(site, found->genome.programs.size(), "site"));
        *program = new ptxgraft_program{found->genome.programs[site]};
        return {};
    });
}

ptxgraft_status ptxgraft_elites_get_description(char* text, size_t* size, const ptxgraft_elites* elites,
                                                size_t elite) {
    return call({{size, "size"}, {elites, "elites"}}, [&]() -> Expected<void> {
        const auto found = TRY(elite_at(*elites, elite));
        return capi::give_text(text, size, search::json_text(*found, elites->space));
    });
}

ptxgraft_status ptxgraft_archive_get_lines(char* text, size_t* size, const char* archive) {
    return call({{size, "size"}, {archive, "archive"}}, [&]() -> Expected<void> {
        const auto opened = TRY(search::Archive::open(archive));
        std::string lines;
        TRY(opened.export_json([&](std::string_view line) {
            lines += line;
            if (!line.ends_with('\n')) lines += '\n';
        }));
        return capi::give_text(text, size, lines);
    });
}

ptxgraft_status ptxgraft_archive_get_page(char* text, size_t* size, const char* archive, const char* title) {
    return give_report(text, size, archive, title, search::report_html);
}

ptxgraft_status ptxgraft_archive_get_facts(char* text, size_t* size, const char* archive, const char* title) {
    return give_report(text, size, archive, title, search::report_json);
}

ptxgraft_status ptxgraft_archive_merge(const char* out, const char* const* archives, size_t count) {
    return call({{out, "out"}}, [&]() -> Expected<void> {
        std::vector<std::string> paths;
        TRY(capi::copy_strings(paths, archives, count, "archives", "count"));
        return search::merge(paths, out);
    });
}

}  // extern "C"
