#include "elementwise.h"
#include "kernels.h"

namespace
{
struct sum {
    char unused = 0; /* without a member the parameter is an undefined byte, which may differ in each capture */
    __device__ float operator()(float a, float b) const
    {
        return a + b;
    }
};
} // namespace

extern "C" cudaError_t bgk_add(float *y, const float *a, const float *b, size_t n, cudaStream_t stream)
{
    return bgk::elementwise(y, a, b, sum{}, n, stream);
}
