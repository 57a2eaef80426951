// Genomes as bytes: for each program its length and its bytes, then the places of the tunables' values.

#include "search/archive/bytes.hpp"

#include <cstring>

#include "base/try.hpp"
#include "ptxgraft/program.hpp"

namespace ptxgraft::search {
namespace {

void put(std::vector<std::byte>& bytes, std::uint32_t value) {
    for (int k = 0; k < 4; ++k) bytes.push_back(static_cast<std::byte>(value >> 8 * k));
}

class Reader {
  public:
    explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}
    Expected<std::uint32_t> number() {
        const auto four = TRY(some(4));
        std::uint32_t value = 0;
        for (int k = 0; k < 4; ++k)
            value |= std::to_integer<std::uint32_t>(four[static_cast<std::size_t>(k)]) << 8 * k;
        return value;
    }
    Expected<std::span<const std::byte>> some(std::size_t count) {
        if (count > left_.size()) return fail(Errc::archive_malformed, "a genome is cut off");
        const auto taken = left_.first(count);
        left_ = left_.subspan(count);
        return taken;
    }
    [[nodiscard]] bool is_at_end() const { return left_.empty(); }

  private:
    std::span<const std::byte> left_;
};

}  // namespace

std::vector<std::byte> bytes_of(const Genome& genome) {
    std::vector<std::byte> bytes;
    put(bytes, static_cast<std::uint32_t>(genome.programs.size()));
    for (const stack::Program& program : genome.programs) {
        const std::vector<std::byte> of = stack::to_bytes(program);
        put(bytes, static_cast<std::uint32_t>(of.size()));
        bytes.insert(bytes.end(), of.begin(), of.end());
    }
    for (const std::uint32_t value : genome.tunables) put(bytes, value);
    return bytes;
}

Expected<Genome> genome_of(std::span<const std::byte> bytes) {
    Reader reader(bytes);
    Genome genome;
    const std::uint32_t programs = TRY(reader.number());
    for (std::uint32_t k = 0; k < programs; ++k) {
        const std::uint32_t size = TRY(reader.number());
        const auto program = TRY(reader.some(size));
        genome.programs.push_back(TRY(stack::program_from_bytes(program)));
    }
    while (!reader.is_at_end()) genome.tunables.push_back(TRY(reader.number()));
    return genome;
}

}  // namespace ptxgraft::search
