// NVRTC and nvJitLink by dlopen.

#include "link/cuda_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace ptxgraft::link {
namespace {

// Looks up functions of one library; keeps why one is missing.
class Library {
  public:
    Library(const char* what, const char* file)
        : what_(what), file_(file), handle_(::dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
        if (handle_ == nullptr) problem_ = fmt::format("{} cannot be loaded: {}", what_, ::dlerror());
    }
    template <class Function> void find(Function*& function, const char* name) {
        if (handle_ == nullptr) return;
        function = reinterpret_cast<Function*>(::dlsym(handle_, name));
        if (function == nullptr && problem_.empty())
            problem_ = fmt::format("{} cannot be used: {} has no function {}", what_, file_, name);
    }
    [[nodiscard]] const std::string& problem() const { return problem_; }

  private:
    const char* what_;
    const char* file_;
    void* handle_;  // never closed: its functions are used until the process ends
    std::string problem_;
};

}  // namespace

#define PTXGRAFT_FIND(name) library.find(functions.name, #name);

Expected<const Nvrtc*> open_nvrtc() {
    static const struct Opened {
        Opened(){PTXGRAFT_NVRTC_FUNCTIONS(PTXGRAFT_FIND)} Library library{"NVRTC", PTXGRAFT_NVRTC_FILE};
        Nvrtc functions;
    } opened;
    if (!opened.library.problem().empty()) return fail(Errc::compiler_not_usable, opened.library.problem());
    return &opened.functions;
}

Expected<const NvJitLink*> open_nvjitlink() {
    static const struct Opened {
        Opened(){PTXGRAFT_NVJITLINK_FUNCTIONS(PTXGRAFT_FIND)} Library library{"nvJitLink",
                                                                              PTXGRAFT_NVJITLINK_FILE};
        NvJitLink functions;
    } opened;
    if (!opened.library.problem().empty()) return fail(Errc::assembler_not_usable, opened.library.problem());
    return &opened.functions;
}

#undef PTXGRAFT_FIND

}  // namespace ptxgraft::link
