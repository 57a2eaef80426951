#pragma once
/// @file call_stack.hpp
/// The call frames of a warp. Lanes that call together share a frame; a frame lives until the last of its
/// lanes has returned, and is used again by later calls of the same function.

#include <cstdint>
#include <memory>
#include <vector>

#include "emulator/machine/frame.hpp"
#include "emulator/memory/host_bytes.hpp"

namespace ptxgraft::emulator {

class Warp;

class CallStack {
  public:
    CallStack(Warp& warp, HostBytes& host_bytes) : warp_(warp), host_bytes_(host_bytes) {}
    /// The frame of the entry, for these lanes; all others are gone.
    [[nodiscard]] Frame& begin(std::uint32_t lanes);

    Flow call(const Function& function, const Call& call, std::uint32_t mask);
    Flow return_(std::uint32_t mask);
    Flow exit(std::uint32_t mask);
    /// The calls that led to a frame, the innermost first.
    [[nodiscard]] std::vector<Span> calls(const Frame* frame) const;
    /// Fails: the blocks that run take too much memory of the host.
    Failed fail_host_bytes(unsigned lane);

  private:
    Frame& new_frame(const Function& function);
    void free_frame(Frame& frame);
    void leave_frames(Frame* frame, std::uint32_t mask);
    void clear_local(const Frame& frame, std::uint32_t mask);
    void pass(const Slot& from, Frame& source, const Slot& to, Frame& target, std::uint32_t mask);

    Warp& warp_;
    std::vector<std::unique_ptr<Frame>> frames_;
    std::vector<Frame*> free_frames_;
    std::uint64_t frame_bytes_ = 0;
    HostBytes::Share host_bytes_;
};

}  // namespace ptxgraft::emulator
