/* What the conformance programs beside the table share. */
#ifndef CONFORMANCE_STEP_H
#define CONFORMANCE_STEP_H

#include <cuda_runtime_api.h>

/* A step that must succeed for the test to mean anything. */
#define STEP(call) conformance_step((call), #call, __FILE__, __LINE__)
void conformance_step(cudaError_t error, const char *call, const char *file, int line);

#endif
