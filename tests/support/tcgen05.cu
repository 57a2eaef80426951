// What instructions of tcgen05 compute (PTX ISA 9.7.16), by one thread at a time, for machines that have
// none: tensor memory is in global memory, and all is done when a call returns. Of the instructions there is
// what the GEMMs of examples/dsl and templates/gemm use: matrices of either major in rows of 128 bytes with
// that swizzle.

using u32 = unsigned;
using u64 = unsigned long long;

extern "C" __device__ u32 tensor_memory[16][128][512];

__device__ u32 block() {
    u32 number;
    asm("mov.u32 %0, %%ctaid.x;" : "=r"(number));
    return number;
}
__device__ u32 rank_of(u32 group) { return group == 1 ? block() : block() & ~1u; }

__device__ u32 load(u32 address, u32 group, u32 rank) {
    u32 byte;
    if (group == 2) {
        asm("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(address) : "r"(rank));
        asm volatile("ld.shared::cluster.u8 %0, [%1];" : "=r"(byte) : "r"(address) : "memory");
    } else {
        asm volatile("ld.shared.u8 %0, [%1];" : "=r"(byte) : "r"(address) : "memory");
    }
    return byte;
}
// A byte of a row that a descriptor describes (9.7.16.4.1): swizzles permute pieces of 16 bytes by what the
// address has in the bits above.
__device__ u32 byte_of(u64 descriptor, u32 row, u32 byte, u32 group, u32 rank) {
    const u32 begin = (descriptor & 0x3FFF) << 4, stride = (descriptor >> 32 & 0x3FFF) << 4;
    const u32 mode = descriptor >> 61, version = descriptor >> 46 & 7;
    if (version != 1 || (mode != 2 && mode != 0)) __trap();
    // A base offset of 0: the pattern of 8 rows begins at a multiple of 1024.
    if (mode == 2 && begin % 1024 >= 128) __trap();
    u32 address = begin + row / 8 * stride + row % 8 * (mode == 2 ? 128 : 16) + byte;
    if (mode == 2) address ^= (address >> 7 & 7) << 4;
    return load(address, group, rank);
}

// A byte of a matrix along m or n: panels of 128 bytes, `leading` after each other, of rows of the depth.
__device__ u32 byte_of_transposed(u64 descriptor, u32 byte, u32 row, u32 group, u32 rank) {
    const u32 begin = (descriptor & 0x3FFF) << 4, leading = (descriptor >> 16 & 0x3FFF) << 4,
              stride = (descriptor >> 32 & 0x3FFF) << 4;
    if ((descriptor >> 46 & 7) != 1 || descriptor >> 61 != 2 || begin % 1024 != 0) __trap();
    const u32 address = begin + byte / 128 * leading + row / 8 * stride + row % 8 * 128 + byte % 128;
    return load(address ^ (address >> 7 & 7) << 4, group, rank);
}

__device__ float decoded(u32 bits, u32 exponent_bits, u32 mantissa_bits, int bias) {
    const int exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
    const int mantissa = bits & ((1 << mantissa_bits) - 1);
    const float value = ldexpf(exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits),
                               (exponent == 0 ? 1 : exponent) - bias - (int)mantissa_bits);
    return bits >> (exponent_bits + mantissa_bits) & 1 ? -value : value;
}
// The kinds as the names of products have them.
enum Kind { f16, f8f6f4, mxf8f6f4, mxf4, mxf4nvf4 };
__device__ u32 depth_of(u32 kind) { return kind == f16 ? 16 : kind == f8f6f4 || kind == mxf8f6f4 ? 32 : 64; }
// Of row `row` of A, or column of B, what is in place i along the depth.
__device__ float element(u32 kind, u32 type, u64 descriptor, u32 row, u32 i, bool is_transposed, u32 group,
                         u32 rank) {
    const u32 size = kind == f16 ? 2 : 1, byte = i * 32 / depth_of(kind);
    const auto byte_at = [&](u32 at) {
        return is_transposed ? byte_of_transposed(descriptor, row * size + at, i, group, rank)
                             : byte_of(descriptor, row, byte + at, group, rank);
    };
    const u32 low = byte_at(0);
    if (kind == f16) {
        const u32 bits = low | byte_at(1) << 8;
        return type == 0 ? decoded(bits, 5, 10, 15) : decoded(bits, 8, 7, 127);
    }
    if (kind == mxf4 || kind == mxf4nvf4) {
        if (type != 1 || is_transposed) __trap();
        return decoded(low >> i % 2 * 4 & 15, 2, 1, 1);
    }
    if (type > 1) __trap();
    return type == 0 ? decoded(low, 4, 3, 7) : decoded(low, 5, 2, 15);
}
// 9.7.16.10.7.2: of row r the cell in lane r mod 32, r / 32 columns on, of which `id` is the first byte.
__device__ float scale(u32 address, u32 row, u32 id, u32 index, u32 is_ue8m0) {
    const u32 lane = (address >> 16) + row % 32, column = (address & 0xFFFF) + row / 32;
    const u32 bits = tensor_memory[block()][lane][column] >> 8 * (id + index) & 0xFF;
    return is_ue8m0 ? exp2f((int)bits - 127) : decoded(bits, 4, 3, 7);
}

