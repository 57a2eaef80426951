// Control flow of every shape, with lanes that part and meet: nested loops with breaks, switches that fall
// through, loops that are entered in the middle (goto), state machines, early returns, short circuits with
// effects.
#include "twin.hpp"

namespace divergence {

BOTH inline u32 collatz(u32 x) {
    u32 steps = 0;
    for (u64 n = x + 1; n != 1; ++steps) n = n & 1 ? 3 * n + 1 : n / 2;
    return steps;
}

BOTH inline u32 nested(u32 x) {
    u32 sum = 0;
    for (u32 i = 0; i < x % 13; ++i) {
        if (i * x % 7 == 3) continue;
        for (u32 k = i; k < 20; ++k) {
            if ((k ^ x) % 11 == 0) break;
            sum += k * i;
            if (sum > 900) return sum ^ 0x5555;
            do { sum -= 3; } while (sum % 5 == 4);
        }
    }
    return sum;
}

// Two entries into one cycle: no loop of structured programming.
BOTH inline u32 irreducible(u32 x) {
    u32 sum = x, rounds = 0;
    if (x & 1) goto middle;
top:
    sum = sum * 3 + 1;
    if (sum % 7 == 0) goto bottom;
middle:
    sum ^= sum >> 3;
    if (++rounds > 20 + x % 5) goto end;
    if (sum & 2) goto top;
bottom:
    sum += 17;
    if (sum & 4) goto middle;
    if (rounds < 15) {
        ++rounds;
        goto top;
    }
end:
    return sum + rounds;
}

BOTH inline u32 machine(const u8* program, u32 x) {  // a stack machine
    u32 stack[8] = {x};
    u32 top = 1;
    for (u32 at = 0, steps = 0; steps < 200; ++steps) {
        const u8 op = program[at++ % 64];
        switch (op % 16) {
            case 0:
                stack[top & 7] = op;
                ++top;
                break;
            case 1:
                stack[top & 7] = stack[(top - 1) & 7];
                ++top;
                break;
            case 2:
                --top;
                stack[(top - 1) & 7] += stack[top & 7];
                break;
            case 3:
                --top;
                stack[(top - 1) & 7] *= stack[top & 7];
                break;
            case 4: stack[(top - 1) & 7] ^= stack[(top - 1) & 7] >> 5;  // falls through
            case 5: stack[(top - 1) & 7] += 0x9e3779b9; break;
            case 6:
                if (stack[(top - 1) & 7] & 1) at += op / 16;
                break;
            case 7:
                if (stack[(top - 1) & 7] % 3 == 0) at -= op / 32 + 2;
                break;
            case 8: {
                const u32 kept = stack[(top - 1) & 7];
                stack[(top - 1) & 7] = stack[(top - 2) & 7];
                stack[(top - 2) & 7] = kept;
                break;
            }
            case 9: stack[(top - 1) & 7] = ~stack[(top - 1) & 7]; break;
            case 10: return stack[(top - 1) & 7];
            case 11: stack[(top - 1) & 7] /= op | 1; break;
            case 12: stack[(top - 1) & 7] %= op + 3; break;
            default: stack[(top - 1) & 7] = stack[(top - 1) & 7] << 7 | stack[(top - 1) & 7] >> 25;
        }
    }
    return stack[(top - 1) & 7] + 1;
}

BOTH inline bool noted(u32& notes, u32 bit, bool result) {
    notes = notes * 2 + bit;
    return result;
}
BOTH inline u32 circuits(u32 x) {
    u32 notes = 1;
    if (noted(notes, 0, x & 1) && (noted(notes, 1, x & 2) || noted(notes, 0, x & 4))) notes += 1000;
    const u32 y = x % 3 ? noted(notes, 1, x & 8) ? 7 : 9 : (notes += 5, 11);
    while (noted(notes, 1, notes < 50000) && !(noted(notes, 0, notes % 11 == x % 11))) ++notes;
    return notes * 16 + y;
}

BOTH inline u32 sparse(u32 x) {
    switch (x * 2654435761u >> 20 & 0xff0) {
        case 0x10: return 1;
        case 0x120: x += 2;  // falls through
        case 0x340: return x * 3;
        case 0xff0: x ^= 5; break;
        case 0x560:
        case 0x570:
        case 0x580: return x - 9;
        default:
            for (u32 i = 0; i < x % 4; ++i) x = x * 5 + 1;
    }
    return ~x;
}

struct Results {
    u32 collatz, nested, irreducible, machine, circuits, sparse;
};
BOTH inline Results results(const u8* program, u32 x) {
    return {collatz(x % 5000), nested(x), irreducible(x), machine(program, x), circuits(x), sparse(x)};
}

#ifdef __CUDACC__
ENTRY all(const u8* program, const u32* in, Results* out, u32 count) {
    const u32 i = thread_number();
    if (i >= count) return;
    out[i] = results(program + i % 7, in[i]);
}
#else

TWIN(Divergence, "sm_75", "sm_80 -G", "sm_90a nvcc -Xcicc -O0", "sm_120a nvcc -Xcicc -O1") {
    const auto in = run.random_values<u32>(300);
    const auto program = run.random_values<u8>(80);
    std::vector<Results> host;
    for (u32 i = 0; i < in.size(); ++i) host.push_back(results(program.data() + i % 7, in[i]));
    const u64 out = run.zeros<Results>(host.size());
    run.launch("all", {.grid = 5, .block = 64}, run.upload(program), run.upload(in), out, (u32)in.size());
    run.expect_same("results", run.download<Results>(out, host.size()), host);
}
#endif
}  // namespace divergence
