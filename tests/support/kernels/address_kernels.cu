#include "kernels/device.h"
#include "tests/support/kernels/launcher.h"

#include "address_kernels.h"

__global__ void ak_add_kernel(int *x, int value)
{
    *x += value;
}

namespace
{
namespace inner
{
__global__ void multiply(int *__restrict__ x, const int value)
{
    *x *= value;
}
} // namespace inner

__global__ void many(double *out, bool a, char b, signed char c, unsigned char d, short e, unsigned short f, int g,
                     unsigned h, long i, unsigned long j, long long k, unsigned long long l, float m, double n, float o,
                     double p, float q, double r, float s, double t)
{
    const double values[] = {double(a), double(b), double(c), double(d), double(e), double(f), double(g),
                             double(h), double(i), double(j), double(k), double(l), m,         n,
                             o,         p,         q,         r,         s,         t};
    for (int at = 0; at < AK_MANY; at++)
        out[at + 1] = values[at];
}

#define TEN(x)       int x##0, int x##1, int x##2, int x##3, int x##4, int x##5, int x##6, int x##7, int x##8, int x##9
#define TEN_NAMES(x) x##0, x##1, x##2, x##3, x##4, x##5, x##6, x##7, x##8, x##9
__global__ void longest(int *sum, TEN(a), TEN(b), TEN(c), TEN(d), TEN(e), int f1, int f2, int f3, int f4, int f5,
                        int f6, int f7, int f8, int f9)
{
    const int values[] = {TEN_NAMES(a), TEN_NAMES(b), TEN_NAMES(c), TEN_NAMES(d), TEN_NAMES(e), f1, f2,
                          f3,           f4,           f5,           f6,           f7,           f8, f9};
    *sum = 0;
    for (int i = 1; i < AK_LONG; i++)
        *sum += i * values[i - 1];
}

template <class T>
__global__ void scale(T *x, T factor)
{
    *x *= factor;
}

__global__ void add_halves(float *out, __half a, __nv_bfloat16 b)
{
    *out = __half2float(a) + __bfloat162float(b);
}

__global__ void none()
{
}

__global__ void of_struct(int *out, ak_pair pair)
{
    *out = pair.first - pair.second;
}

void no_kernel(int *x, int value)
{
    *x += value;
}
} // namespace

extern "C" __global__ void ak_c_kernel(int *x, int value)
{
    *x += value;
}

ADDRESS_OF(ak_add, ak_add_kernel)
ADDRESS_OF(ak_multiply, inner::multiply)
ADDRESS_OF(ak_many, many)
ADDRESS_OF(ak_long, longest)
ADDRESS_OF(ak_scale_float, scale<float>)
ADDRESS_OF(ak_scale_double, scale<double>)
ADDRESS_OF(ak_half, add_halves)
ADDRESS_OF(ak_none, none)
ADDRESS_OF(ak_of_struct, of_struct)
ADDRESS_OF(ak_of_c, ak_c_kernel)
ADDRESS_OF(ak_no_kernel, no_kernel)

cudaError_t ak_show(void)
{
    cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, of_struct);
    return error ? error : cudaFuncGetAttributes(&attributes, ak_c_kernel);
}

cudaError_t ak_show_multiply(void)
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, inner::multiply);
}
