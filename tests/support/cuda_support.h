/* What tests of CUDA itself share: public calls alone, so that they run on both devices. */
#ifndef CUDA_SUPPORT_H
#define CUDA_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

/* Fail the test with the call and both codes by name. */
#define OK(call)                expect_error_code((call), cudaSuccess, #call, __FILE__, __LINE__)
#define EXPECT_CODE(call, code) expect_error_code((call), (code), #call, __FILE__, __LINE__)
#define CU_OK(call)             expect_driver_code((call), CUDA_SUCCESS, #call, __FILE__, __LINE__)
#define CU_EXPECT(call, code)   expect_driver_code((call), (code), #call, __FILE__, __LINE__)

/* Takes an expected error away from the runtime, too. */
void expect_error_code(cudaError_t found, cudaError_t expected, const char *call, const char *file, int line);
void expect_driver_code(CUresult found, CUresult expected, const char *call, const char *file, int line);

/* The driver's function of this name, as the CUDA version brought it; the test fails where there is none. The address
 * is written to *function, a pointer to a function. */
void driver_entry(const char *name, unsigned version, void *function);

/* Device memory, filled with 0. */
void *device_memory(size_t bytes);
/* Waits for the stream, and gives what is there. */
int read_int(const int *address, cudaStream_t stream);

#endif
