#pragma once
/// @file objects.hpp
/// What the opaque types of ptxgraft.h hold.

#include <string>
#include <vector>

#include "ptxgraft/kernel.hpp"
#include "ptxgraft/ptxgraft.h"

struct ptxgraft_device {
    ptxgraft::Device device;
    std::string output = {};  ///< printed by kernels, not yet fetched
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
