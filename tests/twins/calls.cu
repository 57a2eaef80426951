// Calls: recursion (Ackermann, n queens, a maze, mutual), function pointers in tables and as arguments,
// virtual functions, lambdas, templates, large structures by value, references, arrays on the stack whose
// address escapes.
#include "twin.hpp"

namespace calls {

#ifdef __CUDACC__
#define APART __noinline__
#else
#define APART __attribute__((noinline))
#endif

BOTH APART u32 ackermann(u32 m, u32 n) {
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

BOTH APART u32 queens(u32 n, u32 row, u32 columns, u32 left, u32 right) {
    if (row == n) return 1;
    u32 found = 0;
    for (u32 free = ~(columns | left | right) & ((1u << n) - 1); free; free &= free - 1) {
        const u32 bit = free & -free;
        found += queens(n, row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    return found;
}

BOTH APART bool is_odd(u32 n);
BOTH APART bool is_even(u32 n) { return n == 0 || is_odd(n - 1); }
BOTH APART bool is_odd(u32 n) { return n != 0 && is_even(n - 1); }

BOTH APART u32 flood(u8* field, s32 x, s32 y) {  // of 8 by 8
    if (x < 0 || y < 0 || x > 7 || y > 7 || field[8 * y + x]) return 0;
    field[8 * y + x] = 1;
    return 1 + flood(field, x + 1, y) + flood(field, x - 1, y) + flood(field, x, y + 1) +
           flood(field, x, y - 1);
}

struct Large {
    double values[6];
    u8 tag[7];
    s16 rank;
};
BOTH APART Large grown(Large a, const Large& b, s16 by) {
    for (int i = 0; i < 6; ++i) a.values[i] = a.values[i] * 2 + b.values[5 - i];
    for (int i = 0; i < 7; ++i) a.tag[i] = (u8)(a.tag[i] ^ b.tag[(i + by) % 7]);
    a.rank = (s16)(a.rank * by + b.rank);
    return a;
}
BOTH inline u64 summary(const Large& a) {
    u64 sum = (u64)(u16)a.rank;
    for (const double v : a.values) sum = sum * 31 + (u64)(s64)v;
    for (const u8 t : a.tag) sum = sum * 131 + t;
    return sum;
}

class Shape {
  public:
    BOTH virtual s32 area() const = 0;
    BOTH virtual s32 corners() const { return 0; }
    BOTH virtual ~Shape() {}
};
class Rectangle : public Shape {
  public:
    BOTH Rectangle(s32 a, s32 b) : a_(a), b_(b) {}
    BOTH s32 area() const override { return a_ * b_; }
    BOTH s32 corners() const override { return 4; }

  protected:
    s32 a_, b_;
};
class Square final : public Rectangle {
  public:
    BOTH explicit Square(s32 a) : Rectangle(a, a) {}
    BOTH s32 corners() const override { return Rectangle::corners() + 10; }
};
class Disc : public Shape {
  public:
    BOTH explicit Disc(s32 r) : r_(r) {}
    BOTH s32 area() const override { return 3 * r_ * r_; }

  private:
    s32 r_;
};
BOTH APART s32 measure(const Shape& shape) { return shape.area() * 100 + shape.corners(); }
BOTH inline s32 shapes(u32 x) {
    const Rectangle rectangle((s32)(x % 9), (s32)(x % 5));
    const Square square((s32)(x % 7));
    const Disc disc((s32)(x % 11));
    const Shape* const all[] = {&rectangle, &square, &disc};
    s32 sum = 0;
    for (u32 i = 0; i < 5; ++i) sum = sum * 3 + measure(*all[(x >> i) % 3]);
    return sum;
}

BOTH APART s32 plus(s32 a, s32 b) { return a + b; }
BOTH APART s32 minus(s32 a, s32 b) { return a - b; }
BOTH APART s32 times(s32 a, s32 b) { return a * b; }
BOTH APART s32 bits(s32 a, s32 b) { return (a ^ b) & 0xffff; }
typedef s32 (*Operation)(s32, s32);
BOTH APART s32 fold(Operation f, const s32* values, u32 count, s32 start) {
    for (u32 i = 0; i < count; ++i) start = f(start, values[i]);
    return start;
}
BOTH inline s32 folded(u32 x) {
    s32 values[8];
    for (u32 i = 0; i < 8; ++i) values[i] = (s32)(x >> i) % 100;
    const Operation operations[4] = {plus, minus, times, bits};
    return fold(operations[x % 4], values, 8, 1) ^ fold(operations[x / 4 % 4], values + 1, 3 + x % 4, 5);
}

template <u32 N> struct Power {
    template <class T> BOTH static T of(T x) {
        const T half = Power<N / 2>::of(x);
        return N % 2 ? half * half * x : half * half;
    }
};
template <> struct Power<0> {
    template <class T> BOTH static T of(T) { return 1; }
};
template <class... T> BOTH auto sum_of(T... values) { return (values + ...); }
template <class Function> BOTH u32 applied(Function f, u32 times) {
    u32 x = 1;
    for (u32 i = 0; i < times; ++i) x = f(x, i);
    return x;
}
BOTH inline u32 generic(u32 x) {
    u32 calls = 0;
    const auto step = [x, &calls](u32 a, u32 b) { return ++calls, a * 7 + (b ^ x); };
    const u32 direct = applied(step, x % 10);
    const auto twice = [&](auto f, u32 a) { return f(f(a, 1), 2); };
    return direct + twice(step, x) + calls * 1000 + Power<13>::of(x) + (u32)Power<3>::of((u64)x) +
           sum_of(x, (u8)x, (s16)5, x / 3);
}

struct Results {
    u32 ackermann, queens, even, flood, generic;
    s32 shapes, folded;
    u32 size;
    u64 large;
};
BOTH inline Results results(u32 x) {
    Results r = {};
    r.ackermann = ackermann(x % 3, x % 5), r.queens = queens(4 + x % 3, 0, 0, 0, 0), r.even = is_even(x % 40);
    u8 field[64];
    for (u32 i = 0; i < 64; ++i) field[i] = (x * (i + 1) * 2654435761u >> 28) < 5;
    r.flood = flood(field, (s32)(x % 8), (s32)(x / 8 % 8));
    for (u32 i = 0; i < 64; ++i) r.flood = r.flood * 3 + field[i];
    r.generic = generic(x), r.shapes = shapes(x), r.folded = folded(x), r.size = sizeof(Results);
    Large a = {{1, 2, 3, 4, 5, (double)(x % 100)}, {1, 2, 3, 4, 5, 6, (u8)x}, (s16)x}, b = a;
    b.values[2] = -7;
    r.large = summary(grown(grown(a, b, 3), a, (s16)(x % 5)));
    return r;
}

#ifdef __CUDACC__
ENTRY all(const u32* in, Results* out, u32 count) {
    const u32 i = thread_number();
    if (i < count) out[i] = results(in[i]);
}
#else
TWIN(Calls, "sm_75 -default-device", "sm_80 -G -default-device", "sm_90a nvcc -Xcicc -O0", "sm_120a nvcc") {
    run.map<Results>("all", run.random_values<u32>(100), results, 32);
}
#endif
}  // namespace calls
