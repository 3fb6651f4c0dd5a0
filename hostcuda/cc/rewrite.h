/* CUDA C++ that only nvcc parses, rewritten to C++ that gcc and clang compile for the host device. It is read as
 * tokens: no type is known. kernel_shim.h gives the words of CUDA names of their own (__hostcuda_global__) for it. */
#ifndef HCC_REWRITE_H
#define HCC_REWRITE_H

#include <stdbool.h>
#include <stdio.h>

/* Rewrites what the preprocessor wrote into `from`; headers below the folder `own` are the host device's. architecture:
 * the program has defined __CUDA_ARCH__ for it. Prints errors, and returns false if there are any. */
bool hcc_rewrite(const char *from, const char *own, bool architecture, FILE *to);

#endif
