/* Mistakes with cub, one for each argument: what the host device makes of them. Exit status 1: a result is wrong. */
#include "tests/programs/program.h"

#include <cub/cub.cuh>

#include <cstring>

enum { THREADS = 96 };

/* The second sum begins before the first one is done, if no barrier is between. */
__global__ void use_again(int *out, bool wait)
{
    using Reduce = cub::BlockReduce<int, THREADS>;
    __shared__ typename Reduce::TempStorage storage;
    const int first = Reduce(storage).Sum(1);
    if (wait)
        __syncthreads();
    const int second = Reduce(storage).Sum(1000);
    if (threadIdx.x == 0)
        *out = first + second;
}

__global__ void scan_again(int *out, bool wait)
{
    using Scan = cub::BlockScan<int, THREADS>;
    __shared__ typename Scan::TempStorage storage;
    int first, second;
    Scan(storage).InclusiveSum(1, first);
    if (wait)
        __syncthreads();
    Scan(storage).InclusiveSum(1000, second);
    const int wrong = __syncthreads_or(first + second != 1001 * (static_cast<int>(threadIdx.x) + 1));
    if (threadIdx.x == 0)
        *out = wrong ? 0 : THREADS * 1001;
}

/* All threads take the sum for theirs. */
__global__ void read_everywhere(int *out, bool share)
{
    __shared__ int shared;
    int sum = cub::BlockReduce<int, THREADS>().Sum(1001);
    if (threadIdx.x == 0)
        shared = sum;
    __syncthreads();
    if (share)
        sum = shared;
    if (threadIdx.x == THREADS - 1)
        *out = sum;
}

/* A class for more threads than there are. */
__global__ void sum_of_more(int *out, bool enough)
{
    using Reduce = cub::BlockReduce<int, 2 * THREADS>;
    const int sum = enough ? Reduce().Sum(1001, THREADS) : Reduce().Sum(1001);
    if (threadIdx.x == 0)
        *out = sum;
}

/* And for fewer. */
__global__ void sum_of_less(int *out, bool enough)
{
    const int sum =
        enough ? cub::BlockReduce<int, THREADS>().Sum(1001) : cub::BlockReduce<int, THREADS / 2>().Sum(1001);
    if (threadIdx.x == 0)
        *out = sum;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*kernel)(int *, bool);
    } kernels[] = {{"reduce", use_again},
                   {"scan", scan_again},
                   {"everywhere", read_everywhere},
                   {"more", sum_of_more},
                   {"less", sum_of_less}};
    cudaStream_t stream = make_stream();
    int *out = allocate<int>(1);
    for (auto each : kernels) {
        if (argc < 2 || std::strcmp(each.name, argv[1]) != 0)
            continue;
        each.kernel<<<1, THREADS, 0, stream>>>(out, argc > 2);
        EXPECT(read_one(out, stream), THREADS * 1001);
        std::printf("right\n");
    }
    return 0;
}
