#include "elementwise.h"
#include "kernels.h"

namespace
{
struct product {
    float factor;
    __device__ float operator()(float a, float) const
    {
        return a * factor;
    }
};
} // namespace

extern "C" cudaError_t bgk_scale(float *y, const float *x, float factor, size_t n, cudaStream_t stream)
{
    return bgk::elementwise(y, x, x, product{factor}, n, stream);
}
