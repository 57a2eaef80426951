// Operations on what a warp knows of itself, and on the parts of registers.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "emulator/cta.hpp"
#include "emulator/operations.hpp"

namespace ptxgraft::emulator {
namespace {

void spread(Lanes& output, std::uint64_t value, std::uint32_t mask) {
    each_lane(mask, [&](unsigned lane) {
        output[lane] = value;
        return true;
    });
}

}  // namespace

Flow execute_pair(Warp& warp, const Operation& operation, std::uint32_t mask) {
    std::array<Lanes*, 8> outputs;
    std::array<const Lanes*, 8> inputs;
    for (unsigned i = 0; i < operation.outputs; ++i) outputs[i] = &warp.lanes(operation.operands[i]);
    for (unsigned i = 0; i < operation.inputs; ++i)
        inputs[i] = &warp.lanes(operation.operands[operation.outputs + i]);
    warp.program().pairs[operation.extra].run(outputs.data(), inputs.data(), mask);
    return Flow::next;
}

Flow execute_add_constant(Warp& warp, const Operation& operation, std::uint32_t mask) {
    Lanes& output = warp.lanes(operation.operands[0]);
    const Lanes& a = warp.lanes(operation.operands[1]);
    const Lanes& c = warp.lanes(operation.operands[2]);
    each_lane(mask, [&](unsigned lane) {
        output[lane] = a[lane] + c[lane];
        return true;
    });
    return Flow::next;
}

Flow execute_local_address(Warp& warp, const Operation& operation, std::uint32_t mask) {
    spread(warp.lanes(operation.operands[0]), warp.local_address(operation.extra), mask);
    return Flow::next;
}

// PTX ISA 9.7.9.18; what is in no window is global, except that constant memory is apart.
Flow execute_isspacep(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const auto wanted = static_cast<Space>(operation.extra);
    const Lanes& addresses = warp.lanes(operation.operands[1]);
    Lanes& output = warp.lanes(operation.operands[0]);
    each_lane(mask, [&](unsigned lane) {
        Space space = place(addresses[lane]).space;
        if (space == Space::global) {
            const Region* region = warp.launch().memory->find(addresses[lane]);
            if (region != nullptr && region->read_only) space = Space::constant;
        }
        output[lane] = space == wanted ? 1 : 0;
        return true;
    });
    return Flow::next;
}

Flow execute_activemask(Warp& warp, const Operation& operation, std::uint32_t mask) {
    spread(warp.lanes(operation.operands[0]), mask, mask);
    return Flow::next;
}

Flow execute_refresh_clock(Warp& warp, const Operation&, std::uint32_t) {
    warp.refresh_clock();
    return Flow::next;
}

Flow execute_alloca(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const Lanes& sizes = warp.lanes(operation.operands[1]);
    std::uint64_t bytes = 0;
    each_lane(mask, [&](unsigned lane) {
        bytes = std::max(bytes, sizes[lane]);
        return true;
    });
    std::uint32_t offset = 0;
    if (bytes > UINT32_MAX ||
        !warp.extend_local(static_cast<std::uint32_t>(bytes), operation.extra, offset)) {
        return warp.fail(Errc::stack_overflow, static_cast<unsigned>(std::countr_zero(mask)),
                         fmt::format("alloca of {} bytes", bytes));
    }
    spread(warp.lanes(operation.operands[0]), offset, mask);
    return Flow::next;
}

Flow execute_stacksave(Warp& warp, const Operation& operation, std::uint32_t mask) {
    spread(warp.lanes(operation.operands[0]), warp.frame().local_top, mask);
    return Flow::next;
}

// The lanes of a frame share its top: lanes apart from the others leave it where it is.
Flow execute_stackrestore(Warp& warp, const Operation& operation, std::uint32_t mask) {
    Frame& frame = warp.frame();
    const std::uint64_t top =
        warp.lanes(operation.operands[0])[static_cast<unsigned>(std::countr_zero(mask))];
    const std::uint32_t least = frame.local_base + frame.function->local_bytes;
    if (mask == frame.lanes && top >= least && top <= frame.local_top)
        frame.local_top = static_cast<std::uint32_t>(top);
    return Flow::next;
}

Flow execute_pack(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const unsigned bits = operation.extra;
    const std::uint64_t part = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    Lanes packed = {};
    for (unsigned i = 0; i < operation.inputs; ++i) {
        const Lanes& element = warp.lanes(operation.operands[i + 1]);
        for (unsigned lane = 0; lane < 32; ++lane) packed[lane] |= (element[lane] & part) << (i * bits);
    }
    Lanes& output = warp.lanes(operation.operands[0]);
    each_lane(mask, [&](unsigned lane) {
        output[lane] = packed[lane];
        return true;
    });
    return Flow::next;
}

Flow execute_unpack(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const Lanes packed = warp.lanes(operation.operands[operation.outputs]);  // it may be one of the elements
    const std::uint64_t part = (std::uint64_t{1} << operation.extra) - 1;
    for (unsigned i = 0; i < operation.outputs; ++i) {
        Lanes& element = warp.lanes(operation.operands[i]);
        each_lane(mask, [&](unsigned lane) {
            element[lane] = packed[lane] >> (i * operation.extra) & part;
            return true;
        });
    }
    return Flow::next;
}

Flow execute_copy_elements(Warp& warp, const Operation& operation, std::uint32_t mask) {
    std::array<Lanes, 4> values;
    for (unsigned i = 0; i < operation.inputs; ++i)
        values[i] = warp.lanes(operation.operands[operation.outputs + i]);
    for (unsigned i = 0; i < operation.outputs; ++i) {
        Lanes& output = warp.lanes(operation.operands[i]);
        each_lane(mask, [&](unsigned lane) {
            output[lane] = values[i][lane];
            return true;
        });
    }
    return Flow::next;
}

}  // namespace ptxgraft::emulator
