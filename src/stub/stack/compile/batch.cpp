// Many programs on some threads.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "base/threads.hpp"
#include "ptxgraft/stack.hpp"

namespace ptxgraft::stack {
namespace {

constexpr std::size_t programs_per_turn = 64;

// What one thread has compiled: texts behind each other, in the order in which it took the programs.
struct Worker {
    Compiler compiler;
    std::string text;
    std::vector<std::uint64_t> constants;
    std::vector<std::uint32_t> programs;
    std::vector<std::pair<std::uint32_t, Error>> errors;

    void compile(std::uint32_t program, ProgramView view, const Machine& machine,
                 const CompileOptions& options, Batch::Item& item) {
        auto done = compiler.compile(view, machine, options);
        if (!done) {
            errors.emplace_back(program, std::move(done.error()));
            return;
        }
        programs.push_back(program);
        item = {text.size(),
                text.size() + done->ptx.size(),
                done->instruction_count,
                done->hash,
                Batch::none,
                done->parts,
                constants.size(),
                constants.size() + done->constants.size()};
        text.append(done->ptx);
        constants.insert(constants.end(), done->constants.begin(), done->constants.end());
    }
};

// The constants of all in the order of the items.
void gather_constants(Batch& batch, const std::vector<Worker>& workers) {
    std::vector<const Worker*> worker_of(batch.items.size());
    std::size_t count = 0;
    for (const Worker& worker : workers) {
        count += worker.constants.size();
        for (const std::uint32_t k : worker.programs) worker_of[k] = &worker;
    }
    if (count == 0) return;
    batch.constants.reserve(count);
    for (std::size_t k = 0; k < batch.items.size(); ++k) {
        if (worker_of[k] == nullptr) continue;
        Batch::Item& item = batch.items[k];
        const auto own = std::span(worker_of[k]->constants)
                             .subspan(item.constants_begin, item.constants_end - item.constants_begin);
        item.constants_begin = batch.constants.size();
        batch.constants.insert(batch.constants.end(), own.begin(), own.end());
        item.constants_end = batch.constants.size();
    }
}

// Places the items in their order; a worker's text is copied to where they are.
void gather(Batch& batch, std::vector<Worker>& workers) {
    gather_constants(batch, workers);
    std::vector<std::size_t> from(batch.items.size());
    std::size_t size = 0;
    for (std::size_t k = 0; k < batch.items.size(); ++k) {
        Batch::Item& item = batch.items[k];
        from[k] = item.begin;
        const std::size_t length = item.end - item.begin;
        item.begin = size;
        item.end = size += length;
    }
    batch.text.resize(size);
    on_threads(workers.size(), [&](std::size_t t) {
        for (const std::uint32_t k : workers[t].programs)
            std::memcpy(batch.text.data() + batch.items[k].begin, workers[t].text.data() + from[k],
                        batch.items[k].end - batch.items[k].begin);
    });
}

}  // namespace

Batch compile_batch(std::span<const ProgramView> programs, const Machine& machine,
                    const BatchOptions& options) {
    Batch batch;
    batch.items.resize(programs.size());
    const std::size_t turns = (programs.size() + programs_per_turn - 1) / programs_per_turn;
    std::vector<Worker> workers(std::clamp<std::size_t>(turns, 1, thread_count(options.threads)));
    std::atomic<std::size_t> next = 0;
    on_threads(workers.size(), [&](std::size_t t) {
        for (std::size_t turn; (turn = next.fetch_add(1)) < turns;) {
            const std::size_t end = std::min((turn + 1) * programs_per_turn, programs.size());
            for (std::size_t k = turn * programs_per_turn; k < end; ++k)
                workers[t].compile(static_cast<std::uint32_t>(k), programs[k], machine, options.compile,
                                   batch.items[k]);
        }
    });
    std::vector<std::pair<std::uint32_t, Error>> errors;
    for (Worker& w : workers) std::move(w.errors.begin(), w.errors.end(), std::back_inserter(errors));
    std::sort(errors.begin(), errors.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [program, error] : errors) {
        batch.items[program].error = static_cast<std::uint32_t>(batch.errors.size());
        batch.errors.push_back(std::move(error));
    }
    gather(batch, workers);
    return batch;
}

}  // namespace ptxgraft::stack