extern "C" __device__ float elements_of_b[16][256][64];

extern "C" __device__ __noinline__ void tcgen05_mma(u32 d, u64 a, u64 b, u32 instruction, u32 accumulate,
                                                    u32 kind, u32 group, u32 size, u32 scale_a, u32 scale_b) {
    const bool is_scaled = kind >= mxf8f6f4;
    const u32 n = (instruction >> 17 & 63) * 8, m = (instruction >> 24 & 31) * 16, depth = depth_of(kind);
    const u32 type_a = instruction >> 7 & 7, type_b = instruction >> 10 & 7, first = rank_of(group);
    const u32 id_a = instruction >> 29 & 3, id_b = instruction >> 4 & 3, is_ue8m0 = instruction >> 23 & 1;
    if (m != 128 * group || (!is_scaled && (instruction >> 4 & 3) != 1)) __trap();
    float(*const of_b)[64] = elements_of_b[block()];
    for (u32 col = 0; col < n; ++col)
        for (u32 i = 0; i < depth; ++i) {
            const u32 rank = col / (n / group);
            of_b[col][i] = element(kind, type_b, b, col % (n / group), i, instruction >> 16 & 1, group, rank);
            if (is_scaled) of_b[col][i] *= scale(scale_b, col, id_b, i / size, is_ue8m0);
        }
    for (u32 row = 0; row < m; ++row) {
        float of_a[64];
        bool has_any = false;
        for (u32 i = 0; i < depth; ++i) {
            of_a[i] = element(kind, type_a, a, row % 128, i, instruction >> 15 & 1, group, row / 128);
            if (is_scaled) of_a[i] *= scale(scale_a, row, id_a, i / size, is_ue8m0);
            has_any |= of_a[i] != 0;
        }
        // Rows beyond an edge are zeros, and take no time.
        if (!has_any && accumulate) continue;
        for (u32 col = 0; col < n; ++col) {
            u32* const cell = &tensor_memory[first + row / 128][(d >> 16) + row % 128][(d & 0xFFFF) + col];
            float sum = accumulate ? __uint_as_float(*cell) : 0;
            for (u32 i = 0; has_any && i < depth; ++i) sum += of_a[i] * of_b[col][i];
            *cell = __float_as_uint(sum);
        }
    }
}

// .32x128b.warpx4
extern "C" __device__ __noinline__ void tcgen05_cp(u32 address, u64 descriptor) {
    for (u32 row = 0; row < 32; ++row)
        for (u32 column = 0; column < 4; ++column) {
            u32 cell = 0;
            for (u32 byte = 0; byte < 4; ++byte)
                cell |= byte_of(descriptor, row, 4 * column + byte, 1, 0) << 8 * byte;
            for (u32 quarter = 0; quarter < 4; ++quarter)
                tensor_memory[block()][32 * quarter + row][(address & 0xFFFF) + column] = cell;
        }
}

// .32x32b: where a thread finds its cells. A warp that asks for lanes of another one gets nowhere.
extern "C" __device__ __noinline__ u64 tcgen05_cells(u32 address) {
    u32 thread;
    asm("mov.u32 %0, %%tid.x;" : "=r"(thread));
    const u32 lane = address >> 16;
    if (lane != thread / 32 % 4 * 32) __trap();
    return (u64)&tensor_memory[block()][lane + thread % 32][address & 0xFFFF];
}

#ifndef TCGEN05_INCLUDED
// All functions are wanted in the module's PTX.
extern "C" __global__ void keep(u32* out) {
    tcgen05_mma(out[0], out[1], out[2], out[3], out[4], out[5], out[6], out[7], out[8], out[9]);
    tcgen05_cp(out[10], out[11]);
    out[12] = tcgen05_cells(out[13]);
}
#endif
