/* What the lanes of a warp, or of a part of one, reduce and scan together with cub. */
#include "collectives.h"

#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

enum { THREADS = 96 };

/* The logical warps of a warp, and the lanes that are in none. */
template <int LANES>
struct part {
    int warp, lane, first, index;

    __host__ __device__ explicit part(int thread)
        : warp(thread / 32), lane(thread % 32 % LANES), first(thread / 32 * 32 + thread % 32 / LANES * LANES),
          index(thread / 32 * (32 / LANES) + thread % 32 / LANES)
    {
    }
    __host__ __device__ bool whole() const
    {
        return first + LANES <= (warp + 1) * 32;
    }
};

/* Where a segment begins: at every third thread, and at some others. */
__host__ __device__ static bool begins(int thread)
{
    return thread % 3 == 0 || thread % 7 == 2;
}

/* ---- reductions -------------------------------------------------------------------------------------------------- */

enum { OF_WARP, OF_SOME, HEADS, TAILS, REDUCTIONS };

template <class T, int LANES>
__global__ void reduce(T *out)
{
    using Reduce = cub::WarpReduce<T, LANES>;
    __shared__ typename Reduce::TempStorage storage[THREADS / 32 * (32 / LANES)];
    const int self = static_cast<int>(threadIdx.x);
    const part<LANES> at(self);
    if (!at.whole())
        return;
    Reduce warp(storage[at.index]);
    T value = sample<T>::at(self), *result = out + self * REDUCTIONS;
    result[OF_WARP] = warp.Reduce(value, combine());
    result[OF_SOME] = warp.Reduce(value, combine(), LANES / 2 + 1);
    result[HEADS] = warp.HeadSegmentedReduce(value, begins(self), combine());
    result[TAILS] = warp.TailSegmentedReduce(value, begins(self + 1), combine());
}

/* The last thread of the segment that a thread is in. */
template <int LANES>
static int segment_end(int thread, int first)
{
    int last = thread;
    while (last + 1 < first + LANES && !begins(last + 1))
        last++;
    return last;
}

template <class T, int LANES>
static void check_reduce(checker &check, cudaStream_t stream)
{
    results<T> out(THREADS * REDUCTIONS);
    const auto kernel = reduce<T, LANES>;
    kernel<<<1, THREADS, 0, stream>>>(out.device);
    out.fetch(stream);
    for (int self = 0; self < THREADS; self++) {
        const part<LANES> at(self);
        const int row = self * REDUCTIONS, last = segment_end<LANES>(self, at.first);
        if (!at.whole())
            continue;
        if (at.lane == 0) {
            check.expect(out[row + OF_WARP], fold<T>(self, self + LANES - 1), "reduction", self, LANES);
            check.expect(out[row + OF_SOME], fold<T>(self, self + LANES / 2), "reduction of some", self, LANES);
        }
        if (at.lane == 0 || begins(self)) {
            check.expect(out[row + HEADS], fold<T>(self, last), "segment by its head", self, LANES);
            check.expect(out[row + TAILS], fold<T>(self, last), "segment by its tail", self, LANES);
        }
    }
}

/* The named sums, and an operator that is no sum. */
__global__ void sum_up(int *out)
{
    using Reduce = cub::WarpReduce<int>;
    __shared__ typename Reduce::TempStorage storage[THREADS / 32];
    const int self = static_cast<int>(threadIdx.x), lane = self % 32;
    Reduce warp(storage[self / 32]);
    const int found[] = {warp.Sum(self), warp.Sum(self, 5), warp.HeadSegmentedSum(self, lane % 8 == 0 ? 1 : 0),
                         warp.TailSegmentedSum(self, lane % 8 == 7 ? 1 : 0), warp.Reduce(self * 7 % 32, larger())};
    for (int i = 0; lane == 0 && i < 5; i++)
        out[self / 32 * 5 + i] = found[i];
}

static void check_sums(checker &check, cudaStream_t stream)
{
    results<int> out(THREADS / 32 * 5);
    sum_up<<<1, THREADS, 0, stream>>>(out.device);
    out.fetch(stream);
    for (int warp = 0; warp < THREADS / 32; warp++) {
        const int first = warp * 32, wanted[] = {32 * first + 496, 5 * first + 10, 8 * first + 28, 8 * first + 28, 31};
        for (int i = 0; i < 5; i++)
            check.expect(out[warp * 5 + i], wanted[i], "sum", warp, i);
    }
}

