#pragma once
// What the tests of caches keep: machine code that its number tells, and how they ask for it.

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "link/cache.hpp"

namespace ptxgraft::test {

/// Bytes that only this number gives.
inline Cubin cubin_of(std::uint64_t number, std::size_t size = 100) {
    Cubin cubin;
    std::uint64_t state = number * 2 + 1;
    for (std::size_t i = 0; i < size; ++i)
        cubin.image.push_back(static_cast<std::byte>((state *= 0x9E3779B97F4A7C15) >> 56));
    cubin.assembler = "test " + std::to_string(number);
    cubin.functions = {{"f", true, 1, 2, 3, 4, 5, 6},
                       {"g" + std::to_string(number), false, 7, 8, 9, 10, 11, 12}};
    cubin.losses = {{7510, "wgmma"}, {7504, ""}};
    cubin.log = "log";
    return cubin;
}

inline bool equal(const Cubin& a, const Cubin& b) {
    const auto rows = [](const Cubin& cubin) {
        std::string text = cubin.assembler + "|" + cubin.log;
        for (const auto& [name, is_entry, registers, stores, loads, stack, shared, barriers] :
             cubin.functions)
            for (const std::uint64_t n :
                 {std::uint64_t{is_entry}, std::uint64_t{registers}, std::uint64_t{stores},
                  std::uint64_t{loads}, std::uint64_t{stack}, std::uint64_t{shared}, std::uint64_t{barriers}})
                text += "|" + name + std::to_string(n);
        for (const auto& [code, message] : cubin.losses) text += "|" + std::to_string(code) + message;
        return text;
    };
    return a.image == b.image && rows(a) == rows(b);
}

inline link::Key key_of(std::uint64_t number) {
    link::KeyBuilder key;
    key.add("test");
    key.add(std::to_string(number));
    return key.key();
}

/// Asks for a number's machine code, and makes it where there is none. Fails the test when it gets another.
inline CacheLevel ask(const Cache& cache, std::uint64_t number, std::size_t size = 100) {
    CacheLevel from = CacheLevel::none;
    bool is_made = false;
    const auto make = [&]() -> Expected<Cubin> {
        is_made = true;
        return cubin_of(number, size);
    };
    const auto cubin = link::find_or_make(cache, key_of(number), make, &from);
    EXPECT_TRUE(cubin && equal(**cubin, cubin_of(number, size))) << number;
    EXPECT_TRUE(from == CacheLevel::none || !is_made) << number;
    return from;
}

inline std::filesystem::path entry_path(const std::filesystem::path& folder, std::uint64_t number) {
    return folder / (key_of(number).hex() + ".ptxgraft");
}

}  // namespace ptxgraft::test
