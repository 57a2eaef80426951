#pragma once
/// @file objects.hpp
/// What the opaque types of ptxgraft.h hold.

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "capi/boundary.hpp"
#include "ptxgraft/kernel.hpp"
#include "ptxgraft/ptxgraft.h"

struct ptxgraft_device {
    explicit ptxgraft_device(ptxgraft::Device opened)
        : device(std::move(opened)), name(device.name()), target(device.target()) {}
    ptxgraft::Device device;
    std::string name, target;
    std::mutex output_mutex;
    std::string output;  ///< printed by kernels, not yet fetched
};

/// A report whose findings are put into words.
struct ptxgraft_report {
    struct Finding {
        ptxgraft::EmulatorFinding finding;
        ptxgraft::capi::Described error;
        std::string check;
    };
    explicit ptxgraft_report(ptxgraft::EmulatorReport taken);
    ptxgraft::EmulatorReport report;
    std::vector<Finding> findings;
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
    explicit ptxgraft_kernel(ptxgraft::Kernel made) : kernel(std::move(made)), entry(kernel.entry()) {}
    ptxgraft::Kernel kernel;
    std::string entry;
};
