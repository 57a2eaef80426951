// printf: every conversion, flag, width and precision, beside the host's; strings from everywhere; many
// threads.
#ifndef __CUDACC__
#include <cstdio>
#endif
#include "twin.hpp"

namespace prints {

#ifdef __CUDACC__
#define SAY(...) printf(__VA_ARGS__)
#else
static std::string said;
template <class... T> static void say(const char* format, T... values) {
    char line[600];
    std::snprintf(line, sizeof line, format, values...);
    said += line;
}
#define SAY(...) say(__VA_ARGS__)
#pragma GCC diagnostic ignored "-Wformat-security"
#pragma GCC diagnostic ignored "-Wformat"
#endif

BOTH inline void lines(u32 t, const char* word) {
    SAY("%d %i %u %x %X %o %c|", -(s32)t, (s32)t * 3, t, t * 12345, t * 54321, t, 'a' + (s32)t % 26);
    SAY("%5d|%-5d|%05d|%+d|% d|%.3d|%8.3d|%-8.3dx\n", (s32)t, (s32)t, (s32)t, (s32)t, (s32)t, (s32)t, (s32)t,
        (s32)t);
    SAY("%f %.0f %.3f %e %.10e %g %G %a|%10.2f|%-10.2f|%010.2f|%+.1f %#g\n", t / 3.0, t / 2.0, -1.0 * t,
        t * 1e10, 1.0 / (t + 1), t * 1e-7, t * 1e20, t / 8.0, t * 1.0, t * 1.0, t * -1.0, t * 1.0, 1.0 * t);
    SAY("%lld %llu %llx %ld %lu %hd %hhd\n", -(s64)t << 33, ~0ull - t, 0x123456789abcull * t, (long)t - 5,
        (unsigned long)t, (int)(s16)(t * 1000), (int)(s8)(t * 50));
    SAY("%s|%10s|%-10s|%.2s|%%|%c%c\n", word, word, word, word, 'x', 'y');
    SAY("%#x %#o %p no arguments\n", t + 1, t + 8, (void*)(u64)(0x1000 + t));
    SAY("plain\n");
    SAY("%*d %.*f %-*s|\n", 6, (s32)t, 2, t * 0.5, 8, word);
}

#ifdef __CUDACC__
ENTRY speak(u32 only) {
    const char* const words[3] = {"one", "twenty", ""};
    for (u32 t = 0; t < 12; ++t)  // in turn: the order between threads is not said
        if (only == thread_number() && threadIdx.x == only) lines(t, words[t % 3]);
}
ENTRY crowd(u32 count) {
    if (thread_number() < count) printf("[%u]", thread_number());
}
#else

TWIN(Prints, "sm_80", "sm_75 -G", "sm_90a nvcc -Xcicc -O0") {
    said.clear();
    const char* const words[3] = {"one", "twenty", ""};
    for (u32 t = 0; t < 12; ++t) lines(t, words[t % 3]);
    run.launch("speak", {.block = 64}, 37u);
    const std::string device = run.output();
    const auto differ = std::mismatch(device.begin(), device.end(), said.begin(), said.end());
    const auto at = (std::size_t)(differ.first - device.begin());
    const auto line = said.rfind('\n', at) + 1;
    run.expect(device == said,
               "printed:\n" + device.substr(line, 200) + "\non the host:\n" + said.substr(line, 200));

    run.launch("crowd", {.grid = 4, .block = 64}, 200u);
    std::string all = run.output();
    u32 found = 0;
    for (u32 t = 0; t < 200; ++t) found += all.find("[" + std::to_string(t) + "]") != std::string::npos;
    run.expect(found == 200 && all.size() == 10 * 3 + 90 * 4 + 100 * 5, "each thread prints once: " + all);
}
#endif
}  // namespace prints
