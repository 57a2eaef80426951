#pragma once
/// @file cuda_library.hpp
/// NVRTC and nvJitLink, opened when they are first used: to load both takes a process some 20 ms and 12 MB,
/// which one that reads, checks or runs PTX does without.

#include <nvJitLink.h>
#include <nvrtc.h>

#include "ptxgraft/error.hpp"

namespace ptxgraft::link {

// clang-format off
#define PTXGRAFT_NVRTC_FUNCTIONS(X) \
    X(nvrtcCompileProgram) X(nvrtcCreateProgram) X(nvrtcDestroyProgram) X(nvrtcGetErrorString) \
    X(nvrtcGetNumSupportedArchs) X(nvrtcGetPTX) X(nvrtcGetPTXSize) X(nvrtcGetProgramLog) \
    X(nvrtcGetProgramLogSize) X(nvrtcGetSupportedArchs) X(nvrtcVersion)
#define PTXGRAFT_NVJITLINK_FUNCTIONS(X) \
    X(nvJitLinkAddData) X(nvJitLinkComplete) X(nvJitLinkCreate) X(nvJitLinkDestroy) X(nvJitLinkGetErrorLog) \
    X(nvJitLinkGetErrorLogSize) X(nvJitLinkGetInfoLog) X(nvJitLinkGetInfoLogSize) \
    X(nvJitLinkGetLinkedCubin) X(nvJitLinkGetLinkedCubinSize) X(nvJitLinkVersion)
// clang-format on

#define PTXGRAFT_FUNCTION_MEMBER(name) decltype(&::name) name = nullptr;
/// The functions of NVRTC that are used.
struct Nvrtc {
    PTXGRAFT_NVRTC_FUNCTIONS(PTXGRAFT_FUNCTION_MEMBER)
};
/// Those of nvJitLink.
struct NvJitLink {
    PTXGRAFT_NVJITLINK_FUNCTIONS(PTXGRAFT_FUNCTION_MEMBER)
};
#undef PTXGRAFT_FUNCTION_MEMBER

/// Found as the dynamic linker finds what this library needs: in LD_LIBRARY_PATH, on its run path, in the
/// system's folders. What was opened, or was not, stays so until the process ends. Errors:
/// Errc::compiler_not_usable with what the dynamic linker says.
[[nodiscard]] Expected<const Nvrtc*> open_nvrtc();
/// Errors: Errc::assembler_not_usable.
[[nodiscard]] Expected<const NvJitLink*> open_nvjitlink();

}  // namespace ptxgraft::link
