#pragma once
/// @file host_memory.hpp
/// Calls that run out of host memory and yet come back with an error.

#include <new>
#include <utility>

#include "ptxgraft/error.hpp"

namespace ptxgraft {

/// What `call`, which returns an Expected, returns; Errc::out_of_memory where it throws std::bad_alloc.
/// Making that error takes no memory.
template <class Call> auto or_out_of_memory(Call&& call) -> decltype(call()) {
    try {
        return std::forward<Call>(call)();
    } catch (const std::bad_alloc&) {
        return tl::unexpected<Error>(Error{Errc::out_of_memory, {}, 0, {}, {}});
    }
}

}  // namespace ptxgraft
