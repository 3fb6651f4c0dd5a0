/* Values and an operator for what threads compute together: associative, and for two of the types not commutative. */
#ifndef COLLECTIVES_H
#define COLLECTIVES_H

#include "program.h"

/* x -> factor * x + term, modulo 2^32 */
struct line {
    unsigned factor, term;
};

/* Larger than what one shuffle moves, and not a multiple of that. */
struct matrix {
    unsigned cell[2][2], applied;
};

struct combine {
    template <class T>
    __host__ __device__ T operator()(const T &a, const T &b) const
    {
        return a + b;
    }
    __host__ __device__ line operator()(const line &a, const line &b) const
    {
        return {a.factor * b.factor, a.term * b.factor + b.term};
    }
    __host__ __device__ matrix operator()(const matrix &a, const matrix &b) const
    {
        matrix product = {{{0, 0}, {0, 0}}, a.applied + b.applied};
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++)
                product.cell[i][j] = a.cell[i][0] * b.cell[0][j] + a.cell[i][1] * b.cell[1][j];
        return product;
    }
};

/* The larger one: a thread's own input is rarely right by chance. */
struct larger {
    template <class T>
    __host__ __device__ T operator()(const T &a, const T &b) const
    {
        return a < b ? b : a;
    }
};

/* The i-th value of each type. */
template <class T>
struct sample {
    __host__ __device__ static T at(int i)
    {
        return static_cast<T>((i * 37 + 11) % 101);
    }
};
template <>
struct sample<line> {
    __host__ __device__ static line at(int i)
    {
        return {static_cast<unsigned>(i) * 2 + 3, static_cast<unsigned>(i) * 7 + 1};
    }
};
template <>
struct sample<matrix> {
    __host__ __device__ static matrix at(int i)
    {
        unsigned n = static_cast<unsigned>(i);
        return {{{n + 1, n * 3 + 2}, {n * 5 + 3, n + 7}}, 1};
    }
};

template <class T>
bool same(const T &a, const T &b)
{
    return a == b;
}
inline bool same(const line &a, const line &b)
{
    return a.factor == b.factor && a.term == b.term;
}
inline bool same(const matrix &a, const matrix &b)
{
    for (int i = 0; i < 4; i++)
        if (a.cell[i / 2][i % 2] != b.cell[i / 2][i % 2])
            return false;
    return a.applied == b.applied;
}

/* The values from first to last, combined in order. */
template <class T>
T fold(int first, int last)
{
    T result = sample<T>::at(first);
    for (int i = first + 1; i <= last; i++)
        result = combine()(result, sample<T>::at(i));
    return result;
}

/* Ends the program with status 1 if a result is wrong; counts those that are right. */
class checker
{
  public:
    explicit checker(const char *of_what) : what(of_what)
    {
    }
    ~checker()
    {
        std::printf("%s: %d results\n", what, right);
    }
    template <class T>
    void expect(const T &found, const T &wanted, const char *which, int place, int threads)
    {
        if (!same(found, wanted)) {
            std::fprintf(stderr, "%s: %s of thread %d of %d is wrong\n", what, which, place, threads);
            std::exit(1);
        }
        right++;
    }

  private:
    const char *what;
    int right = 0;
};

/* Memory that a kernel writes and the host reads when the stream has done its work. */
template <class T>
class results
{
  public:
    explicit results(int values) : count(static_cast<std::size_t>(values)), host(allocate_pinned<T>(count))
    {
        CHECK(cudaMalloc(reinterpret_cast<void **>(&device), count * sizeof(T)));
    }
    ~results()
    {
        CHECK(cudaFree(device));
        CHECK(cudaFreeHost(host));
    }
    void fetch(cudaStream_t stream)
    {
        CHECK(cudaMemcpyAsync(host, device, count * sizeof(T), cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
    }
    const T &operator[](int i) const
    {
        return host[i];
    }
    T *device = nullptr;

  private:
    std::size_t count;
    T *host;
};

#endif
