// Coding: Huffman trees built, written and read bit by bit; run lengths; LZ77; base64; variable-length
// integers; UTF-8; the Burrows-Wheeler transform; numbers as text and back; wildcards.
#include "twin.hpp"

namespace codecs {

constexpr u32 most = 160;

struct Bits {
    u8 bytes[most];
    u32 size;
    BOTH void put(u32 bit) {
        if (size % 8 == 0) bytes[size / 8] = 0;
        bytes[size / 8] |= (u8)(bit << size % 8), ++size;
    }
    BOTH u32 get(u32 at) const { return bytes[at / 8] >> at % 8 & 1; }
};

// The text through a Huffman code of its own: the bits, and what is read back.
BOTH inline u32 huffman(const u8* text, u32 size) {
    u16 weight[15] = {};
    s8 parent[15], children[15][2];
    for (u32 i = 0; i < size; ++i) ++weight[text[i] % 8];
    for (s8& p : parent) p = -1;
    u32 used = 8;
    for (u32 step = 0; step < 7; ++step) {
        s8 low[2] = {-1, -1};
        for (s8 i = 0; i < (s8)used; ++i) {
            if (parent[i] >= 0) continue;
            if (low[0] < 0 || weight[i] < weight[low[0]])
                low[1] = low[0], low[0] = i;
            else if (low[1] < 0 || weight[i] < weight[low[1]])
                low[1] = i;
        }
        for (u32 i = 0; i < 2; ++i) parent[low[i]] = (s8)used, children[used][i] = low[i];
        weight[used++] = (u16)(weight[low[0]] + weight[low[1]]);
    }
    Bits bits;
    bits.size = 0;
    for (u32 i = 0; i < size; ++i) {
        u32 code = 0, length = 0;
        for (s8 at = (s8)(text[i] % 8); parent[at] >= 0; at = parent[at], ++length)
            code = code << 1 | (children[parent[at]][1] == at);
        for (; length > 0; --length, code >>= 1) bits.put(code & 1);
    }
    u32 hash = bits.size, wrong = 0, read = 0;
    for (u32 at = 0; at < bits.size;) {
        s8 node = 14;
        while (node >= 8) node = children[node][bits.get(at++)];
        hash = hash * 31 + (u32)node, wrong += node != text[read++] % 8;
    }
    return hash ^ wrong << 20;
}

BOTH inline u32 run_lengths(const u8* text, u32 size, u8* out) {
    u32 used = 0;
    for (u32 i = 0; i < size;) {
        u32 length = 1;
        while (i + length < size && length < 255 && text[i + length] / 64 == text[i] / 64) ++length;
        out[used++] = (u8)length, out[used++] = text[i] / 64, i += length;
    }
    return used;
}

BOTH inline u32 lempel_ziv(const u8* text, u32 size) {  // greedy; (distance, length, next)
    u8 out[3 * most], back[most + 32];
    u32 used = 0;
    for (u32 at = 0; at < size; ++at) {
        u32 best = 0, distance = 0;
        for (u32 from = at > 40 ? at - 40 : 0; from < at; ++from) {
            u32 length = 0;
            while (at + length + 1 < size && length < 20 && text[from + length] % 4 == text[at + length] % 4)
                ++length;
            if (length > best) best = length, distance = at - from;
        }
        at += best;
        out[used++] = (u8)distance, out[used++] = (u8)best, out[used++] = text[at] % 4;
    }
    u32 hash = used, size_back = 0;
    for (u32 i = 0; i < used; i += 3) {
        for (u32 k = 0; k < out[i + 1]; ++k, ++size_back) back[size_back] = back[size_back - out[i]];
        back[size_back++] = out[i + 2];
    }
    for (u32 i = 0; i < size_back; ++i) hash = hash * 33 + back[i] + (back[i] != text[i] % 4) * 1000000u;
    return hash;
}

BOTH inline u32 base64(const u8* text, u32 size, char* out) {
    const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    u32 used = 0;
    for (u32 i = 0; i < size; i += 3) {
        const u32 word = (u32)text[i] << 16 | (i + 1 < size ? (u32)text[i + 1] << 8 : 0) |
                         (i + 2 < size ? text[i + 2] : 0);
        for (u32 k = 0; k < 4; ++k) out[used++] = i + k > size ? '=' : digits[word >> (18 - 6 * k) & 63];
    }
    return used;
}

BOTH inline u32 utf8(u32 point, u8* out) {
    if (point < 0x80) return out[0] = (u8)point, 1;
    if (point < 0x800) return out[0] = (u8)(0xc0 | point >> 6), out[1] = (u8)(0x80 | (point & 63)), 2;
    if (point < 0x10000)
        return out[0] = (u8)(0xe0 | point >> 12), out[1] = (u8)(0x80 | (point >> 6 & 63)),
               out[2] = (u8)(0x80 | (point & 63)), 3;
    out[0] = (u8)(0xf0 | point >> 18), out[1] = (u8)(0x80 | (point >> 12 & 63)),
    out[2] = (u8)(0x80 | (point >> 6 & 63)), out[3] = (u8)(0x80 | (point & 63));
    return 4;
}

BOTH inline u32 burrows_wheeler(const u8* text, u32 size) {
    u8 order[64];
    size = size < 64 ? size : 64;
    for (u32 i = 0; i < size; ++i) {  // rotations, by insertion
        u32 at = i;
        for (; at > 0; --at) {
            u32 k = 0;
            while (k < size && text[(order[at - 1] + k) % size] == text[(i + k) % size]) ++k;
            if (k == size || text[(order[at - 1] + k) % size] < text[(i + k) % size]) break;
            order[at] = order[at - 1];
        }
        order[at] = (u8)i;
    }
    u32 hash = 0;
    for (u32 i = 0; i < size; ++i) hash = hash * 31 + text[(order[i] + size - 1) % size];
    return hash;
}

BOTH inline u32 number_text(s64 value, char* out) {
    char digits[24];
    u32 count = 0, used = 0;
    u64 left = value < 0 ? 0 - (u64)value : (u64)value;
    do digits[count++] = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0) out[used++] = '-';
    while (count > 0) out[used++] = digits[--count];
    out[used] = 0;
    return used;
}
BOTH inline double parsed(const char* text) {
    double value = 0, scale = 1;
    const bool negative = *text == '-';
    for (text += negative; *text >= '0' && *text <= '9'; ++text) value = value * 10 + (*text - '0');
    if (*text == '.')
        for (++text; *text >= '0' && *text <= '9'; ++text)
            scale /= 10, value = fma((double)(*text - '0'), scale, value);
    return negative ? -value : value;
}
BOTH inline bool matches(const char* pattern, const char* text) {
    if (*pattern == 0) return *text == 0;
    if (*pattern == '*') return matches(pattern + 1, text) || (*text && matches(pattern, text + 1));
    return *text && (*pattern == '?' || *pattern == *text) && matches(pattern + 1, text + 1);
}

