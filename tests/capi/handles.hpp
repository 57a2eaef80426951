#pragma once
// Objects of the C interface that are destroyed where they go, and what the tests of machine code make of
// them.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernel/route_kernels.hpp"
#include "ptxgraft/ptxgraft.h"

namespace ptxgraft::test {

/// A handle, null until a call made it: `&handle` is the out parameter.
template <class Object, void (*destroy)(Object*)> class Handle {
  public:
    Handle() = default;
    Handle(Handle&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Handle& operator=(Handle&& other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Handle() { destroy(object_); }
    Object** operator&() { return &object_; }
    operator Object*() const { return object_; }
    void reset() { destroy(release()); }
    /// The object, which is the caller's from now on.
    Object* release() { return std::exchange(object_, nullptr); }

  private:
    Object* object_ = nullptr;
};
using CSkeleton = Handle<ptxgraft_skeleton, ptxgraft_skeleton_destroy>;
using CStub = Handle<ptxgraft_stub, ptxgraft_stub_destroy>;
using CDevice = Handle<ptxgraft_device, ptxgraft_device_destroy>;
using CKernel = Handle<ptxgraft_kernel, ptxgraft_kernel_destroy>;
using CBuffer = Handle<ptxgraft_buffer, ptxgraft_buffer_destroy>;
using CAssembler = Handle<ptxgraft_assembler, ptxgraft_assembler_destroy>;
using CCache = Handle<ptxgraft_cache, ptxgraft_cache_destroy>;
using CStop = Handle<ptxgraft_stop, ptxgraft_stop_destroy>;
using CCode = Handle<ptxgraft_machine_code, ptxgraft_machine_code_destroy>;
using CPreparation = Handle<ptxgraft_preparation, ptxgraft_preparation_destroy>;
using CSet = Handle<ptxgraft_set, ptxgraft_set_destroy>;
using CMachine = Handle<ptxgraft_machine, ptxgraft_machine_destroy>;
using CProgram = Handle<ptxgraft_program, ptxgraft_program_destroy>;
using CSampler = Handle<ptxgraft_sampler, ptxgraft_sampler_destroy>;
using CCompilation = Handle<ptxgraft_compilation, ptxgraft_compilation_destroy>;
using CEvaluator = Handle<ptxgraft_evaluator, ptxgraft_evaluator_destroy>;
using CBatch = Handle<ptxgraft_batch, ptxgraft_batch_destroy>;

#define ASSERT_OK(call) ASSERT_EQ(call, PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message()
#define EXPECT_OK(call) EXPECT_EQ(call, PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message()

inline CSkeleton c_skeleton(std::string_view ptx) {
    CSkeleton made;
    EXPECT_OK(ptxgraft_skeleton_create_from_ptx(&made, ptx.data(), ptx.size()));
    return made;
}

/// A stub of PTX for a site.
inline CStub c_stub(const ptxgraft_skeleton* skeleton, std::string_view ptx = stub_text,
                    const char* site = "s") {
    CStub made;
    EXPECT_OK(ptxgraft_stub_create_from_ptx(&made, skeleton, site, ptx.data(), ptx.size()));
    return made;
}

/// stub_text, which also adds a number; or what no sm_90a does.
inline std::string adding(int number) {
    return std::string(stub_text) + "add.f32 acc, acc, " + std::to_string(number) + ".0;\n";
}
inline std::string refused(int number) { return adding(number) + "redux.sync.min.f32 acc, acc, -1;\n"; }

/// A kernel with the site s, and one with the sites s and t, in which a stub may use its warp.
inline std::string warp_site() { return kernel(copy("allow warp") + copy("allow warp")); }
inline std::string two_sites() {
    std::string other = copy();
    other.replace(other.find("PTXGRAFT_SITE s"), 15, "PTXGRAFT_SITE t");
    return kernel(copy() + copy() + other);
}

inline std::vector<std::byte> image_of(const ptxgraft_machine_code* code) {
    std::size_t size = 0;
    EXPECT_OK(ptxgraft_machine_code_get_image(nullptr, &size, code));
    std::vector<std::byte> image(size);
    EXPECT_OK(ptxgraft_machine_code_get_image(image.data(), &size, code));
    EXPECT_EQ(size, image.size());
    return image;
}

inline ptxgraft_machine_code_info info_of(const ptxgraft_machine_code* code) {
    ptxgraft_machine_code_info info = PTXGRAFT_MACHINE_CODE_INFO_INIT;
    EXPECT_OK(ptxgraft_machine_code_get_info(&info, code));
    return info;
}

inline ptxgraft_route_info route_of(const ptxgraft_machine_code* code, std::size_t index) {
    ptxgraft_route_info info = PTXGRAFT_ROUTE_INFO_INIT;
    EXPECT_OK(ptxgraft_machine_code_get_route(&info, code, index));
    return info;
}

inline ptxgraft_cache_counters counters_of(const ptxgraft_cache* cache) {
    ptxgraft_cache_counters counters = PTXGRAFT_CACHE_COUNTERS_INIT;
    EXPECT_OK(ptxgraft_cache_get_counters(&counters, cache));
    return counters;
}

}  // namespace ptxgraft::test
