/* Buffers on both sides, for tests of kernels against plain C: outputs are poisoned with NaN before each run and have a
 * guard behind them that must not change. */
#ifndef BG_TESTS_KERNEL_BUFFERS_H
#define BG_TESTS_KERNEL_BUFFERS_H

#include "tests/support/test.h"

#include <cuda_runtime_api.h>
#include "kernels/model/kernels.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* host is what the device was given, until it is read back. */
typedef struct buffer {
    float *host, *device;
    size_t count;
} buffer;

extern cudaStream_t kernel_stream;

void kernel_ok(cudaError_t result);
/* In -1..1, from a seed that the failure of a comparison prints. */
double kernel_uniform(void);

/* All live until they are released, at the latest by the test's teardown. */
buffer *buffer_make(size_t count);
buffer *buffer_make_output(size_t count);
buffer *buffer_make_input(size_t count, double scale);
int *buffer_make_ints(const int *values, int count);
/* The buffer that was made index-th since the last release of all. */
buffer *buffer_at(int index);
void buffer_upload(const buffer *b);
void buffer_read_back(buffer *b);
/* |difference| <= tolerance * (|expected| + scale), element by element. */
void buffer_expect_close(buffer *b, const double *expected, double tolerance, double scale);
/* Plain memory, to be freed. */
double *buffer_make_expected(size_t count);
/* Frees the buffers that were made after `last`, or all. */
void buffers_release_to(const buffer *last);
void buffers_release(void);

int buffers_set_up(void **state);
int buffers_tear_down(void **state);

#endif
