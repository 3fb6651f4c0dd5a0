/* What tests of CUDA itself share: public calls alone, so that they run on both devices. */
#ifndef CUDA_SUPPORT_H
#define CUDA_SUPPORT_H

#include "tests/support/owned.h"
#include "tests/support/test.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>
#include <hostcuda/hostcuda.h>
#include <stdbool.h>

/* A GPU has none of them. */
#pragma weak hostcuda_seed
#pragma weak hostcuda_fail
#pragma weak hostcuda_tool
#pragma weak hostcuda_faults
#pragma weak hostcuda_record
#pragma weak hostcuda_call
#pragma weak hostcuda_calls
#pragma weak hostcuda_count_live

/* Fail the test with the call and both codes by name. */
#define OK(call)                expect_error_code((call), cudaSuccess, #call, __FILE__, __LINE__)
#define EXPECT_CODE(call, code) expect_error_code((call), (code), #call, __FILE__, __LINE__)
#define EXPECT_INVALID(call)    expect_error_code((call), cudaErrorInvalidValue, #call, __FILE__, __LINE__)
#define CU_OK(call)             expect_driver_code((call), CUDA_SUCCESS, #call, __FILE__, __LINE__)
#define CU_EXPECT(call, code)   expect_driver_code((call), (code), #call, __FILE__, __LINE__)
#define CU_INVALID(call)        expect_driver_code((call), CUDA_ERROR_INVALID_VALUE, #call, __FILE__, __LINE__)

/* Takes an expected error away from the runtime, too. */
void expect_error_code(cudaError_t found, cudaError_t expected, const char *call, const char *file, int line);
void expect_driver_code(CUresult found, CUresult expected, const char *call, const char *file, int line);

/* Ends the test as skipped, and says why, unless that is so. */
void skip_unless(bool so, const char *why, ...) CMOCKA_PRINTF_ATTRIBUTE(2, 3);
bool on_host_device(void);

/* At file scope: what the tests of a program share, a variable each, for TEST_GROUP(make_shared, drop_shared). */
#define SHARED_STREAM(name, flags)                                                                                     \
    static cudaStream_t name;                                                                                          \
    BEFORE_TESTS(name, share_stream(&name, flags))
/* Of `count` elements, filled with 0. */
#define SHARED_MEMORY(type, name, count)                                                                               \
    static type *name;                                                                                                 \
    BEFORE_TESTS(name, share_memory(&name, (count) * sizeof *name))
/* The driver's function of this name, as the CUDA version brought it; the tests fail where there is none. */
#define DRIVER_ENTRY(name, function, version)                                                                          \
    static PFN_##function##_v##version name;                                                                           \
    BEFORE_TESTS(name, share_entry(&name, #function, version))

/* A test for which they are made anew, where its setup does not belong before the first test. */
#define SHARED_TEST(name) TEST_F(name, make_shared, drop_shared, void *state)

void share_stream(cudaStream_t *stream, unsigned flags);
void share_memory(void *pointer, size_t bytes);
void share_entry(void *function, const char *name, unsigned version);
int make_shared(void **state);
int drop_shared(void **state);

/* The same by flags of cudaGetDriverEntryPointByVersion, written to *function, a pointer to a function. */
void driver_entry(const char *name, unsigned version, unsigned long long flags, void *function);
CUdeviceptr address_of(const void *pointer);

/* Objects that go with their scope, made where they are declared: new_graph(), end_capture(stream), new_exec(graph). */
#define GRAPH_OF(name, made)   OWN(cudaGraph_t, name, destroy_owned_cuda_graph, made)
#define NEW_GRAPH(name)        GRAPH_OF(name, new_graph())
#define CAPTURED(name, stream) GRAPH_OF(name, end_capture(stream))
#define EXEC_OF(name, graph)   OWN(cudaGraphExec_t, name, destroy_owned_exec, new_exec(graph))
/* Device memory of `count` elements, filled with 0. */
#define DEVICE_MEMORY(type, name, count) OWN(type *, name, free_owned_memory, device_memory((count) * sizeof *name))

#define BEGIN_CAPTURE(stream) OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal))
#define end_capture(stream)   ended_capture(stream, __FILE__, __LINE__)
#define new_graph()           created_graph(__FILE__, __LINE__)
#define new_exec(graph)       instantiated(graph, __FILE__, __LINE__)
cudaGraph_t ended_capture(cudaStream_t stream, const char *file, int line);
cudaGraph_t created_graph(const char *file, int line);
cudaGraphExec_t instantiated(cudaGraph_t graph, const char *file, int line);
void *device_memory(size_t bytes);

size_t nodes_of(cudaGraph_t graph);
cudaGraphNode_t only_node(cudaGraph_t graph);
enum cudaGraphNodeType type_of(cudaGraphNode_t node);
cudaFunction_t function_of(const void *kernel);
/* A host function: adds 1 to the int. */
void CUDART_CB count_up(void *user);

/* What a kernel writes to `out`, device memory of got's size that is 0 at first: KERNEL_OUTPUT(got, launch(out)). */
#define KERNEL_OUTPUT(got, launch)                                                                                     \
    do {                                                                                                               \
        void *out = device_memory(sizeof(got));                                                                        \
        OK(launch);                                                                                                    \
        take_back(got, out, sizeof(got));                                                                              \
    } while (0)
/* Waits for the device, copies from its memory, and frees that. */
void take_back(void *to, void *from, size_t bytes);
/* Waits for the stream, and gives what is there. */
int read_int(const int *address, cudaStream_t stream);

#endif
