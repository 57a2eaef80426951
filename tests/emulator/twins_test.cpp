// The programs of tests/twins, on the emulator. Where there is no nvcc, the programs that want it are skipped
// by name.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <sstream>

#include "ptxgraft/device.hpp"
#include "ptxgraft/link.hpp"
#include "support/cache.hpp"
#include "support/files.hpp"
#include "support/kept.hpp"
#include "support/paths.hpp"
#include "twins/twin.hpp"

namespace twin {
namespace {

using ptxgraft::test::read_file;

using namespace ptxgraft;

const std::string twins_dir = test::source_path("tests/twins");
const std::string nvcc = test::program_path("nvcc");

// "sm_90a nvcc -G": see twin.hpp.
struct Compilation {
    explicit Compilation(const std::string& text) {
        std::istringstream words(text);
        words >> target;
        for (std::string word; words >> word;)
            if (word == "nvcc")
                by_nvcc = true;
            else
                options.push_back(word);
    }
    std::string target;
    bool by_nvcc = false;
    std::vector<std::string> options;
};

// The PTX, or what the compiler said.
struct Compiled {
    std::string ptx, error;
};

// What a command prints, and whether it succeeds.
struct Printed {
    std::string text;
    bool is_right = false;
};
Printed print_of(const std::string& command) {
    FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    if (pipe == nullptr) return {.text = "cannot start " + command};
    std::string text;
    for (char buffer[4096]; std::fgets(buffer, sizeof buffer, pipe) != nullptr;) text += buffer;
    return {std::move(text), pclose(pipe) == 0};
}

// All that the PTX of a program is made of.
std::string sources_of(const std::string& command, const std::string& file) {
    static const std::string version = print_of(fmt::format("'{}' --version", nvcc)).text;
    return fmt::format("{}\n{}\n{}\n{}\n{}", version, command, read_file(file),
                       read_file(twins_dir + "/twin.hpp"), read_file(twins_dir + "/narrow.hpp"));
}

Compiled compile_by_nvcc(const std::string& file, const Compilation& how) {
    std::string command = fmt::format("'{}' -ptx -std=c++20 -arch={} '-I{}'", nvcc, how.target, twins_dir);
    for (const auto& option : how.options) command += " '" + option + "'";
    command += fmt::format(" '{}'", file);
    const std::string sources = sources_of(command, file);
    if (auto ptx = test::kept(sources)) return {.ptx = std::move(*ptx), .error = {}};
    const auto out = std::filesystem::temp_directory_path() / fmt::format("ptxgraft_twin_{}.ptx", getpid());
    const Printed log = print_of(command + fmt::format(" -o '{}'", out.string()));
    Compiled compiled{.ptx = read_file(out.string()), .error = {}};
    std::filesystem::remove(out);
    if (log.is_right)
        test::keep(sources, compiled.ptx);
    else
        compiled.error = command + '\n' + log.text;
    return compiled;
}

Compiled compile_by_nvrtc(const std::string& file, const Compilation& how) {
    const std::string source = read_file(file);
    auto ptx = compile_cuda(source, {.target = how.target,
                                     .include_dirs = {twins_dir},
                                     .options = how.options,
                                     .file_name = file,
                                     .cache = &test::cache()});
    if (!ptx) return {.ptx = {}, .error = describe(ptx.error(), source)};
    return {.ptx = std::move(ptx->text), .error = {}};
}

}  // namespace

struct Run::Data {
    std::optional<Device> device;
    std::string ptx;
    std::map<std::string, Function> functions;
    std::map<u64, Buffer> buffers;
    bool failed = false;
};

void Run::fail(const std::string& what) {
    data_.failed = true;
    ADD_FAILURE() << what;
}

void Run::skip(const char* reason) { GTEST_SKIP() << reason; }

bool Run::stopped() const { return data_.failed; }

u64 Run::upload_bytes(const void* data, std::size_t size) {
    auto buffer = data_.device->upload(std::span(static_cast<const std::byte*>(data), size));
    if (!buffer) return fail(describe(buffer.error(), "")), 0;
    const u64 address = buffer->address();
    data_.buffers.emplace(address, std::move(*buffer));
    return address;
}

void Run::download_bytes(u64 address, void* data, std::size_t size) {
    const auto buffer = data_.buffers.find(address);
    if (buffer == data_.buffers.end()) return fail("no buffer has this address");
    if (auto done = buffer->second.read(std::span(static_cast<std::byte*>(data), size)); !done)
        fail(describe(done.error(), data_.ptx));
}

Map Run::map_of_bf16(u64 address, u32 columns, u32 rows, u32 box_columns, u32 box_rows, bool swizzled) {
    Map map{};
    const auto encoded = data_.device->encode_tensor_map(
        {.type = TensorType::bf16,
         .address = address,
         .dims = {columns, rows},
         .strides = {columns * u64{2}},
         .box = {box_columns, box_rows},
         .swizzle = swizzled ? TensorSwizzle::bytes128 : TensorSwizzle::none});
    if (!encoded) return fail(describe(encoded.error(), "")), map;
    static_assert(sizeof map == sizeof *encoded);
    std::memcpy(&map, &*encoded, sizeof map);
    return map;
}

void Run::launch_bytes(const char* entry, const Shape& shape, const std::vector<Bytes>& arguments) {
    if (data_.failed) return;
    auto function = data_.functions.find(entry);
    if (function == data_.functions.end()) {
        auto loaded = data_.device->load(data_.ptx, entry);
        if (!loaded) return fail(describe(loaded.error(), data_.ptx));
        function = data_.functions.emplace(entry, std::move(*loaded)).first;
    }
    std::vector<Argument> values;
    for (const auto& [data, size] : arguments)
        values.push_back(Argument::raw(std::span(static_cast<const std::byte*>(data), size)));
    const LaunchConfig config{.grid = {shape.grid, shape.grid_y, 1},
                              .block = {shape.block, shape.block_y, 1},
                              .shared_bytes = shape.shared};
    if (auto done = function->second.launch(config, values); !done)
        fail(describe(done.error(), function->second.ptx()));
}

std::string Run::output() { return data_.device->take_output(); }

void Run::differs(const char* what, std::size_t index, const std::string& device, const std::string& host) {
    ADD_FAILURE() << fmt::format("{}[{}]: {} on the device, {} on the host", what, index, device, host);
}

std::string Run::decimal(double value) { return fmt::format("{}", value); }

std::string Run::hex(const void* value, std::size_t size) {
    std::string text = " 0x";
    for (std::size_t i = size; i-- > 0;) text += fmt::format("{:02x}", static_cast<const u8*>(value)[i]);
    return text;
}

std::string Run::words(const void* value, const void* other, std::size_t size) {
    std::string text;
    for (std::size_t at = 0; at < size; at += 4) {
        const auto* const word = static_cast<const u8*>(value) + at;
        if (std::memcmp(word, static_cast<const u8*>(other) + at, 4) != 0)
            text += fmt::format(" [word {}]{}", at / 4, hex(word, 4));
    }
    return text;
}

namespace {

class Program : public testing::Test {
  public:
    Program(std::string file, std::vector<std::string> compilations, void (*body)(twin::Run&))
        : file_(twins_dir + "/" + file), compilations_(std::move(compilations)), body_(body) {}

