#pragma once
/// @file objects.hpp
/// What the opaque types of ptxgraft.h hold.

#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "capi/boundary.hpp"
#include "capi/observe.hpp"
#include "ptxgraft/cache.hpp"
#include "ptxgraft/evaluate.hpp"
#include "ptxgraft/graph.hpp"
#include "ptxgraft/kernel.hpp"
#include "ptxgraft/program.hpp"
#include "ptxgraft/ptxgraft.h"

struct ptxgraft_device {
    explicit ptxgraft_device(ptxgraft::Device opened, std::shared_ptr<ptxgraft::capi::Observation> of = {})
        : device(std::move(opened)),
          name(device.name()),
          target(device.target()),
          observation(std::move(of)) {}
    ptxgraft::Device device;
    std::string name, target;
    std::mutex output_mutex;
    std::string output;  ///< printed by kernels, not yet fetched
    mutable std::mutex properties_mutex;
    mutable std::optional<ptxgraft::DeviceProperties> properties;  ///< since they were asked for
    std::shared_ptr<ptxgraft::capi::Observation> observation;      ///< null: launches are not observed
};

struct ptxgraft_timing {
    ptxgraft::TimingGuard guard;
};

struct ptxgraft_current {
    ptxgraft::CurrentDevice guard;
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

struct ptxgraft_graph {
    ptxgraft::Graph graph;
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

struct ptxgraft_assembler {
    explicit ptxgraft_assembler(std::shared_ptr<const ptxgraft::Assembler> found)
        : assembler(std::move(found)), name(assembler->name()), version(assembler->version()) {}
    std::shared_ptr<const ptxgraft::Assembler> assembler;
    std::string name, version;
};

struct ptxgraft_stop {
    std::stop_source source;
};

struct ptxgraft_cache {
    ptxgraft::Cache cache;
};

struct ptxgraft_machine_code {
    ptxgraft::MachineCode code;  ///< without a cubin when it is of a kernel on the emulator
};

struct ptxgraft_preparation {
    ptxgraft::Preparation preparation;
};

struct ptxgraft_batch {
    std::variant<std::vector<ptxgraft::Expected<ptxgraft::MachineCode>>,
                 std::vector<ptxgraft::Expected<ptxgraft::Kernel>>>
        results;
};

struct ptxgraft_kernel {
    explicit ptxgraft_kernel(ptxgraft::Kernel made) : kernel(std::move(made)), entry(kernel.entry()) {}
    ptxgraft::Kernel kernel;
    std::string entry;
};

struct ptxgraft_set {
    std::shared_ptr<const ptxgraft::stack::InstructionSet> set;
};

struct ptxgraft_machine {
    explicit ptxgraft_machine(ptxgraft::stack::Machine made);
    /// A register of the signature.
    struct Register {
        const ptxgraft::SiteOperand* operand = nullptr;  ///< of the machine's signature
        std::uint32_t element = 0;
    };
    ptxgraft::stack::Machine machine;
    std::vector<Register> registers;
    mutable std::once_flag hashed;
    mutable std::uint64_t hash = 0;  ///< since it was asked for
};

struct ptxgraft_program {
    ptxgraft::stack::Program program;
};

struct ptxgraft_sampler {
    ptxgraft::stack::Sampler sampler;
};

struct ptxgraft_compilation {
    ptxgraft::stack::Batch batch;
};

struct ptxgraft_evaluator {
    struct Register {
        bool is_read = false, is_written = false;
    };
    ptxgraft::stack::Evaluator evaluator;
    std::vector<Register> registers;  ///< of the signature
    bool is_prepared = false;         ///< it has a program
};
