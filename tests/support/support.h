/* What the unit tests share: streams and buffers that clean up after themselves, and ops with kernels to call. */
#ifndef BG_TESTS_SUPPORT_H
#define BG_TESTS_SUPPORT_H

#include "tests/support/owned.h"
#include "tests/support/test.h"

#include <breakgraph/breakgraph.h>
#include "kernels/model/kernels.h"

/* For bg_op_set_attributes: those that are named, the others at their defaults. */
#define ATTRIBUTES(...) (&(bg_op_attributes){.struct_size = sizeof(bg_op_attributes), __VA_ARGS__})

/* Fails the test with both values and, for a status, the sentence. */
#define EXPECT_STATUS(expression, expected) expect_status(expression, expected, #expression, __FILE__, __LINE__)
#define EXPECT_OK(expression)               EXPECT_STATUS(expression, BG_OK)
#define EXPECT_CUDA(expression)             expect_cuda(expression, #expression, __FILE__, __LINE__)
/* bg_last_error() holds text. */
#define EXPECT_ERROR(text) expect_error(text, __FILE__, __LINE__)

void expect_status(bg_status found, bg_status expected, const char *expression, const char *file, int line);
void expect_cuda(cudaError_t found, const char *expression, const char *file, int line);
void expect_error(const char *text, const char *file, int line);

bg_status from_cuda(cudaError_t error);

enum { N = 64 }; /* elements of every tensor of these tests */

/* A stream, and tensors of N floats that start as 0. cmocka's setup and teardown: *state is the fixture. */
typedef struct fixture {
    cudaStream_t stream, other;
    bg_tensor x, y, z;
    float *memory;
} fixture;
int fixture_setup(void **state);
int fixture_teardown(void **state);
#define FIXTURE_TEST(name) TEST_F(name, fixture_setup, fixture_teardown, fixture *f)

/* Sets all elements, or waits for the device and gives the first one after checking that all are equal. */
void put(const bg_tensor *tensor, float value);
float get(const bg_tensor *tensor);

/* The stream is not captured, and work on it runs. */
void expect_usable(fixture *f, cudaStream_t stream);

/* Objects that go with their scope, as those of CUDA in owned.h. */
#define OWNED_GRAPH(name)  OWNED(bg_graph *, name, destroy_owned_graph)
#define OWNED_REPORT(name) OWNED(bg_report *, name, destroy_owned_report)
#define OWNED_RUNNER(name) OWNED(bg_runner *, name, destroy_owned_runner)
#define OWNED_POOL(name)   OWNED(bg_pool *, name, destroy_owned_pool)
void destroy_owned_graph(bg_graph **graph);
void destroy_owned_report(bg_report **report);
void destroy_owned_runner(bg_runner **runner);
void destroy_owned_pool(bg_pool **pool);

/* A graph's figures. */
bg_graph_info info_of(const bg_graph *graph);

#endif
