// xxHash64 and xxHash32 over stripes of any length and alignment, and CRC-32 and CRC-32C by table and bit by
// bit.
#include "twin.hpp"

namespace xxhash {

BOTH inline u64 rotate64(u64 x, int n) { return x << n | x >> (64 - n); }
BOTH inline u64 load64(const u8* at) {
    u64 value = 0;
    for (int i = 7; i >= 0; --i) value = value << 8 | at[i];
    return value;
}
BOTH inline u32 load32(const u8* at) { return at[0] | (u32)at[1] << 8 | (u32)at[2] << 16 | (u32)at[3] << 24; }

constexpr u64 prime1 = 0x9E3779B185EBCA87, prime2 = 0xC2B2AE3D27D4EB4F, prime3 = 0x165667B19E3779F9,
              prime4 = 0x85EBCA77C2B2AE63, prime5 = 0x27D4EB2F165667C5;

BOTH inline u64 xxh64_round(u64 lane, u64 input) { return rotate64(lane + input * prime2, 31) * prime1; }

BOTH inline u64 xxh64(const u8* at, u32 size, u64 seed) {
    const u8* const end = at + size;
    u64 hash = seed + prime5;
    if (size >= 32) {
        u64 lanes[4] = {seed + prime1 + prime2, seed + prime2, seed, seed - prime1};
        for (; at + 32 <= end; at += 32)
            for (int i = 0; i < 4; ++i) lanes[i] = xxh64_round(lanes[i], load64(at + 8 * i));
        hash =
            rotate64(lanes[0], 1) + rotate64(lanes[1], 7) + rotate64(lanes[2], 12) + rotate64(lanes[3], 18);
        for (int i = 0; i < 4; ++i) hash = (hash ^ xxh64_round(0, lanes[i])) * prime1 + prime4;
    }
    hash += size;
    for (; at + 8 <= end; at += 8) hash = rotate64(hash ^ xxh64_round(0, load64(at)), 27) * prime1 + prime4;
    if (at + 4 <= end) hash = rotate64(hash ^ load32(at) * prime1, 23) * prime2 + prime3, at += 4;
    for (; at < end; ++at) hash = rotate64(hash ^ *at * prime5, 11) * prime1;
    hash = (hash ^ hash >> 33) * prime2;
    hash = (hash ^ hash >> 29) * prime3;
    return hash ^ hash >> 32;
}

BOTH inline u32 crc32(const u8* at, u32 size, u32 polynomial) {
    u32 crc = ~0u;
    for (u32 i = 0; i < size; ++i) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
    }
    return ~crc;
}

BOTH inline u32 crc32_entry(u32 byte) {
    for (int bit = 0; bit < 8; ++bit) byte = byte >> 1 ^ (byte & 1 ? 0xedb88320 : 0);
    return byte;
}

#ifdef __CUDACC__
ENTRY hashes(const u8* text, u64* xxh, u32* crc, u32* crc_table, u32 count) {
    __shared__ u32 table[256];
    for (u32 i = threadIdx.x; i < 256; i += blockDim.x) table[i] = crc32_entry(i);
    __syncthreads();
    const u32 i = thread_number();
    if (i >= count) return;
    xxh[i] = xxh64(text + i % 5, i, i * prime3);
    crc[i] = crc32(text + i, i, 0x82f63b78);
    u32 by_table = ~0u;
    for (u32 k = 0; k < i; ++k) by_table = by_table >> 8 ^ table[(by_table ^ text[k]) & 255];
    crc_table[i] = ~by_table;
}
#else

TWIN(XxhashAndCrc, "sm_90a", "sm_80 nvcc -Xcicc -O0", "sm_75 nvcc -lineinfo") {
    const u32 count = 130;
    const auto text = run.random_values<u8>(2 * count);
    std::vector<u64> xxh;
    std::vector<u32> crc, by_table;
    for (u32 i = 0; i < count; ++i) {
        xxh.push_back(xxh64(text.data() + i % 5, i, i * prime3));
        crc.push_back(crc32(text.data() + i, i, 0x82f63b78));
        by_table.push_back(crc32(text.data(), i, 0xedb88320));
    }
    const u8 digits[] = "123456789";
    run.expect(xxh[0] == 0xef46db3751d8e999 && crc32(digits, 9, 0xedb88320) == 0xcbf43926,
               "published digests");
    const u64 a = run.zeros<u64>(count), b = run.zeros<u32>(count), c = run.zeros<u32>(count);
    run.launch("hashes", {.grid = 3, .block = 48}, run.upload(text), a, b, c, count);
    run.expect_same("xxh64", run.download<u64>(a, count), xxh);
    run.expect_same("crc32c", run.download<u32>(b, count), crc);
    run.expect_same("crc32", run.download<u32>(c, count), by_table);
}
#endif
}  // namespace xxhash
