/* Streams that are held back: host functions that wait for the case, or take long. One at a time: CUDA may call the
 * functions of all streams one after the other. */
#ifndef CONFORMANCE_CASE_GATE_H
#define CONFORMANCE_CASE_GATE_H

#include "case.h"

/* The stream's later work waits until the gate is opened; if it is not, because a call of the case waits for the
 * stream, for a short time. */
#define HOLD(stream) STEP_AS("cudaLaunchHostFunc(" #stream ", wait_for_gate, NULL)", gate_hold(stream))
#define OPEN_GATE()  STEP_AS("open_gate()", gate_open())
/* A function that takes long, and then ends by itself. */
#define TAKE_LONG(stream) STEP_AS("cudaLaunchHostFunc(" #stream ", take_long, NULL)", gate_take_long(stream))
/* Has the function come to its end? */
#define RETURNED() ANSWERED("the host function has returned", gate_returned())

enum { GATE_MS_MAX = 300, GATE_WAIT_MS_MAX = 5000 };
#define GATE_LONG_MS 60.0

cudaError_t gate_hold(cudaStream_t stream);
cudaError_t gate_open(void);
cudaError_t gate_take_long(cudaStream_t stream);
bool gate_returned(void);
/* Has it ended before the gate was opened? */
bool gate_gave_up(void);

/* Lets some time pass, without a call of CUDA, until the value is there. false: it did not come. */
bool gate_wait_until(const volatile int *place, int value);

#endif