    void TestBody() override {
        bool left_out = false;
        for (const auto& compilation : compilations_) {
            const Compilation how(compilation);
            SCOPED_TRACE(compilation);
            if (how.by_nvcc && nvcc.empty())
                left_out = true;
            else
                run(how);
            if (HasFailure()) return;
        }
        if (left_out && !HasFailure()) GTEST_SKIP() << "no nvcc";
    }

  private:
    void run(const Compilation& how) const {
        twin::Run::Data data;
        auto compiled = how.by_nvcc ? compile_by_nvcc(file_, how) : compile_by_nvrtc(file_, how);
        ASSERT_TRUE(compiled.error.empty()) << compiled.error;
        data.ptx = std::move(compiled.ptx);
        auto device = Device::open("emulator:" + how.target);
        ASSERT_TRUE(device) << describe(device.error(), "");
        data.device.emplace(std::move(*device));
        twin::Run on_device(data);
        body_(on_device);
    }

    std::string file_;
    std::vector<std::string> compilations_;
    void (*body_)(twin::Run&);
};

}  // namespace

bool add(const char* name, const char* file, std::vector<std::string> compilations, void (*body)(Run&)) {
    testing::RegisterTest(
        "HostTwin", name, nullptr, nullptr, file, 1,
        [file = std::filesystem::path(file).filename().string(), compilations = std::move(compilations),
         body]() -> testing::Test* { return new Program(file, compilations, body); });
    return true;
}

}  // namespace twin
