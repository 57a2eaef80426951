#pragma once
// How the tests of the C interface call it with structs of other versions and with enumerators that are none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

#include "capi/structs.hpp"
#include "handles.hpp"
#include "ptxgraft/ptxgraft.h"

#define EXPECT_INVALID(call, text)                                           \
    do {                                                                     \
        EXPECT_EQ(call, PTXGRAFT_STATUS_argument_invalid);                   \
        EXPECT_THAT(ptxgraft_error_get_message(), testing::HasSubstr(text)); \
    } while (false)

namespace ptxgraft::test {

// A caller of a later version: its struct is 16 bytes longer.
template <class Struct> struct Later {
    Struct known;
    std::array<unsigned char, 16> more;
};

template <class Struct, class Call>
void expect_options_of_all_versions(const Struct& good, const char* name, std::size_t first, Call&& call) {
    SCOPED_TRACE(name);
    EXPECT_EQ(ptxgraft::capi::Versioned<Struct>::first_size, first) << "the size in version 1 never changes";
    Struct exact = good;
    EXPECT_EQ(call(&exact), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
    Later<Struct> later{good, {}};
    later.known.struct_size = sizeof later;
    static_assert(sizeof later == sizeof(Struct) + 16);
    EXPECT_EQ(call(&later.known), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
    for (const std::size_t at : {0u, 15u}) {
        later.more = {};
        later.more[at] = 1;
        EXPECT_INVALID(call(&later.known), "options of a newer version");
        EXPECT_THAT(ptxgraft_error_get_message(), testing::HasSubstr(name));
    }
    Struct wrong = good;
    for (const std::size_t size : {std::size_t{0}, std::size_t{8}, first - 1}) {
        wrong.struct_size = size;
        EXPECT_INVALID(call(&wrong), "struct_size is " + std::to_string(size) + "; a " + name +
                                         " has at least " + std::to_string(first) + " bytes");
    }
    for (const std::size_t size : {std::size_t{5000}, SIZE_MAX}) {
        wrong.struct_size = size;
        EXPECT_INVALID(call(&wrong),
                       "struct_size is " + std::to_string(size) + "; no " + name + " is as large");
    }
}

template <class Struct, class Call>
void expect_infos_of_all_versions(const Struct& init, const char* name, std::size_t first, Call&& call) {
    SCOPED_TRACE(name);
    EXPECT_EQ(ptxgraft::capi::Versioned<Struct>::first_size, first) << "the size in version 1 never changes";
    Struct exact = init;
    EXPECT_EQ(call(&exact), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
    EXPECT_NE(std::memcmp(&exact, &init, sizeof init), 0);
    for (const unsigned char fill : std::initializer_list<unsigned char>{0, 1}) {
        Later<Struct> later{init, {}};
        later.more.fill(fill);
        later.known.struct_size = sizeof later;
        EXPECT_EQ(call(&later.known), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
        EXPECT_THAT(later.more, testing::Each(fill));
        EXPECT_EQ(later.known.struct_size, sizeof later);
        later.known.struct_size = sizeof exact;
        EXPECT_EQ(std::memcmp(&later.known, &exact, sizeof exact), 0);
    }
    Struct wrong;
    std::memset(&wrong, 0x5A, sizeof wrong);
    for (const std::size_t size : {std::size_t{0}, std::size_t{8}, first - 1}) {
        Struct before = wrong;
        before.struct_size = wrong.struct_size = size;
        EXPECT_INVALID(call(&wrong), "struct_size is " + std::to_string(size) + "; a " + name +
                                         " has at least " + std::to_string(first) + " bytes");
        EXPECT_EQ(std::memcmp(&wrong, &before, sizeof wrong), 0);
    }
}

// Each field that is no enumerator, and is one modulo 256.
template <class Struct, class Enum, class Call>
void expect_checked(const Struct& good, Enum Struct::*field, const char* name, int last, Call&& call) {
    Struct options = good;
    for (const int value : {-1, last + 1, 256, 256 + last, 1 << 20, INT32_MIN, INT32_MAX}) {
        options.*field = static_cast<Enum>(value);
        EXPECT_INVALID(call(&options), std::string(name) + " is " + std::to_string(value) + "; it is 0 to " +
                                           std::to_string(last));
    }
}

}  // namespace ptxgraft::test
