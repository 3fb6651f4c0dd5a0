/* What tests of captures share: options, graphs of passes, and what passes and bodies are made of. */
#ifndef BG_TESTS_CAPTURE_SUPPORT_H
#define BG_TESTS_CAPTURE_SUPPORT_H

#include "owned.h"

#include <breakgraph/cublas.h>

/* BG_CALL and BG_CALL_ARGS that keep their line. */
#define CALL_AT(line, op, stream, ...)       ((line) = __LINE__, BG_CALL(op, stream, __VA_ARGS__))
#define CALL_ARGS_AT(line, op, stream, args) ((line) = __LINE__, BG_CALL_ARGS(op, stream, args))

/* Options of a capture that launches no segment; and of a comparison: those that are named, the others as INIT has
 * them. */
#define UNLAUNCHED UNLAUNCHED_OPTIONS(.name = NULL)
#define COMPARE_WITH(...)                                                                                              \
    (&(const bg_compare_options){.struct_size = sizeof(bg_compare_options), .repeats = 1, __VA_ARGS__})

/* y = factor x x, of 8 x 8 elements. */
bg_status multiply(cublasHandle_t handle, float factor, const bg_tensor *x, const bg_tensor *y, cudaStream_t stream);

/* Device memory that holds 0. */
char *allocate(size_t bytes);

/* Sets the fixture's tensors; or checks what they hold. */
void put_all(const fixture *f, float x, float y, float z);
#define EXPECT_ALL(f, x, y, z) expect_all(f, x, y, z, __FILE__, __LINE__)
void expect_all(const fixture *f, float x, float y, float z, const char *file, int line);

/* The graph of a pass; with a variable in the environment, which is taken away again. */
bg_graph *capture_of(bg_forward pass, void *user, cudaStream_t stream, const bg_capture_options *options);
bg_graph *capture_under(const char *variable, const char *value, bg_forward pass, void *user, cudaStream_t stream,
                        const bg_capture_options *options);
bg_capture *begin_capture(cudaStream_t stream, const bg_capture_options *options);
bg_graph *end_capture(bg_capture *capture);

#endif
