// Integers of 256 and 512 bits: sums with carries, products, quotients by Knuth's algorithm D, Montgomery
// powers.
#include "twin.hpp"

namespace bigint {

constexpr int words = 8;
struct Big {
    u32 w[words];
};
struct Wide {
    u32 w[2 * words];
};

BOTH inline u32 add(Big& a, const Big& b) {
    u64 carry = 0;
    for (int i = 0; i < words; ++i) {
        carry += (u64)a.w[i] + b.w[i];
        a.w[i] = (u32)carry, carry >>= 32;
    }
    return (u32)carry;
}

BOTH inline u32 subtract(Big& a, const Big& b) {
    s64 borrow = 0;
    for (int i = 0; i < words; ++i) {
        borrow += (s64)a.w[i] - b.w[i];
        a.w[i] = (u32)borrow, borrow >>= 32;
    }
    return (u32)-borrow;
}

BOTH inline bool less(const Big& a, const Big& b) {
    for (int i = words; i-- > 0;)
        if (a.w[i] != b.w[i]) return a.w[i] < b.w[i];
    return false;
}

BOTH inline Wide multiply(const Big& a, const Big& b) {
    Wide r = {};
    for (int i = 0; i < words; ++i) {
        u64 carry = 0;
        for (int k = 0; k < words; ++k) {
            carry += (u64)a.w[i] * b.w[k] + r.w[i + k];
            r.w[i + k] = (u32)carry, carry >>= 32;
        }
        r.w[i + words] = (u32)carry;
    }
    return r;
}

// The remainder of a wide integer by one whose top word is not 0: Knuth's algorithm D, normalised.
BOTH inline Big remainder(const Wide& a, const Big& b) {
    int shift = 0;
    while (!((b.w[words - 1] << shift) >> 31)) ++shift;
    u32 v[words], u[2 * words + 1];
    for (int i = 0; i < words; ++i)
        v[i] = (u32)(((u64)b.w[i] << 32 | (i > 0 ? b.w[i - 1] : 0)) << shift >> 32);
    u[2 * words] = (u32)((u64)a.w[2 * words - 1] << shift >> 32);
    for (int i = 0; i < 2 * words; ++i)
        u[i] = (u32)(((u64)a.w[i] << 32 | (i > 0 ? a.w[i - 1] : 0)) << shift >> 32);
    for (int j = words; j >= 0; --j) {
        const u64 top = (u64)u[j + words] << 32 | u[j + words - 1];
        u64 q = top / v[words - 1], r = top % v[words - 1];
        while (q >> 32 || q * v[words - 2] > (r << 32 | u[j + words - 2])) {
            --q, r += v[words - 1];
            if (r >> 32) break;
        }
        s64 borrow = 0;
        u64 carry = 0;
        for (int i = 0; i < words; ++i) {
            carry += q * v[i];
            borrow += (s64)u[i + j] - (s64)(u32)carry;
            u[i + j] = (u32)borrow;
            borrow >>= 32, carry >>= 32;
        }
        borrow += (s64)u[j + words] - (s64)carry;
        u[j + words] = (u32)borrow;
        if (borrow < 0) {
            u64 back = 0;
            for (int i = 0; i < words; ++i) back += (u64)u[i + j] + v[i], u[i + j] = (u32)back, back >>= 32;
            u[j + words] += (u32)back;
        }
    }
    Big result;
    for (int i = 0; i < words; ++i) result.w[i] = (u32)(((u64)u[i + 1] << 32 | u[i]) >> shift);
    return result;
}

// a b / 2^256 mod m, m odd.
BOTH inline Big montgomery(const Big& a, const Big& b, const Big& m) {
    u32 inverse = 1;  // of -m mod 2^32, by Newton
    for (int i = 0; i < 5; ++i) inverse *= 2 - m.w[0] * inverse;
    u32 t[words + 2] = {};
    for (int i = 0; i < words; ++i) {
        u64 carry = 0;
        for (int k = 0; k < words; ++k) carry += (u64)a.w[i] * b.w[k] + t[k], t[k] = (u32)carry, carry >>= 32;
        carry += t[words], t[words] = (u32)carry, t[words + 1] = (u32)(carry >> 32);
        const u32 q = t[0] * (0u - inverse);
        carry = ((u64)q * m.w[0] + t[0]) >> 32;
        for (int k = 1; k < words; ++k) carry += (u64)q * m.w[k] + t[k], t[k - 1] = (u32)carry, carry >>= 32;
        carry += t[words], t[words - 1] = (u32)carry;
        t[words] = t[words + 1] + (u32)(carry >> 32);
    }
    Big r;
    for (int k = 0; k < words; ++k) r.w[k] = t[k];
    if (t[words] || !less(r, m)) subtract(r, m);
    return r;
}

struct Task {
    Big a, b, m;
};
struct Answer {
    Big sum, difference, rest, montgomery;
    Wide product;
    u32 carry, borrow;
};

BOTH inline Answer answer(const Task& t) {
    Answer r;
    r.sum = t.a, r.carry = add(r.sum, t.b);
    r.difference = t.a, r.borrow = subtract(r.difference, t.b);
    r.product = multiply(t.a, t.b);
    r.rest = remainder(r.product, t.m);
    r.montgomery = montgomery(t.a, t.b, t.m);
    return r;
}

#ifdef __CUDACC__
ENTRY answers(const Task* in, Answer* out, u32 count) {
    const u32 i = thread_number();
    if (i < count) out[i] = answer(in[i]);
}

// The same sum by PTX's carry chain.
ENTRY chained_sums(const Task* in, Big* out, u32* carries, u32 count) {
    const u32 i = thread_number();
    if (i >= count) return;
    Big a = in[i].a;
    const Big& b = in[i].b;
    asm("add.cc.u32 %0, %0, %1;" : "+r"(a.w[0]) : "r"(b.w[0]));
    for (int k = 1; k < words; ++k) asm volatile("addc.cc.u32 %0, %0, %1;" : "+r"(a.w[k]) : "r"(b.w[k]));
    asm volatile("addc.u32 %0, 0, 0;" : "=r"(carries[i]));
    out[i] = a;
}
#else

static std::vector<Task> tasks(twin::Run& run) {
    std::vector<Task> all(60);
    for (std::size_t i = 0; i < all.size(); ++i) {
        Task& t = all[i];
        for (int k = 0; k < words; ++k)
            t.a.w[k] = (u32)run.random(), t.b.w[k] = (u32)run.random(), t.m.w[k] = (u32)run.random();
        if (i % 5 == 1) std::fill_n(t.a.w, words, ~0u);
        if (i % 5 == 2) std::fill_n(t.b.w, words - 1, 0u);
        if (i % 7 == 3) t.m.w[words - 1] >>= 31 - i % 31;
        if (i % 7 == 4) std::fill_n(t.m.w, words, ~0u);
        t.m.w[0] |= 1, t.m.w[words - 1] |= 1;
        if (!less(t.a, t.m)) t.a.w[words - 1] %= t.m.w[words - 1];
        if (!less(t.b, t.m)) t.b.w[words - 1] %= t.m.w[words - 1];
    }
    return all;
}

TWIN(BigIntegers, "sm_75", "sm_90a nvcc -Xcicc -O0", "sm_80 -lineinfo") {
    const auto in = tasks(run);
    run.map<Answer>("answers", in, answer, 32);
    const u32 count = (u32)in.size();
    std::vector<Big> sums;
    std::vector<u32> carries;
    for (const Task& t : in) {
        const Answer a = answer(t);
        sums.push_back(a.sum), carries.push_back(a.carry);
    }
    const u64 out = run.zeros<Big>(count), carry = run.zeros<u32>(count);
    run.launch("chained_sums", {.block = 64}, run.upload(in), out, carry, count);
    run.expect_same("sums", run.download<Big>(out, count), sums);
    run.expect_same("carries", run.download<u32>(carry, count), carries);
}
#endif
}  // namespace bigint
