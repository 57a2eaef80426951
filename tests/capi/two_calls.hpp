#pragma once
// The two calls of ptxgraft.h, as a user of a text or a list makes them, with what they promise checked.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "ptxgraft/ptxgraft.h"

namespace ptxgraft::test {

/// Elements that get(list, &count) gives; a list that has one too little room stays untouched.
template <class T, class Get> std::vector<T> list_of(Get&& get) {
    std::size_t count = 0;
    EXPECT_EQ(get(static_cast<T*>(nullptr), &count), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
    std::vector<T> list(count);
    if (count == 0) return list;
    std::memset(static_cast<void*>(list.data()), 0x5A, count * sizeof(T));
    const std::vector<T> before = list;
    std::size_t too_few = count - 1;
    EXPECT_EQ(get(list.data(), &too_few), PTXGRAFT_STATUS_buffer_too_small);
    EXPECT_EQ(too_few, count);
    EXPECT_EQ(std::memcmp(list.data(), before.data(), count * sizeof(T)), 0);
    EXPECT_EQ(get(list.data(), &count), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
    EXPECT_EQ(count, list.size());
    return list;
}

/// The text that get(text, &size) gives.
template <class Get> std::string text_of(Get&& get) {
    const std::vector<char> text = list_of<char>(get);
    if (text.empty()) return {};
    EXPECT_EQ(text.back(), '\0');
    return text.data();
}

}  // namespace ptxgraft::test
