// String search: Boyer-Moore-Horspool, Knuth-Morris-Pratt, Rabin-Karp and shift-or, each beside std::search.
#include "twin.hpp"

namespace search {

BOTH inline s32 horspool(const u8* text, s32 size, const u8* word, s32 length) {
    u8 skip[256];
    for (int i = 0; i < 256; ++i) skip[i] = (u8)length;
    for (s32 i = 0; i + 1 < length; ++i) skip[word[i]] = (u8)(length - 1 - i);
    for (s32 at = 0; at + length <= size; at += skip[text[at + length - 1]]) {
        s32 i = length - 1;
        while (i >= 0 && text[at + i] == word[i]) --i;
        if (i < 0) return at;
    }
    return -1;
}

BOTH inline s32 knuth_morris_pratt(const u8* text, s32 size, const u8* word, s32 length) {
    s8 back[32];
    back[0] = -1;
    for (s32 i = 1, k = -1; i < length; ++i) {
        while (k >= 0 && word[k] != word[i - 1]) k = back[k];
        back[i] = (s8)++k;
    }
    for (s32 i = 0, k = 0; i < size; ++i) {
        while (k >= 0 && word[k] != text[i]) k = back[k];
        if (++k == length) return i - length + 1;
    }
    return -1;
}

BOTH inline s32 rabin_karp(const u8* text, s32 size, const u8* word, s32 length) {
    constexpr u32 prime = 1000003;
    u32 wanted = 0, rolling = 0, high = 1;
    for (s32 i = 0; i < length; ++i) {
        wanted = (wanted * 256 + word[i]) % prime, rolling = (rolling * 256 + text[i]) % prime;
        if (i > 0) high = high * 256 % prime;
    }
    for (s32 at = 0;; ++at) {
        if (wanted == rolling) {
            s32 i = 0;
            while (i < length && text[at + i] == word[i]) ++i;
            if (i == length) return at;
        }
        if (at + length >= size) return -1;
        rolling = ((rolling + prime - text[at] * high % prime) * 256 + text[at + length]) % prime;
    }
}

BOTH inline s32 shift_or(const u8* text, s32 size, const u8* word, s32 length) {
    u32 state = ~0u;
    for (s32 i = 0; i < size; ++i) {
        u32 mask = 0;
        for (s32 k = 0; k < length; ++k) mask |= (u32)(word[k] != text[i]) << k;
        state = state << 1 | mask;
        if (!(state >> (length - 1) & 1)) return i - length + 1;
    }
    return -1;
}

typedef s32 (*Search)(const u8*, s32, const u8*, s32);

#ifdef __CUDACC__
DEVICE const Search searches[4] = {horspool, knuth_morris_pratt, rabin_karp, shift_or};
ENTRY find(const u8* text, s32 size, const u8* words, s32* out) {
    const u32 t = thread_number();
    const u8* word = words + t / 4 * 16;
    out[t] = searches[t % 4](text, size, word + 1, word[0]);
}
#else

TWIN(Search, "sm_80", "sm_75 -G", "sm_90a nvcc -Xcicc -O0") {
    const s32 size = 600, words = 24;
    auto text = run.random_values<u8>(size);
    for (u8& c : text) c = (u8)('a' + c % 3);
    std::vector<u8> table(words * 16);
    std::vector<s32> host;
    for (s32 w = 0; w < words; ++w) {
        const s32 length = 1 + w % 11, from = (s32)(run.random() % (size - length));
        table[w * 16] = (u8)length;
        std::copy_n(text.begin() + from, length, table.begin() + w * 16 + 1);
        if (w % 6 == 5) table[w * 16 + length] = 'z';  // nowhere
        const auto word = table.begin() + w * 16 + 1;
        const auto found = std::search(text.begin(), text.end(), word, word + length);
        for (int i = 0; i < 4; ++i) host.push_back(found == text.end() ? -1 : (s32)(found - text.begin()));
    }
    const u64 out = run.zeros<s32>(host.size());
    run.launch("find", {.grid = 3, .block = 32}, run.upload(text), size, run.upload(table), out);
    run.expect_same("found", run.download<s32>(out, host.size()), host);
}
#endif
}  // namespace search