struct Results {
    u32 huffman, runs, lz, base64, utf8, bwt;
    double number;
    u64 text;
};
template <class T> BOTH u32 hashed(const T* at, u32 size) {
    u32 hash = size;
    for (u32 i = 0; i < size; ++i) hash = hash * 131 + (u8)at[i];
    return hash;
}
BOTH inline Results all_of(const u8* text, u32 t) {
    const u32 size = 10 + t * 13 % (most - 20);
    Results r;
    u8 bytes[2 * most];
    char chars[2 * most];
    r.huffman = huffman(text, size), r.runs = hashed(bytes, run_lengths(text, size, bytes)),
    r.lz = lempel_ziv(text, size), r.bwt = burrows_wheeler(text, size);
    r.base64 = hashed(chars, base64(text, size, chars));
    r.utf8 = 0;
    for (u32 i = 0; i < 12; ++i)
        r.utf8 = r.utf8 * 7 + hashed(bytes, utf8(text[i] << (i + text[i + 1] % 3), bytes));
    const s64 value = (s64)((u64)text[0] << 56 | (u64)text[1] << 40 | (u64)t << 13 | text[2]);
    r.text = hashed(chars, number_text(value >> text[3] % 60, chars));
    const u32 used = number_text((s64)text[4] * 1001 - 90000, chars);
    chars[used] = '.', number_text(text[5], chars + used + 1);
    r.number = parsed(chars);
    const char* const patterns[4] = {"*1*", "-??*.*", "*.1?", "*0*5*"};
    for (u32 i = 0; i < 4; ++i) r.text = r.text * 2 + matches(patterns[i], chars);
    return r;
}

#ifdef __CUDACC__
ENTRY all(const u8* text, Results* out, u32 count) {
    const u32 t = thread_number();
    if (t < count) out[t] = all_of(text + t, t);
}
#else
TWIN(Codecs, "sm_80", "sm_90a nvcc -Xcicc -O0", "sm_75 nvcc -G", "sm_120a") {
    const u32 count = 70;
    auto text = run.random_values<u8>(most + count);
    for (std::size_t i = 1; i < text.size(); ++i)
        if (run.random() % 2) text[i] = text[i - 1];
    std::vector<Results> host;
    for (u32 t = 0; t < count; ++t) host.push_back(all_of(text.data() + t, t));
    const u64 out = run.zeros<Results>(count);
    run.launch("all", {.grid = 3, .block = 32}, run.upload(text), out, count);
    run.expect_same("all", run.download<Results>(out, count), host);
}
#endif
}  // namespace codecs
