/* Intrinsics of CUDA C++ for integers, and for words of several integers. */
#ifndef HOSTCUDA_SHIM_INTEGERS_H
#define HOSTCUDA_SHIM_INTEGERS_H

inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
inline int __clz(int x)
{
    return x ? __builtin_clz(static_cast<unsigned>(x)) : 32;
}
inline int __clzll(long long x)
{
    return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64;
}
inline int __ffs(int x)
{
    return __builtin_ffs(x);
}
inline int __ffsll(long long x)
{
    return __builtin_ffsll(x);
}
inline unsigned __brev(unsigned x)
{
    unsigned reversed = 0;
    for (int i = 0; i < 32; i++)
        reversed |= (x >> i & 1u) << (31 - i);
    return reversed;
}
inline int __mulhi(int x, int y)
{
    return static_cast<int>((static_cast<long long>(x) * y) >> 32);
}
inline unsigned __umulhi(unsigned x, unsigned y)
{
    return static_cast<unsigned>((static_cast<unsigned long long>(x) * y) >> 32);
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector)
{
    unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; i++) {
        unsigned choice = selector >> (4 * i) & 15u;
        unsigned byte = static_cast<unsigned>(bytes >> (8 * (choice & 7u))) & 255u;
        result |= (choice & 8u ? (byte & 128u ? 255u : 0u) : byte) << (8 * i);
    }
    return result;
}

inline unsigned long long __brevll(unsigned long long x)
{
    return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
           __brev(static_cast<unsigned>(x >> 32));
}
/* Returns the lower 32 bits of the product of the lower 24 bits of each factor. */
inline unsigned __umul24(unsigned x, unsigned y)
{
    return (x & 0xffffffu) * (y & 0xffffffu);
}
inline int __mul24(int x, int y)
{
    auto low_24 = [](int i) { return static_cast<unsigned>(static_cast<int>(static_cast<unsigned>(i) << 8) >> 8); };
    return static_cast<int>(low_24(x) * low_24(y));
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y)
{
    __extension__ using wide = unsigned __int128;
    return static_cast<unsigned long long>(static_cast<wide>(x) * y >> 64);
}
inline long long __mul64hi(long long x, long long y)
{
    __extension__ using wide = __int128;
    return static_cast<long long>(static_cast<wide>(x) * y >> 64);
}

/* Returns |x - y| + z. */
inline unsigned __usad(unsigned x, unsigned y, unsigned z)
{
    return z + (x < y ? y - x : x - y);
}
inline unsigned __sad(int x, int y, unsigned z)
{
    return z + (x < y ? static_cast<unsigned>(y) - static_cast<unsigned>(x)
                      : static_cast<unsigned>(x) - static_cast<unsigned>(y));
}

/* Averages, rounded down (hadd) and up (rhadd). */
inline int __hadd(int x, int y)
{
    return static_cast<int>((static_cast<long long>(x) + y) >> 1);
}
inline int __rhadd(int x, int y)
{
    return static_cast<int>((static_cast<long long>(x) + y + 1) >> 1);
}
inline unsigned __uhadd(unsigned x, unsigned y)
{
    return static_cast<unsigned>((static_cast<unsigned long long>(x) + y) >> 1);
}
inline unsigned __urhadd(unsigned x, unsigned y)
{
    return static_cast<unsigned>((static_cast<unsigned long long>(x) + y + 1) >> 1);
}

#define HOSTCUDA_EXTREMES(type, least, most)                                                                           \
    inline type least(type x, type y)                                                                                  \
    {                                                                                                                  \
        return y < x ? y : x;                                                                                          \
    }                                                                                                                  \
    inline type most(type x, type y)                                                                                   \
    {                                                                                                                  \
        return x < y ? y : x;                                                                                          \
    }
HOSTCUDA_EXTREMES(unsigned, umin, umax)
HOSTCUDA_EXTREMES(long long, llmin, llmax)
HOSTCUDA_EXTREMES(unsigned long long, ullmin, ullmax)
#undef HOSTCUDA_EXTREMES

