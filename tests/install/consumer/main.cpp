#include <cstdio>
#include <ptxgraft/ptxgraft.hpp>

int main() {
    const auto failed = ptxgraft::fail(ptxgraft::Errc::file_not_found, std::string("a.ptx"));
    std::printf("%s", ptxgraft::describe(failed.value()).c_str());
    std::printf("NVRTC %s, device %s\n", ptxgraft::nvrtc_version().c_str(),
                ptxgraft::Device::open("emulator").value().name().c_str());
}
