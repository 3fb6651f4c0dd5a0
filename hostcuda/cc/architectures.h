/* Rejects code that only some GPU architectures compile: a preprocessor without __CUDA_ARCH__ would drop this code. */
#ifndef HCC_ARCHITECTURES_H
#define HCC_ARCHITECTURES_H

#include "source.h"

/* Reads the program's own files before preprocessing. Returns false if the body of a function has code under a
 * condition such as __CUDA_ARCH__ >= 800 and nothing in its place, since the code would be dropped silently. Prints a
 * message for each such place. Code that only waits, or only makes a launch faster, is accepted. */
bool hcc_check_architectures(const struct hcc_source *source);

#endif
