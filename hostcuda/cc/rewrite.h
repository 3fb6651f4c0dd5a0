/* Rewrites the parts of CUDA C++ that only nvcc parses into C++ that gcc and clang compile for the host device. The
 * source is read as tokens; types are not known. kernel_shim.h turns CUDA's keywords into words such as
 * __hostcuda_global__, which the rewriting finds. */
#ifndef HCC_REWRITE_H
#define HCC_REWRITE_H

#include <stdbool.h>
#include <stdio.h>

/* Rewrites preprocessor output from the file `from`. Headers below the folder `own` belong to the host device.
 * architecture: the program defines __CUDA_ARCH__ itself. Prints errors, and returns false if there are any. */
bool hcc_rewrite(const char *from, const char *own, bool architecture, FILE *to);

#endif
