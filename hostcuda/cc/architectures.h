/* Code for some GPUs alone, which a preprocessor without __CUDA_ARCH__ leaves out. */
#ifndef HCC_ARCHITECTURES_H
#define HCC_ARCHITECTURES_H

#include "source.h"

/* Looks at the program's own files, as they are before the preprocessor. Returns false, with a message for each place,
 * where the body of a function has code under a condition such as __CUDA_ARCH__ >= 800, and nothing in its place: it
 * would vanish without a word. What only waits or makes a launch faster may. */
bool hcc_keeps_code(const struct hcc_source *source);

#endif
