#include "kernel_buffers.h"

enum { GUARD = 64, MAX_BUFFERS = 16 };

cudaStream_t kernel_stream;
static uint64_t seed, random_state;
static buffer kernel_buffers[MAX_BUFFERS];
static int kernel_buffer_count;

void kernel_ok(cudaError_t result)
{
    if (result != cudaSuccess)
        fail_msg("%s: %s", cudaGetErrorName(result), cudaGetErrorString(result));
}

/* xorshift64* (Vigna 2016), in -1..1 */
double kernel_uniform(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (double)(int64_t)(random_state * 0x2545F4914F6CDD1Du) * 0x1p-63;
}

void buffer_upload(const buffer *b)
{
    kernel_ok(
        cudaMemcpyAsync(b->device, b->host, (b->count + GUARD) * sizeof(float), cudaMemcpyHostToDevice, kernel_stream));
    kernel_ok(cudaStreamSynchronize(kernel_stream));
}

buffer *buffer_make(size_t count)
{
    buffer *b = &kernel_buffers[kernel_buffer_count++];
    assert_true(kernel_buffer_count <= MAX_BUFFERS);
    b->count = count;
    b->host = malloc((count + GUARD) * sizeof *b->host);
    assert_non_null(b->host);
    kernel_ok(cudaMalloc((void **)&b->device, (count + GUARD) * sizeof(float)));
    for (size_t i = 0; i < count + GUARD; i++)
        b->host[i] = nanf("");
    return b;
}

/* An output: NaN all over. */
buffer *buffer_make_output(size_t count)
{
    buffer *b = buffer_make(count);
    buffer_upload(b);
    return b;
}

buffer *buffer_make_input(size_t count, double scale)
{
    buffer *b = buffer_make(count);
    for (size_t i = 0; i < count; i++)
        b->host[i] = (float)(scale * kernel_uniform());
    buffer_upload(b);
    return b;
}

int *buffer_make_ints(const int *values, int count)
{
    buffer *b = buffer_make((size_t)count);
    memcpy(b->host, values, (size_t)count * sizeof(int));
    buffer_upload(b);
    return (int *)b->device;
}

buffer *buffer_at(int index)
{
    assert_true(index < kernel_buffer_count);
    return &kernel_buffers[index];
}

void buffer_read_back(buffer *b)
{
    kernel_ok(
        cudaMemcpyAsync(b->host, b->device, (b->count + GUARD) * sizeof(float), cudaMemcpyDeviceToHost, kernel_stream));
    kernel_ok(cudaStreamSynchronize(kernel_stream));
    for (size_t i = b->count; i < b->count + GUARD; i++)
        assert_true(isnan(b->host[i]));
}

void buffer_expect_close(buffer *b, const double *expected, double tolerance, double scale)
{
    buffer_read_back(b);
    for (size_t i = 0; i < b->count; i++) {
        double bound = tolerance * (fabs(expected[i]) + scale);
        if (isnan(expected[i]) ? !isnan(b->host[i]) : !(fabs(b->host[i] - expected[i]) <= bound))
            fail_msg("element %zu of %zu: %.9g, expected %.9g (seed %llu)", i, b->count, (double)b->host[i],
                     expected[i], (unsigned long long)seed);
    }
}

double *buffer_make_expected(size_t count)
{
    double *expected = malloc((count ? count : 1) * sizeof *expected);
    assert_non_null(expected);
    return expected;
}

int buffers_set_up(void **state)
{
    (void)state;
    seed = 7;
    random_state = seed;
    return cudaStreamCreateWithFlags(&kernel_stream, cudaStreamNonBlocking) == cudaSuccess ? 0 : -1;
}

void buffers_release_to(const buffer *last)
{
    while (kernel_buffer_count > 0 && &kernel_buffers[kernel_buffer_count - 1] != last) {
        buffer *b = &kernel_buffers[--kernel_buffer_count];
        cudaFree(b->device);
        free(b->host);
    }
}

void buffers_release(void)
{
    buffers_release_to(NULL);
}

int buffers_tear_down(void **state)
{
    (void)state;
    buffers_release();
    return cudaStreamDestroy(kernel_stream) == cudaSuccess ? 0 : -1;
}