/* Shift two words as one. Functions whose names end in c clamp the shift to 32; the others take the shift modulo 32. */
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift)
{
    return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
    return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (shift & 31));
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift)
{
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift)
{
    return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

/* ---- words of two or four integers --------------------------------------------------------------------------- */

namespace hostcuda
{
/* Calls `combine` with each pair of parts as int. The lower bits of the result become the part of the result word. */
template <class Part, class F>
unsigned by_parts(unsigned a, unsigned b, F combine)
{
    constexpr int bits = 8 * sizeof(Part);
    unsigned result = 0;
    for (int at = 0; at < 32; at += bits) {
        int x = static_cast<Part>(a >> at), y = static_cast<Part>(b >> at);
        result |= (static_cast<unsigned>(combine(x, y)) & (~0u >> (32 - bits))) << at;
    }
    return result;
}
/* Returns the sum of `combine` over all pairs of parts. */
template <class Of_a, class Of_b, class F>
unsigned sum_of_parts(unsigned a, unsigned b, F combine)
{
    unsigned sum = 0;
    for (int at = 0; at < 32; at += 8 * static_cast<int>(sizeof(Of_a))) {
        int x = static_cast<Of_a>(a >> at), y = static_cast<Of_b>(b >> at);
        sum += static_cast<unsigned>(combine(x, y));
    }
    return sum;
}
} // namespace hostcuda

/* Defines a function for parts of 16 and of 8 bits. */
#define HOSTCUDA_PARTS(name, part2, part4, value)                                                                      \
    inline unsigned name##2(unsigned a, unsigned b)                                                                    \
    {                                                                                                                  \
        return hostcuda::by_parts<part2>(a, b, [](int x, int y) { return value; });                                    \
    }                                                                                                                  \
    inline unsigned name##4(unsigned a, unsigned b)                                                                    \
    {                                                                                                                  \
        return hostcuda::by_parts<part4>(a, b, [](int x, int y) { return value; });                                    \
    }
#define HOSTCUDA_PARTS_U(name, value) HOSTCUDA_PARTS(name, std::uint16_t, std::uint8_t, value)
#define HOSTCUDA_PARTS_S(name, value) HOSTCUDA_PARTS(name, std::int16_t, std::int8_t, value)
HOSTCUDA_PARTS_U(__vadd, x + y)
HOSTCUDA_PARTS_U(__vsub, x - y)
HOSTCUDA_PARTS_U(__vavgu, (x + y + 1) >> 1)
HOSTCUDA_PARTS_U(__vhaddu, (x + y) >> 1)
HOSTCUDA_PARTS_U(__vabsdiffu, x < y ? y - x : x - y)
HOSTCUDA_PARTS_S(__vabsdiffs, x < y ? y - x : x - y)
HOSTCUDA_PARTS_U(__vmaxu, x < y ? y : x)
HOSTCUDA_PARTS_S(__vmaxs, x < y ? y : x)
HOSTCUDA_PARTS_U(__vminu, y < x ? y : x)
HOSTCUDA_PARTS_S(__vmins, y < x ? y : x)
HOSTCUDA_PARTS_U(__vcmpeq, x == y ? -1 : 0)
HOSTCUDA_PARTS_U(__vcmpne, x != y ? -1 : 0)
HOSTCUDA_PARTS_U(__vcmpgtu, x > y ? -1 : 0)
HOSTCUDA_PARTS_U(__vcmpgeu, x >= y ? -1 : 0)
HOSTCUDA_PARTS_U(__vcmpltu, x < y ? -1 : 0)
HOSTCUDA_PARTS_U(__vcmpleu, x <= y ? -1 : 0)
HOSTCUDA_PARTS_S(__vcmpgts, x > y ? -1 : 0)
HOSTCUDA_PARTS_S(__vcmpges, x >= y ? -1 : 0)
HOSTCUDA_PARTS_S(__vcmplts, x < y ? -1 : 0)
HOSTCUDA_PARTS_S(__vcmples, x <= y ? -1 : 0)
#undef HOSTCUDA_PARTS_S
#undef HOSTCUDA_PARTS_U
#undef HOSTCUDA_PARTS
inline unsigned __vsadu4(unsigned a, unsigned b)
{
    return hostcuda::sum_of_parts<std::uint8_t, std::uint8_t>(a, b, [](int x, int y) { return x < y ? y - x : x - y; });
}
inline unsigned __vsadu2(unsigned a, unsigned b)
{
    return hostcuda::sum_of_parts<std::uint16_t, std::uint16_t>(a, b,
                                                                [](int x, int y) { return x < y ? y - x : x - y; });
}

/* Returns the sum of the parts' products and c. */
inline int __dp4a(int a, int b, int c)
{
    unsigned sum = hostcuda::sum_of_parts<std::int8_t, std::int8_t>(static_cast<unsigned>(a), static_cast<unsigned>(b),
                                                                    [](int x, int y) { return x * y; });
    return static_cast<int>(sum + static_cast<unsigned>(c));
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c)
{
    return hostcuda::sum_of_parts<std::uint8_t, std::uint8_t>(a, b, [](int x, int y) { return x * y; }) + c;
}
inline int __dp4a(char4 a, char4 b, int c)
{
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w + c;
}
inline unsigned __dp4a(uchar4 a, uchar4 b, unsigned c)
{
    return static_cast<unsigned>(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w) + c;
}

#endif
