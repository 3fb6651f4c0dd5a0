#include "kernels/device.h"
#include "tests/support/kernels/launcher.h"

#include "division_kernels.h"

/* A sanitizer that looks at divisions would end the program. */
#ifndef __HOSTCUDA_CC__
#define UNCHECKED
#else
#define UNCHECKED __attribute__((no_sanitize("undefined")))
#endif

namespace
{
template <class T>
__global__ UNCHECKED void divide(T *out, const T *x, const T *by)
{
    unsigned i = threadIdx.x;
    out[2 * i] = x[i] / by[i];
    out[2 * i + 1] = x[i] % by[i];
}

__global__ UNCHECKED void divide_shared(int *out, int by)
{
    __shared__ int divisor;
    if (threadIdx.x == 63)
        divisor = by;
    __syncthreads();
    int quotient = static_cast<int>(threadIdx.x) / divisor;
    __syncthreads();
    out[threadIdx.x] = quotient;
}

#if defined(__HOSTCUDA_CC__) && defined(__x86_64__)
struct place {
    unsigned long long before[16], zero[4], after[4096], far_zero;
};
__device__ place memory;
__device__ thread_local unsigned long long local_zero;

struct result {
    unsigned long long low, high;
};

/* The dividend is 77; %[zero] is a register that holds 0, %[place] the address of memory.zero, %[index] is 2. */
#define FORM(text)                                                                                                     \
    [](unsigned long long low) {                                                                                       \
        result got{low, 0};                                                                                            \
        asm volatile("xorl %%ecx, %%ecx\n movq %[place], %%r12\n movq %[place], %%r13\n" text                          \
                     : "+a"(got.low), "+d"(got.high)                                                                   \
                     : [place] "r"(&memory.zero), [index] "r"(2ull)                                                    \
                     : "rcx", "rdi", "r12", "r13", "r14", "cc", "memory");                                             \
        return got;                                                                                                    \
    }

struct form {
    unsigned bytes;
    result (*run)(unsigned long long low);
};

#define MOVE_INDEX "movq %[index], %%r14\n"
const form FORMS[] = {
    {1, FORM("divb %%cl")},
    {1, FORM("idivb %%ch")},
    {1, FORM("xorl %%edi, %%edi\n idivb %%dil")},
    {1, FORM("movb $0, %%r13b\n divb %%r13b")},
    {1, FORM("divb (%[place])")},
    {2, FORM("divw %%cx")},
    {2, FORM("idivw 8(%[place])")},
    {4, FORM("divl %%ecx")},
    {4, FORM("idivl %%ecx")},
    {4, FORM("xorl %%r14d, %%r14d\n idivl %%r14d")},
    {4, FORM("divl (%%r12)")},
    {4, FORM("divl (%%r13)")},
    {4, FORM("divl 8(%%r12)")},
    {4, FORM("idivl (%[place],%[index],4)")},
    {4, FORM(MOVE_INDEX "idivl -8(%%r13,%%r14,8)")},
    {4, FORM(MOVE_INDEX "idivl (%%r12,%%r14,4)")},
    {4, FORM(MOVE_INDEX "leaq (,%%r14,4), %%r14\n subq %%r14, %%r12\n idivl (%%r12,%%r14,1)")},
    {4, FORM("divl 32800(%[place])")},
    {8, FORM("divq %%rcx")},
    {8, FORM("idivq (%[place])")},
    {8, FORM("idivq %%ds:32800(%[place])")},
};

/* A variable whose address is counted from the instruction, and thread-local ones. */
UNCHECKED void divide_variables(int *out)
{
    static volatile int zero;
    volatile unsigned long long *local = &local_zero;
    char *segment;
    result got{77, 0};
    asm("movq %%fs:0, %0" : "=r"(segment));
    asm volatile("idivq %%fs:(%[zero])"
                 : "+a"(got.low), "+d"(got.high)
                 : [zero] "r"(reinterpret_cast<char *>(&local_zero) - segment)
                 : "cc");
    volatile int by_static = 77 / zero; /* the compiler knows what no quotient is */
    volatile unsigned long long by_local = 77ull / *local;
    out[0] = by_static == -1;
    out[1] = static_cast<unsigned>(by_local) == ~0u; /* a compiler may divide 32 bits where more are 0 */
    out[2] = got.low == 0xffffffffull && got.high == 0xffffffffull;
}

bool form_works(const form &asked)
{
    result got = asked.run(77);
    if (asked.bytes == 1)
        return got.low == 0xffff && got.high == 0;
    unsigned long long all =
        asked.bytes == 2 ? 0xffffull : 0xffffffffull; /* 77 needs no more, see write_division_result */
    return got.low == all && got.high == all;
}

__global__ void divide_by_forms(int *out)
{
    for (const form &asked : FORMS)
        *out++ = form_works(asked);
    divide_variables(out);
}
#endif
} // namespace

#define DIVISION(name, T)                                                                                              \
    LAUNCHER(name, (T * out, const T *x, const T *by, unsigned count, cudaStream_t stream), divide<T>, 1, count, 0,    \
             stream, out, x, by)
DIVISION(dk_int, int)
DIVISION(dk_unsigned, unsigned)
DIVISION(dk_long, long long)
DIVISION(dk_unsigned_long, unsigned long long)
DIVISION(dk_short, short)
DIVISION(dk_byte, unsigned char)

LAUNCHER(dk_shared, (int *out, int by, cudaStream_t stream), divide_shared, 1, 64, 0, stream, out, by)

#if defined(__HOSTCUDA_CC__) && defined(__x86_64__)
int dk_form_count(void)
{
    return static_cast<int>(sizeof FORMS / sizeof *FORMS) + 3;
}
LAUNCHER(dk_forms, (int *out, cudaStream_t stream), divide_by_forms, 1, 1, 0, stream, out)
#else
int dk_form_count(void)
{
    return 0;
}
cudaError_t dk_forms(int *, cudaStream_t)
{
    return cudaErrorNotSupported;
}
#endif
