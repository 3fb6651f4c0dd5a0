/* Functions that CUDA C++ has beyond C++: of integers, of floating-point numbers, of half precision, and of lanes. */
#include "program.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include <cmath>

namespace cg = cooperative_groups;

/* What a kernel writes in order, and what it must be. */
template <class T>
struct list {
    T value[64];
    int count;

    __host__ __device__ void add(T next)
    {
        value[count++] = next;
    }
};

/* Runs the kernel, and compares its results with those of the host. */
template <class T>
static void check(const char *name, void (*kernel)(list<T> *), const list<T> &wanted, double tolerance,
                  unsigned threads)
{
    cudaStream_t stream = make_stream();
    list<T> *found = allocate_pinned<list<T>>(1), *on_device = allocate<list<T>>(1);
    CHECK(cudaMemsetAsync(on_device, 0, sizeof *on_device, stream));
    kernel<<<1, threads, 0, stream>>>(on_device);
    CHECK(cudaMemcpyAsync(found, on_device, sizeof *found, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(found->count, wanted.count);
    for (int i = 0; i < wanted.count; i++) {
        const double difference =
            std::fabs(static_cast<double>(found->value[i]) - static_cast<double>(wanted.value[i]));
        if (!(difference <= tolerance * (1 + std::fabs(static_cast<double>(wanted.value[i]))))) {
            std::fprintf(stderr, "%s: result %d is %.17g, and must be %.17g\n", name, i,
                         static_cast<double>(found->value[i]), static_cast<double>(wanted.value[i]));
            std::exit(1);
        }
    }
    std::printf("%s: %d results\n", name, wanted.count);
    CHECK(cudaFree(on_device));
    CHECK(cudaFreeHost(found));
    CHECK(cudaStreamDestroy(stream));
}

/* ---- integers ------------------------------------------------------------------------------------------------------
 */

__global__ void integers(list<long long> *out)
{
    out->add(static_cast<long long>(__brevll(1ull)));
    out->add(__umul24(0xff000003u, 5u));
    out->add(__mul24(0x00ffffff, 5));
    out->add(static_cast<long long>(__umul64hi(~0ull, 16ull)));
    out->add(__mul64hi(-1LL, 16LL));
    out->add(__sad(-3, 4, 10u));
    out->add(__usad(9u, 4u, 10u));
    out->add(__hadd(-3, 4));
    out->add(__rhadd(-3, 4));
    out->add(__uhadd(~0u, ~0u));
    out->add(__urhadd(4u, 5u));
    out->add(__funnelshift_l(0x80000000u, 1u, 33u));
    out->add(__funnelshift_r(0x80000000u, 1u, 1u));
    out->add(__funnelshift_lc(7u, 1u, 40u));
    out->add(__funnelshift_rc(7u, 1u, 40u));
    out->add(static_cast<long long>(umin(1u, 2u) + umax(1u, 2u)) + llmin(-1LL, 2LL));
    out->add(__dp4a(0x01ff02fe, 0x01010101, 100));
    out->add(__dp4a(0x01ff02feu, 0x01010101u, 100u));
    out->add(__vadd4(0x01ff02feu, 0x01010102u));
    out->add(__vsub2(0x00010000u, 0x00020001u));
    out->add(__vabsdiffu4(0x01ff0200u, 0x02fe0001u));
    out->add(__vmaxs4(0x01ff0280u, 0x00000000u));
    out->add(__vminu2(0xffff0002u, 0x00030001u));
    out->add(__vavgu4(0x01020304u, 0x02020202u));
    out->add(__vcmpgtu4(0x01ff0280u, 0x007f7f81u));
    out->add(__vcmpeq2(0x00010002u, 0x00010003u));
    out->add(__vsadu4(0x01ff0200u, 0x02fe0001u));
    out->add(__double2hiint(-1.0) ^ __double2loint(-1.0));
    out->add(static_cast<long long>(__hiloint2double(0x40080000, 0)));
    out->add(static_cast<long long>(__double2ull_rn(-2.5) + __double2ull_rn(2.5)));
    out->add(static_cast<long long>(__ull2double_rn(~0ull) / 4294967296.0));
}

static list<long long> wanted_integers()
{
    return {{static_cast<long long>(1ull << 63),
             15,
             -5,
             15,
             -1,
             17,
             15,
             0,
             1,
             0xffffffffLL,
             5,
             3,
             0xc0000000LL,
             7,
             1,
             2,
             100,
             612,
             0x02000300,
             0xffffffffLL,
             0x01010201,
             0x01000200,
             0x00030001,
             0x02020303,
             0xffff00ffLL & ~0xffLL,
             0xffff0000LL,
             5,
             static_cast<int>(0xbff00000u),
             3,
             2,
             4294967296LL},
            31};
}

/* ---- floating point ------------------------------------------------------------------------------------------------
 */

__global__ void functions(list<double> *out)
{
    for (int i = -4; i <= 4; i++) {
        const double x = i * 0.2475;
        out->add(erf(erfinv(x)) - x);
        out->add(normcdf(normcdfinv(0.5 + x / 2)) - (0.5 + x / 2));
    }
    out->add(erfcinv(1e-30));
    out->add(normcdf(1.0));
    out->add(normcdfinv(0.975));
    out->add(erfcx(1.0));
    out->add(erfcx(30.0));
    out->add(sinpi(0.5));
    out->add(sinpi(101.0));
    out->add(cospi(-0.5));
    out->add(cospi(7.0));
    out->add(rcbrt(8.0));
    out->add(rhypot(3.0, 4.0));
    out->add(norm3d(2.0, 3.0, 6.0));
    out->add(rnorm4d(1.0, 1.0, 1.0, 1.0));
    out->add(cyl_bessel_i0(1.0));
    out->add(cyl_bessel_i1(-1.0));
    out->add(abs(-2.5f) + abs(-2.5));
    out->add(isnan(sqrt(-1.0f)) + 2 * isinf(exp(1000.0f)));
}

__global__ void float_functions(list<float> *out)
{
    float sine, cosine, numbers[] = {2, 3, 6};
    sincospif(0.25f, &sine, &cosine);
    out->add(sine - cosine);
    out->add(normcdff(0.0f) + erfinvf(0.5f) + erfcinvf(1.5f) + normcdfinvf(0.5f));
    out->add(normf(3, numbers) * rnormf(3, numbers));
    out->add(norm3df(2, 3, 6) + norm4df(1, 1, 1, 1));
    out->add(cyl_bessel_i0f(0.0f) + rcbrtf(1.0f) + erfcxf(0.0f));
    out->add(fdividef(1.0f, 4.0f));
    out->add(__ull2float_rn(1ull << 40) / __int2float_rn(1 << 30));
}

static list<double> wanted_functions()
{
    list<double> wanted = {};
    wanted.count = 18;
    for (double value :
         {8.1486162231698653, 0.84134474606854293, 1.9599639845400545, 0.42758357615580700, 0.018795888861417689, 1.0,
          0.0, 0.0, -1.0, 0.5, 0.2, 7.0, 0.5, 1.2660658777520082, -0.56515910399248503, 5.0, 3.0})
        wanted.add(value);
    return wanted;
}

/* ---- half precision ------------------------------------------------------------------------------------------------
 */

__global__ void halves(list<float> *out)
{
    const __half two = __float2half(2.0f), minus = __float2half(-3.0f);
    const __half2 pair = __floats2half2_rn(4.0f, 0.25f);
    out->add(__half2float(__hfma_sat(two, two, minus)));
    out->add(__half2float(__hfma_relu(two, minus, two)));
    out->add(__high2float(__hfma2_sat(pair, pair, pair)));
    out->add(__low2float(h2sqrt(pair)) + __high2float(h2rsqrt(pair)));
    out->add(__half2float(hexp10(two)) + __half2float(hlog10(hexp10(two))));
    out->add(__half2float(hfloor(__float2half(-1.5f))) + __half2float(hrint(__float2half(2.5f))));
    out->add(static_cast<float>(__half2int_rn(__float2half(2.5f)) + __half2int_ru(__float2half(2.5f))));
    out->add(__bfloat162float(__hfma_relu(__float2bfloat16(2.0f), __float2bfloat16(3.0f), __float2bfloat16(-1.0f))));
    out->add(__bfloat162float(__high2bfloat16(h2floor(__floats2bfloat162_rn(1.0f, 2.75f)))));
}

/* ---- lanes ---------------------------------------------------------------------------------------------------------
 */

__device__ static int sum_of_lanes(int lane)
{
    const unsigned all = ~0u, me = static_cast<unsigned>(lane);
    int sum = __reduce_add_sync(all, lane) + __reduce_min_sync(all, lane - 5) + __reduce_max_sync(all, -lane);
    sum += static_cast<int>(__reduce_and_sync(all, me | 64u) + __reduce_or_sync(all, me) + __reduce_xor_sync(all, me));
    if (lane < 8) /* a part of the warp */
        sum += static_cast<int>(__reduce_max_sync(0xffu, me));
    return sum;
}

__device__ static float shuffled_halves(int lane)
{
    const __half number = __int2half_rn(lane);
    const __half2 pair = __half2half2(number);
    return __half2float(__shfl_sync(~0u, number, 3)) + __high2float(__shfl_xor_sync(~0u, pair, 1));
}

/* What is copied to shared memory while a kernel goes on comes from global memory. */
__device__ int squares[32];

/* Each lane's results; the list has those of lane 5. */
__global__ void lanes(list<long long> *out)
{
    const int lane = static_cast<int>(threadIdx.x);
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    auto odd = cg::binary_partition(tile, lane % 2 == 1);
    auto third = cg::labeled_partition(tile, lane % 3);
    __shared__ int copied[32];
    squares[lane] = lane * lane;
    __syncwarp();
    __pipeline_memcpy_async(&copied[lane], &squares[31 - lane], sizeof(int));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncwarp();
    const long long result[] = {sum_of_lanes(lane),
                                static_cast<long long>(shuffled_halves(lane)),
                                cg::inclusive_scan(tile, lane, cg::plus<int>()),
                                cg::exclusive_scan(tile, lane, cg::plus<int>()),
                                cg::inclusive_scan(tile, lane % 4, cg::greater<int>()),
                                cg::exclusive_scan(odd, lane),
                                odd.size() * 100 + odd.thread_rank(),
                                third.size() * 100 + third.thread_rank(),
                                cg::reduce(third, lane, cg::plus<int>()),
                                copied[lane]};
    if (lane == 5)
        for (long long value : result)
            out->add(value);
}

static list<long long> wanted_lanes()
{
    /* 496 - 5 + 0, 64 + 31 + 0, 7 */
    return {{593, 3 + 4, 15, 10, 3, 1 + 3, 802, 501, 2 + 5 + 8 + 11 + 14, 26 * 26}, 10};
}

int main()
{
    check("integers", integers, wanted_integers(), 0, 1);
    check("functions", functions, wanted_functions(), 1e-13, 1);
    check("functions of float", float_functions, {{0, 0.5f, 1, 9, 3, 0.25f, 1024}, 7}, 1e-6, 1);
    check("halves", halves, {{1, 0, 0.3125f, 4, 102, 0, 5, 5, 2}, 9}, 1e-3, 1);
    check("lanes", lanes, wanted_lanes(), 0, 32);
    return 0;
}