/* ---- scans ---------------------------------------------------------------------------------------------------------
 */

enum {
    INCLUSIVE,
    INITIAL,
    EXCLUSIVE,
    BARE,
    BOTH_INCLUSIVE,
    BOTH_EXCLUSIVE,
    ONE_AGGREGATE,
    OTHER_AGGREGATE,
    SENT,
    SCANS
};

template <class T, int LANES>
__global__ void scan(T *out)
{
    using Scan = cub::WarpScan<T, LANES>;
    __shared__ typename Scan::TempStorage storage[THREADS / 32 * (32 / LANES)];
    const int self = static_cast<int>(threadIdx.x);
    const part<LANES> at(self);
    if (!at.whole())
        return;
    Scan warp(storage[at.index]);
    T value = sample<T>::at(self + 1), initial = sample<T>::at(at.first), *result = out + self * SCANS;
    warp.InclusiveScan(value, result[INCLUSIVE], combine(), result[ONE_AGGREGATE]);
    warp.InclusiveScan(value, result[INITIAL], initial, combine());
    warp.ExclusiveScan(value, result[EXCLUSIVE], initial, combine(), result[OTHER_AGGREGATE]);
    warp.ExclusiveScan(value, result[BARE], combine());
    warp.Scan(value, result[BOTH_INCLUSIVE], result[BOTH_EXCLUSIVE], initial, combine());
    result[SENT] = warp.Broadcast(value, LANES / 2);
}

template <class T, int LANES>
static void check_scan(checker &check, cudaStream_t stream)
{
    results<T> out(THREADS * SCANS);
    const auto kernel = scan<T, LANES>;
    kernel<<<1, THREADS, 0, stream>>>(out.device);
    out.fetch(stream);
    for (int self = 0; self < THREADS; self++) {
        const part<LANES> at(self);
        const int row = self * SCANS, first = at.first;
        if (!at.whole())
            continue;
        check.expect(out[row + INCLUSIVE], fold<T>(first + 1, self + 1), "inclusive scan", self, LANES);
        check.expect(out[row + INITIAL], fold<T>(first, self + 1), "scan with a start", self, LANES);
        check.expect(out[row + EXCLUSIVE], fold<T>(first, self), "exclusive scan", self, LANES);
        if (at.lane > 0)
            check.expect(out[row + BARE], fold<T>(first + 1, self), "exclusive scan from nothing", self, LANES);
        check.expect(out[row + BOTH_INCLUSIVE], fold<T>(first, self + 1), "inclusive one of two", self, LANES);
        check.expect(out[row + BOTH_EXCLUSIVE], fold<T>(first, self), "exclusive one of two", self, LANES);
        check.expect(out[row + ONE_AGGREGATE], fold<T>(first + 1, first + LANES), "aggregate", self, LANES);
        check.expect(out[row + OTHER_AGGREGATE], fold<T>(first + 1, first + LANES), "other aggregate", self, LANES);
        check.expect(out[row + SENT], sample<T>::at(first + LANES / 2 + 1), "broadcast", self, LANES);
    }
}

/* ---- all of them ---------------------------------------------------------------------------------------------------
 */

template <class T, int LANES>
static void check_all(checker &reductions, checker &scans, cudaStream_t stream)
{
    check_reduce<T, LANES>(reductions, stream);
    check_scan<T, LANES>(scans, stream);
}

int main()
{
    cudaStream_t stream = make_stream();
    checker reductions("reductions"), scans("scans");
    check_all<int, 1>(reductions, scans, stream);
    check_all<line, 2>(reductions, scans, stream);
    check_all<double, 4>(reductions, scans, stream);
    check_all<matrix, 8>(reductions, scans, stream);
    check_all<line, 16>(reductions, scans, stream);
    check_all<int, 32>(reductions, scans, stream);
    check_all<line, 32>(reductions, scans, stream);
    check_all<matrix, 32>(reductions, scans, stream);
    check_all<unsigned short, 32>(reductions, scans, stream);
    check_all<line, 5>(reductions, scans, stream);
    check_all<matrix, 12>(reductions, scans, stream);
    check_all<int, 31>(reductions, scans, stream);
    check_sums(reductions, stream);
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
