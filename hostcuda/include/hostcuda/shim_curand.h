/* Random numbers in kernels come from the toolkit's curand_kernel.h. Its generator MTGP32 is not supported, since the
 * generator's header declares the built-in variables again. The guard of that header is set here. The functions of that
 * header that other curand headers call are declared here but not defined, so a program that uses MTGP32 does not
 * link. */
#ifndef HOSTCUDA_SHIM_CURAND_H
#define HOSTCUDA_SHIM_CURAND_H

#define CURAND_MTGP32_KERNEL_H

struct curandStateMtgp32;
typedef curandStateMtgp32 curandStateMtgp32_t;
unsigned curand(curandStateMtgp32_t *state);

#endif
