// Automata: many words at once by Aho and Corasick, regular expressions as sets of states, a tokeniser of
// JSON, one-dimensional cellular automata, Turing machines, Levenshtein automata by bits, parsing by
// precedence.
#include "twin.hpp"

namespace automata {

struct Trie {  // of words over four letters
    s16 next[64][4];
    s16 back[64];
    u32 ends[64], size;

    BOTH void add(const u8* word, u32 length, u32 bit) {
        s16 at = 0;
        for (u32 i = 0; i < length; ++i) {
            s16& to = next[at][word[i] & 3];
            if (to < 0) {
                to = (s16)size;
                for (s16& x : next[size]) x = -1;
                ends[size++] = 0;
            }
            at = to;
        }
        ends[at] |= 1u << bit;
    }
    BOTH void build(const u8* words) {
        size = 1, ends[0] = 0;
        for (s16& x : next[0]) x = -1;
        for (u32 w = 0; w < 8; ++w) add(words + 5 * w, 2 + w % 4, w);
        u8 queue[64];
        u32 head = 0, tail = 0;
        back[0] = 0;
        for (s16& to : next[0])
            if (to < 0)
                to = 0;
            else
                back[to] = 0, queue[tail++] = (u8)to;
        while (head < tail) {
            const u8 at = queue[head++];
            ends[at] |= ends[back[at]];
            for (u32 c = 0; c < 4; ++c) {
                const s16 to = next[at][c], other = next[back[at]][c];
                if (to < 0)
                    next[at][c] = other;
                else
                    back[to] = other, queue[tail++] = (u8)to;
            }
        }
    }
};

BOTH inline u32 json_depth(const u8* text, u32 size) {  // tokens of a text of ten signs; a hash of them
    const char signs[] = "{}[],:\"\\17";
    enum { outside, string, escaped, number } state = outside;
    u32 hash = 0, depth = 0;
    for (u32 i = 0; i < size; ++i) {
        const char c = signs[text[i] % 10];
        switch (state) {
            case escaped: state = string; break;
            case string:
                if (c == '"')
                    state = outside, hash = hash * 31 + 1;
                else if (c == '\\')
                    state = escaped;
                break;
            case number:
                if (c == '1' || c == '7') break;
                state = outside, hash = hash * 31 + 2;
                [[fallthrough]];
            case outside:
                if (c == '"')
                    state = string;
                else if (c == '{' || c == '[')
                    ++depth, hash = hash * 31 + depth;
                else if (c == '}' || c == ']')
                    depth -= depth > 0, hash = hash * 31 + 100 + depth;
                else if (c == '1' || c == '7')
                    state = number;
                else
                    hash = hash * 31 + (u8)c;
        }
    }
    return hash * 4 + state;
}

// Bitap: the ends of matches with at most two errors
BOTH inline u32 within_two(const u8* word, u32 length, const u8* text, u32 size) {
    u32 masks[4] = {}, state[3] = {}, hash = 0;
    for (u32 i = 0; i < length; ++i) masks[word[i] & 3] |= 1u << i;
    for (u32 k = 0; k < 3; ++k) state[k] = (1u << k) - 1;
    for (u32 i = 0; i < size; ++i) {
        const u32 mask = masks[text[i] & 3];
        u32 before = state[0];
        state[0] = (state[0] << 1 | 1) & mask;
        for (u32 k = 1; k < 3; ++k) {
            const u32 old = state[k];
            state[k] = (old << 1 & mask) | before | before << 1 | state[k - 1] << 1 | 1;
            before = old;
        }
        hash = hash * 3 + (state[2] >> (length - 1) & 1) + (state[0] >> (length - 1) & 1);
    }
    return hash;
}

BOTH inline u32 busy_beaver(u32 rules) {  // a machine of 4 states on a tape of 64 cells
    u64 tape = 0;
    u32 state = 0, at = 32, steps = 0;
    for (; steps < 300 && state < 4; ++steps) {
        const u32 rule = rules >> (state * 8 + (tape >> at & 1) * 4) & 15;
        tape = (tape & ~(1ull << at)) | (u64)(rule & 1) << at;
        at = (at + (rule & 2 ? 1 : 63)) % 64;
        state = (state * 3 + (rule >> 2) + 1) % 5;
    }
    return steps * 64 + (u32)
#ifdef __CUDACC__
                            __popcll(tape);
#else
                            std::popcount(tape);
#endif
}

// precedence climbing: digits and the operators + - * ^
BOTH inline s32 value(const u8* text, u32& at, u32 size, u32 least) {
    s32 left = text[at < size ? at : size - 1] % 10;
    ++at;
    while (at < size) {
        const u32 op = text[at] % 4, strength = op / 2 + (op == 3) + 1;
        if (strength < least) break;
        ++at;
        const s32 right = value(text, at, size, op == 3 ? strength : strength + 1);
        left = op == 0   ? (s32)((u32)left + (u32)right)
               : op == 1 ? (s32)((u32)left - (u32)right)
               : op == 2 ? (s32)((u32)left * (u32)right)
                         : left ^ right;
    }
    return left;
}

struct Results {
    u32 found, json, bitap, beaver;
    s32 value;
    u32 rule;
};
BOTH inline Results results(const u8* text, u32 t) {
    Results r;
    Trie trie;
    trie.build(text + t);
    r.found = 0;
    s16 at = 0;
    for (u32 i = 0; i < 90; ++i) at = trie.next[at][text[i] & 3], r.found = r.found * 5 + trie.ends[at];
    r.json = json_depth(text + t, 60), r.bitap = within_two(text + t, 4 + t % 8, text + 40, 80);
    r.beaver = busy_beaver(text[t] | (u32)text[t + 1] << 8 | (u32)text[t + 2] << 16 | (u32)text[t + 3] << 24);
    u32 cursor = 0;
    r.value = value(text + t, cursor, 40, 1);
    u32 cells = 1u << t % 32;
    for (u32 i = 0; i < 50; ++i) {  // rule number text[t], on a ring
        u32 next = 0;
        for (u32 k = 0; k < 32; ++k)
            next |= (u32)(text[t] >> ((cells >> (k + 31) % 32 & 1) * 4 + (cells >> k & 1) * 2 +
                                      (cells >> (k + 1) % 32 & 1)) &
                          1)
                    << k;
        cells = next;
    }
    r.rule = cells;
    return r;
}

#ifdef __CUDACC__
ENTRY all(const u8* text, Results* out, u32 count) {
    const u32 t = thread_number();
    if (t < count) out[t] = results(text, t);
}
#else
TWIN(Automata, "sm_80", "sm_75 -G", "sm_90a nvcc -Xcicc -O0", "sm_120a") {
    const auto text = run.random_values<u8>(220);
    std::vector<Results> host;
    for (u32 t = 0; t < 100; ++t) host.push_back(results(text.data(), t));
    const u64 out = run.zeros<Results>(100);
    run.launch("all", {.grid = 4, .block = 32}, run.upload(text), out, 100u);
    run.expect_same("all", run.download<Results>(out, 100), host);
}
#endif
}  // namespace automata
