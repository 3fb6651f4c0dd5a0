/* The kernels of the zoo, and a function that launches each: zoo_add(y, a, b, n, stream) launches the kernel `add`.
 * These functions are inlined, so that a tool that looks at the stack of a launch sees the program's own function. */
#ifndef ZOO_KERNELS_H
#define ZOO_KERNELS_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The kernels, as graphs and tools name them; all work on floats, one thread an element or row. */
enum zoo_kernel {
    ZOO_FILL,    /* fill(y, value, n):              y[i] = value */
    ZOO_ADD,     /* add(y, a, b, n):                y[i] = a[i] + b[i] */
    ZOO_SCALE,   /* scale(y, x, factor, n):         y[i] = x[i] * factor */
    ZOO_GATHER,  /* gather(y, table, index, n):     y[i] = table[index[i]] */
    ZOO_SCATTER, /* scatter(table, x, index, n, wrap): table[index[i]] = x[i]; an index below 0 counts from wrap, or is
                  * skipped if wrap is 0 */
    ZOO_ROW_SUM, /* row_sum(y, x, n, columns):      y[i] = sum of row i of x */
    ZOO_COPY_BELOW, /* copy_below(y, x, limit, n):     y[i] = x[i] where i < *limit, an int in device memory */
    ZOO_WAIT_FLAG,  /* wait_flag(flag, value):         spins until *flag == value */
    ZOO_SET_FLAG,   /* set_flag(flag, value):          *flag = value, after all earlier writes */
    ZOO_DELAY,      /* delay(microseconds):            keeps the device busy; nothing on the host device */
    ZOO_KERNELS
};
const void *zoo_kernel(enum zoo_kernel kernel);

#define ZOO_LAUNCH_(kernel, name, parameters, threads, ...)                                                            \
    static inline __attribute__((always_inline, unused)) cudaError_t name parameters                                   \
    {                                                                                                                  \
        void *arguments[] = {__VA_ARGS__};                                                                             \
        const dim3 grid = {((unsigned)(threads) + 127) / 128, 1, 1}, block = {(threads) == 1 ? 1U : 128U, 1, 1};       \
        return cudaLaunchKernel(zoo_kernel(kernel), grid, block, arguments, 0, stream);                                \
    }

ZOO_LAUNCH_(ZOO_FILL, zoo_fill, (float *y, float value, int n, cudaStream_t stream), n, &y, &value, &n)
ZOO_LAUNCH_(ZOO_ADD, zoo_add, (float *y, const float *a, const float *b, int n, cudaStream_t stream), n, &y, &a, &b, &n)
ZOO_LAUNCH_(ZOO_SCALE, zoo_scale, (float *y, const float *x, float factor, int n, cudaStream_t stream), n, &y, &x,
            &factor, &n)
ZOO_LAUNCH_(ZOO_GATHER, zoo_gather, (float *y, const float *table, const int *index, int n, cudaStream_t stream), n, &y,
            &table, &index, &n)
ZOO_LAUNCH_(ZOO_SCATTER, zoo_scatter,
            (float *table, const float *x, const int *index, int n, int wrap, cudaStream_t stream), n, &table, &x,
            &index, &n, &wrap)
ZOO_LAUNCH_(ZOO_ROW_SUM, zoo_row_sum, (float *y, const float *x, int n, int columns, cudaStream_t stream), n, &y, &x,
            &n, &columns)
ZOO_LAUNCH_(ZOO_COPY_BELOW, zoo_copy_below, (float *y, const float *x, const int *limit, int n, cudaStream_t stream), n,
            &y, &x, &limit, &n)
ZOO_LAUNCH_(ZOO_WAIT_FLAG, zoo_wait_flag, (const int *flag, int value, cudaStream_t stream), 1, &flag, &value)
ZOO_LAUNCH_(ZOO_SET_FLAG, zoo_set_flag, (int *flag, int value, cudaStream_t stream), 1, &flag, &value)
ZOO_LAUNCH_(ZOO_DELAY, zoo_delay, (int microseconds, cudaStream_t stream), 1, &microseconds)

#ifdef __cplusplus
}
#endif

#endif
