/* Objects that go with their scope, declared as OWNED_STREAM(stream): NULL at first, destroyed at its end, the last one
 * first, and without an error. */
#ifndef BG_TESTS_OWNED_H
#define BG_TESTS_OWNED_H

#include <cuda_runtime_api.h>

#define OWNED_STREAM(name)     OWNED(cudaStream_t, name, destroy_owned_stream)
#define OWNED_EVENT(name)      OWNED(cudaEvent_t, name, destroy_owned_event)
#define OWNED_CUDA_GRAPH(name) OWNED(cudaGraph_t, name, destroy_owned_cuda_graph)
#define OWNED_EXEC(name)       OWNED(cudaGraphExec_t, name, destroy_owned_exec)
/* Device memory: OWNED_MEMORY(float, x) declares float *x. */
#define OWNED_MEMORY(type, name) OWNED(type *, name, free_owned_memory)

/* Made where it is declared: OWN_MEMORY(char, block, allocate(BYTES)). */
#define OWN_MEMORY(type, name, value) OWN(type *, name, free_owned_memory, value)

#define OWNED(type, name, destroy)      OWN(type, name, destroy, NULL)
#define OWN(type, name, destroy, value) __attribute__((cleanup(destroy), unused)) type name = value
void destroy_owned_stream(cudaStream_t *stream);
void destroy_owned_event(cudaEvent_t *event);
void destroy_owned_cuda_graph(cudaGraph_t *graph);
void destroy_owned_exec(cudaGraphExec_t *exec);
void free_owned_memory(void *memory);

#endif
