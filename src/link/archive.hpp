#pragma once
/// @file archive.hpp
/// Values as bytes, for the cache's entries and keys and for what workers are told: every field of a struct
/// in its order, texts and lists behind their sizes. The structs are taken apart by structured bindings, so
/// that a new field does not compile until it is in the list here.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "link/cache.hpp"
#include "ptxgraft/link.hpp"

namespace ptxgraft::link {

template <class T, class Struct>
concept Is = std::same_as<std::remove_const_t<T>, Struct>;
template <class T>
concept Number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

// What each struct consists of: for the writer, whose fields are const, and for the reader.
template <class Archive, Is<FunctionUsage> T> void visit(Archive& archive, T& usage) {
    auto& [name, is_entry, registers, spill_stores, spill_loads, stack, shared, barriers, code, constants,
           parameters] = usage;
    archive(name, is_entry, registers, spill_stores, spill_loads, stack, shared, barriers, code, constants,
            parameters);
}
template <class Archive, Is<PerformanceLoss> T> void visit(Archive& archive, T& loss) {
    auto& [code, message] = loss;
    archive(code, message);
}
template <class Archive, Is<Cubin> T> void visit(Archive& archive, T& cubin) {
    auto& [image, assembler, functions, losses, log, constants, milliseconds] = cubin;
    archive(image, assembler, functions, losses, log, constants, milliseconds);
}
template <class Archive, Is<Ptx> T> void visit(Archive& archive, T& ptx) {
    auto& [text, log, from_cache] = ptx;
    archive(text, log, from_cache);
}
template <class Archive, Is<Key> T> void visit(Archive& archive, T& key) {
    auto& [low, high] = key;
    archive(low, high);
}
template <class Archive, Is<VariantPlace> T> void visit(Archive& archive, T& place) {
    auto& [module, suffix] = place;
    archive(module, suffix);
}
template <class Archive, Is<Span> T> void visit(Archive& archive, T& span) {
    auto& [begin, end] = span;
    archive(begin, end);
}
template <class Archive, Is<SourceText> T> void visit(Archive& archive, T& source) {
    auto& [name, text] = source;
    archive(name, text);
}
template <class Archive, Is<Error> T> void visit(Archive& archive, T& error) {
    auto& [code, span, index, detail, source, context_lost] = error;
    archive(code, span, index, detail, source, context_lost);
}
template <class Archive, Is<AssembleLimits> T> void visit(Archive& archive, T& limits) {
    auto& [registers, spills, stack, code] = limits;
    archive(registers, spills, stack, code);
}
template <class Archive, Is<AssembleOptions> T> void visit(Archive& archive, T& options) {
    auto& [target, optimisation, max_registers, relocatable, line_info, allow_performance_loss, more, limits,
           stop] = options;
    static_cast<void>(stop);  // says when the result is wanted no longer, not what it is
    archive(target, optimisation, max_registers, relocatable, line_info, allow_performance_loss, more,
            limits);
}

/// Appends fields to bytes.
class Writer {
  public:
    explicit Writer(std::string& bytes) : bytes_(bytes) {}
    template <class... Fields> void operator()(const Fields&... fields) { (put(fields), ...); }

  private:
    void put_bytes(const void* data, std::size_t size) {
        bytes_.append(static_cast<const char*>(data), size);
    }
    void put(Number auto number) { put_bytes(&number, sizeof number); }
    void put(std::string_view text) {
        put(text.size());
        put_bytes(text.data(), text.size());
    }
    void put(const std::string& text) { put(std::string_view(text)); }
    void put(const std::vector<std::byte>& data) {
        put(data.size());
        put_bytes(data.data(), data.size());
    }
    template <class T> void put(const std::vector<T>& list) {
        put(list.size());
        for (const T& item : list) put(item);
    }
    template <class T> void put(const std::optional<T>& value) {
        put(value.has_value());
        if (value) put(*value);
    }
    template <class T> void put(const std::shared_ptr<const T>& value) {
        put(value != nullptr);
        if (value) put(*value);
    }
    template <class T>
    requires std::is_class_v<T>
    void put(const T& value) { visit(*this, value); }

    std::string& bytes_;
};

/// Takes the same fields from bytes, which need not be what a writer wrote: what is_whole() denies is junk.
class Reader {
  public:
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}
    template <class... Fields> void operator()(Fields&... fields) { (get(fields), ...); }
    /// Whether the fields taken so far were there, and nothing is left.
    [[nodiscard]] bool is_whole() const { return !is_cut_ && bytes_.empty(); }

  private:
    std::string_view take(std::size_t size) {
        if (size > bytes_.size()) {
            is_cut_ = true;
            size = 0;
        }
        const std::string_view taken = bytes_.substr(0, size);
        bytes_.remove_prefix(size);
        return taken;
    }
    template <Number T> void get(T& number) {
        if (const std::string_view taken = take(sizeof number); taken.size() == sizeof number)
            std::memcpy(&number, taken.data(), sizeof number);
    }
    void get(bool& truth) {
        std::uint8_t byte = 0;
        get(byte);
        is_cut_ |= byte > 1;
        truth = byte == 1;
    }
    std::size_t get_size() {
        std::size_t size = 0;
        get(size);
        return size;
    }
    void get(std::string& text) { text = take(get_size()); }
    void get(std::vector<std::byte>& data) {
        const std::string_view taken = take(get_size());
        const auto* begin = reinterpret_cast<const std::byte*>(taken.data());
        data.assign(begin, begin + taken.size());
    }
    template <class T> void get(std::vector<T>& list) {
        const std::size_t count = get_size();
        if (count > bytes_.size()) is_cut_ = true;  // each item takes a byte or more
        for (std::size_t i = 0; i < count && !is_cut_; ++i) get(list.emplace_back());
    }
    template <class T> void get(std::optional<T>& value) {
        bool is_there = false;
        get(is_there);
        if (is_there) get(value.emplace());
    }
    template <class T> void get(std::shared_ptr<const T>& value) {
        bool is_there = false;
        get(is_there);
        if (!is_there) return;
        auto made = std::make_shared<T>();
        get(*made);
        value = std::move(made);
    }
    template <class T>
    requires std::is_class_v<T>
    void get(T& value) { visit(*this, value); }

    std::string_view bytes_;
    bool is_cut_ = false;
};

}  // namespace ptxgraft::link
