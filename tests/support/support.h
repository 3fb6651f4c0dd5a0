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

/* A graph's figures, and those of its calls. */
bg_graph_info info_of(const bg_graph *graph);
bg_call_info call_info_of(const bg_graph *graph, int index);

/* Options of a capture: those that are named, the others as BG_CAPTURE_OPTIONS_INIT has them. An unlaunched capture
 * launches no segment. */
#define OPTIONS(...)            LAUNCH_OPTIONS(true, __VA_ARGS__)
#define UNLAUNCHED_OPTIONS(...) LAUNCH_OPTIONS(false, __VA_ARGS__)
#define LAUNCH_OPTIONS(launch, ...)                                                                                    \
    (&(const bg_capture_options){.struct_size = sizeof(bg_capture_options),                                            \
                                 .mode = cudaStreamCaptureModeThreadLocal,                                             \
                                 .launch_segments = (launch),                                                          \
                                 .expect_breaks = -1,                                                                  \
                                 .level = BG_LEVEL_FROM_ENV,                                                           \
                                 __VA_ARGS__})

/* The expression has that error, and bg_last_error() holds each of the texts that follow. */
#define EXPECT_FAILS(expression, status, ...)                                                                          \
    expect_fails_at(expression, status, #expression, __FILE__, __LINE__, __VA_ARGS__, (const char *)NULL)
void expect_fails_at(bg_status found, bg_status expected, const char *expression, const char *file, int line, ...);

/* The capture of the pass gives no graph but that error: EXPECT_NO_CAPTURE(pass, f, f->stream, NULL, status, texts...).
 */
#define EXPECT_NO_CAPTURE(forward, user, stream, options, ...)                                                         \
    expect_no_capture_at(forward, user, stream, options, __FILE__, __LINE__, __VA_ARGS__, (const char *)NULL)
void expect_no_capture_at(bg_forward forward, void *user, cudaStream_t stream, const bg_capture_options *options,
                          const char *file, int line, bg_status status, ...);

/* All elements of the tensor have that value. */
#define EXPECT_VALUE(tensor, value) expect_value_at(tensor, value, #tensor, __FILE__, __LINE__)
/* A replay where x has the value `from` gives y the value `to`. */
#define EXPECT_REPLAY(graph, stream, x, from, y, to)                                                                   \
    expect_replay_at(graph, stream, x, from, y, to, #y, __FILE__, __LINE__)
/* Three replays, where x is 2, 3 and 4, each give y = factor x. */
#define EXPECT_REPLAYS(graph, stream, x, y, factor)                                                                    \
    expect_replays_at(graph, stream, x, y, factor, #y, __FILE__, __LINE__)
void expect_value_at(const bg_tensor *tensor, float value, const char *what, const char *file, int line);
void expect_replay_at(bg_graph *graph, cudaStream_t stream, const bg_tensor *x, float from, const bg_tensor *y,
                      float to, const char *what, const char *file, int line);
void expect_replays_at(bg_graph *graph, cudaStream_t stream, const bg_tensor *x, const bg_tensor *y, float factor,
                       const char *what, const char *file, int line);

/* The graph has so many of each; -1: any number. */
#define EXPECT_COUNTS(graph, segments, breaks, steps)                                                                  \
    expect_counts_at(graph, segments, breaks, steps, __FILE__, __LINE__)
void expect_counts_at(const bg_graph *graph, int segments, int breaks, int steps, const char *file, int line);

/* The same, of what is there. */
#define OWN_GRAPH(name, value)  OWN(bg_graph *, name, destroy_owned_graph, value)
#define OWN_REPORT(name, value) OWN(bg_report *, name, destroy_owned_report, value)
#define OWN_POOL(name, value)   OWN(bg_pool *, name, destroy_owned_pool, value)

/* What a capture of the pass makes, which succeeds; CAPTURED_GRAPH declares it as OWNED_GRAPH does. */
#define CAPTURED_BY(forward, user, stream, options) captured_graph(forward, user, stream, options, __FILE__, __LINE__)
#define CAPTURED_GRAPH(name, forward, user, stream, options)                                                           \
    OWN_GRAPH(name, CAPTURED_BY(forward, user, stream, options))
bg_graph *captured_graph(bg_forward forward, void *user, cudaStream_t stream, const bg_capture_options *options,
                         const char *file, int line);

/* A pass (bg_forward) on `stream`, whose user is declared by the parameter: PASS(layers, const model *m). */
#define PASS(name, parameter)                                                                                          \
    static bg_status name##_with(parameter, cudaStream_t stream);                                                      \
    static bg_status name(void *user, cudaStream_t stream)                                                             \
    {                                                                                                                  \
        return name##_with(user, stream);                                                                              \
    }                                                                                                                  \
    static bg_status name##_with(__attribute__((unused)) parameter, __attribute__((unused)) cudaStream_t stream)
#define FIXTURE_PASS(name) PASS(name, fixture *f)

/* In a pass or a body: returns what failed. */
#define TRY_BG(expression)                                                                                             \
    do {                                                                                                               \
        bg_status status_ = (expression);                                                                              \
        if (status_ != BG_OK)                                                                                          \
            return status_;                                                                                            \
    } while (0)

/* On the host device: from here on a call of CUDA fails, as hostcuda_fail says of requests; it has, once. */
/* A variable of the environment; NULL: it is not set. */
void set_variable(const char *name, const char *value);

void begin_fault(const char *request);
void end_fault(void);

/* Runs it in a thread of its own, to its end. */
void in_new_thread(void *(*run)(void *), void *user);

#endif
