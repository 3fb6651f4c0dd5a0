/* Random numbers in kernels are those of the toolkit's curand_kernel.h. Of its generators, MTGP32 is not supported: its
 * header declares the built-in variables once more. The guard of that is set here, and what others of curand's headers
 * call of it is declared; a program that uses it does not link. */
#ifndef HOSTCUDA_SHIM_CURAND_H
#define HOSTCUDA_SHIM_CURAND_H

#define CURAND_MTGP32_KERNEL_H

struct curandStateMtgp32;
typedef curandStateMtgp32 curandStateMtgp32_t;
unsigned curand(curandStateMtgp32_t *state);

#endif
