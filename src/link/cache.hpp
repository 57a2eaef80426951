#pragma once
/// @file cache.hpp
/// Keys, and the lookup that all stages share: what is asked for is found, or made once and kept.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ptxgraft/cache.hpp"

namespace ptxgraft::link {

/// 128 bits that stand for everything that a result depends on.
struct Key {
    std::uint64_t low = 0, high = 0;
    [[nodiscard]] std::string hex() const;
    friend bool operator==(const Key&, const Key&) = default;
};

/// Collects fields into a key. Fields are delimited: ("ab", "c") and ("a", "bc") give different keys. The
/// first one says what the key is of, with a version: "assemble 1".
class KeyBuilder {
  public:
    KeyBuilder();
    ~KeyBuilder();
    KeyBuilder(const KeyBuilder&) = delete;
    KeyBuilder& operator=(const KeyBuilder&) = delete;
    void add(std::string_view field);
    void add(const Key& part);
    [[nodiscard]] Key key() const;

  private:
    void* state_;
};

/// The key of `assembler.assemble(ptx, options)`: over the text, every option, the assembler's name and full
/// version, and ptxgraft's version. nullopt when an option names a file that the assembler would read. Of its
/// time nearly all is hashing the text, 10 to 20 GB/s.
[[nodiscard]] std::optional<Key> assembly_key(std::string_view ptx, const AssembleOptions& options,
                                              const Assembler& assembler);
/// Adds every option, in an order of its own: for keys of results that are assembled from other things than
/// one text.
void add_options(KeyBuilder& key, const AssembleOptions& options);
/// Whether an option makes an assembler read a file, whose text is in no key.
[[nodiscard]] bool names_file(const AssembleOptions& options);

/// Whether an error comes from the input, so that the same input gives it again: such errors are kept.
[[nodiscard]] bool is_of_input(Errc code);

/// What the cache has under a key, in memory or in its folder; else what `make` gives, which is kept: a
/// result, or an error for which is_of_input() holds. Of threads that ask for a key at once one calls `make`,
/// and the others wait and get the same, be it kept or not. When `make` throws, its caller gets the
/// exception, and those who wait try themselves; so they do when it gives Errc::work_stopped. `make` may
/// ask for its own key, as an assembler with a cache of its own does, and works then; it must not wait for a
/// thread that may be waiting here. Of processes that share the folder and ask at once one works too: the
/// others wait for its lock, which is free when it dies, at most a minute.
/// Results are shared, not copied. `from` is where it was. Without `make` what is not there is
/// Errc::work_stopped.
[[nodiscard]] Expected<std::shared_ptr<const Cubin>> find_or_make(
    const Cache& cache, const Key& key, const std::function<Expected<Cubin>()>& make,
    CacheLevel* from = nullptr);
/// The same when `make` has a result that others share already.
[[nodiscard]] Expected<std::shared_ptr<const Cubin>> find_or_make(
    const Cache& cache, const Key& key, const std::function<Expected<std::shared_ptr<const Cubin>>()>& make,
    CacheLevel* from = nullptr);
/// The same of PTX. One key is of one kind of result alone.
[[nodiscard]] Expected<std::shared_ptr<const Ptx>> find_or_make(const Cache& cache, const Key& key,
                                                                const std::function<Expected<Ptx>()>& make,
                                                                CacheLevel* from = nullptr);

/// Where the machine code of a candidate is that was assembled together with others: in the module of that
/// key, behind whose names of functions stands the suffix.
struct VariantPlace {
    Key module;
    std::string suffix;
};
/// Keeps it, instead of what was kept under that key, or finds it.
void keep(const Cache& cache, const Key& key, const VariantPlace& place);
[[nodiscard]] std::optional<VariantPlace> find_place(const Cache& cache, const Key& key);

}  // namespace ptxgraft::link
