#pragma once
/// @file objects.hpp
/// What the opaque types of ptxgraft.h hold.

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ptxgraft/kernel.hpp"
#include "ptxgraft/ptxgraft.h"

struct ptxgraft_device {
    explicit ptxgraft_device(ptxgraft::Device opened) : device(std::move(opened)) {}
    ptxgraft::Device device;
    std::mutex output_mutex;
    std::string output;  ///< printed by kernels, not yet fetched
};

struct ptxgraft_buffer {
    ptxgraft::Buffer buffer;
};

struct ptxgraft_stream {
    ptxgraft::Stream stream;
};

struct ptxgraft_event {
    ptxgraft::Event event;
};

struct ptxgraft_skeleton {
    ptxgraft::Skeleton skeleton;
    std::vector<std::size_t>
        line_ends;  ///< offsets of line feeds: counting lines anew for every copy is quadratic
};

struct ptxgraft_stub {
    ptxgraft::Stub stub;
};

struct ptxgraft_kernel {
    ptxgraft::Kernel kernel;
};
