// Rows of an archive, at once or by another thread.

#include "search/loop/writer.hpp"

#include <new>
#include <utility>

#include "base/try.hpp"

namespace ptxgraft::search {

// A block that is written by whichever thread of the crew comes to it first.
struct Writer::Later {
    Later(Writer& writer, Block written, std::vector<GateCount> counts, Crew& crew)
        : block(std::move(written)),
          gates(std::move(counts)),
          task(crew, 1, [this, &writer](std::size_t) { write(writer); }) {}
    // Without memory it is not written, and nothing goes on behind that.
    void write(Writer& writer) {
        try {
            done = writer.write_rows(block, 0, gates);
        } catch (const std::bad_alloc&) { done = tl::unexpected(Error{.code = Errc::archive_failed}); }
    }

    Block block;
    const std::vector<GateCount> gates;
    Expected<void> done;
    Crew::Task task;  // the last: it reads the others
};

void Writer::EndLater::operator()(Later* later) const { delete later; }

Expected<void> Writer::write_rows(const Block& block, std::size_t first, std::span<const GateCount> gates) {
    if (!gates.empty()) TRY(store_.add(gates));
    if (first == 0) TRY(store_.add(block.counts));
    for (std::size_t k = first; k < block.committed; ++k)
        TRY(store_.add(block.candidates[k], *block.results[k]));
    return store_.flush();
}

Expected<void> Writer::wait() {
    if (later_ == nullptr) return {};
    const std::unique_ptr<Later, EndLater> later = std::move(later_);
    later->task.finish();
    written_.push_back(std::move(later->block));
    return later->done;
}

Expected<void> Writer::write(const Block& block, std::size_t first) {
    TRY(wait());
    return write_rows(block, first, std::exchange(gates_, {}));
}

Expected<void> Writer::write_later(Block block, Crew& crew) {
    TRY(wait());
    later_.reset(new Later(*this, std::move(block), std::exchange(gates_, {}), crew));
    return crew.has_helpers() ? Expected<void>() : wait();
}

void Writer::add(std::span<const GateCount> gates) {
    gates_.resize(gates.size());
    for (std::size_t g = 0; g < gates.size(); ++g) {
        gates_[g].name = gates[g].name;
        gates_[g].in += gates[g].in;
        gates_[g].out += gates[g].out;
        gates_[g].seconds += gates[g].seconds;
        gates_[g].gpu_seconds += gates[g].gpu_seconds;
    }
}

Expected<void> Writer::set_stop(std::string_view stop) {
    TRY(wait());
    if (!gates_.empty()) TRY(store_.add(std::exchange(gates_, {})));
    TRY(store_.set_stop(stop));
    return store_.flush();
}

}  // namespace ptxgraft::search
