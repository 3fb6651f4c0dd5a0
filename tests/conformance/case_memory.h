/* What the cases about memory share. */
#ifndef CONFORMANCE_CASE_MEMORY_H
#define CONFORMANCE_CASE_MEMORY_H

#include "case_gate.h"

#include <string.h>

/* A variable of the case's own, set for the calls after it. The pages end what looks like a call by themselves. */
#define SET(...)                                                                                                       \
    do {                                                                                                               \
        __VA_ARGS__;                                                                                                   \
        STEP_AS(strchr(#__VA_ARGS__, '(') ? #__VA_ARGS__ : #__VA_ARGS__ ";", cudaSuccess);                             \
    } while (0)

/* Waits for the device and notes the bytes of each row, in hexadecimal. */
#define BYTES(what, memory, count)               case_rows(s, what, memory, count, count, 1)
#define ROWS(what, memory, pitch, width, height) case_rows(s, what, memory, pitch, width, height)
void case_rows(struct scene *s, const char *what, const void *memory, size_t pitch, size_t width, size_t height);

/* The case's own memory, all 0, and its end. */
#define MAKE(bytes) STEP_AS("/* memory: " #bytes " bytes, all 0 */", case_make_memory(s, bytes))
#define FREE()      STEP_AS("cudaFree(memory)", case_free_memory(s))
cudaError_t case_free_memory(struct scene *s);

/* Runs what was captured, if it was. */
#define RUN_GRAPH()                                                                                                    \
    do {                                                                                                               \
        ASK(cudaGraphInstantiate(&s->exec, s->graph, 0));                                                              \
        ASK(cudaGraphLaunch(s->exec, s->b));                                                                           \
        STEP(cudaStreamSynchronize(s->b));                                                                             \
    } while (0)

/* After HOLD, a call that waits for the stream returns when the function has given up. */
#define LET_GO() OPEN_GATE()
#define WAITED() ANSWERED("has the call waited for the stream", gate_gave_up())

#endif
