// NVRTC and nvJitLink by dlopen.

#include "link/cuda_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace ptxgraft::link {
namespace {

// The folders that what this code is linked into searches for what it needs: LD_LIBRARY_PATH, its run path,
// the system's.
std::vector<std::string> own_folders() {
    Dl_info self = {};
    if (::dladdr(reinterpret_cast<const void*>(&own_folders), &self) == 0) return {};
    void* handle = ::dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) handle = ::dlopen(nullptr, RTLD_LAZY);  // linked into the program
    Dl_serinfo size = {};
    if (handle == nullptr || ::dlinfo(handle, RTLD_DI_SERINFOSIZE, &size) != 0) return {};
    const auto bytes = std::make_unique<std::max_align_t[]>(size.dls_size / sizeof(std::max_align_t) + 1);
    auto* const list = reinterpret_cast<Dl_serinfo*>(bytes.get());
    list->dls_size = size.dls_size;
    list->dls_cnt = size.dls_cnt;
    if (::dlinfo(handle, RTLD_DI_SERINFO, list) != 0) return {};
    std::vector<std::string> folders;
    for (unsigned i = 0; i < list->dls_cnt; ++i) folders.emplace_back((&list->dls_serpath[0])[i].dls_name);
    return folders;
}

// dlopen searches the folders of its caller. Where something stands between, as AddressSanitizer does, that
// is not this code: so the file in the first of its folders that has one is opened.
void* open_library(const char* file) {
    constexpr int mode = RTLD_NOW | RTLD_LOCAL;
    if (void* const loaded = ::dlopen(file, mode | RTLD_NOLOAD)) return loaded;
    for (const std::string& folder : own_folders()) {
        const std::string path = folder + "/" + file;
        if (::access(path.c_str(), F_OK) == 0) return ::dlopen(path.c_str(), mode);
    }
    return ::dlopen(file, mode);
}

// Looks up functions of one library; keeps why one is missing.
class Library {
  public:
    Library(const char* what, const char* file) : what_(what), file_(file), handle_(open_library(file)) {
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
