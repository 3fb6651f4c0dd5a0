/* Rejects code for some GPU architectures only, which a preprocessor without __CUDA_ARCH__ would drop. */
#ifndef HCC_ARCHITECTURES_H
#define HCC_ARCHITECTURES_H

#include "source.h"

/* Reads the program's own files before preprocessing. Returns false, with a message for each place, where the body of a
 * function has code under a condition such as __CUDA_ARCH__ >= 800 and nothing in its place: it would be dropped
 * silently. Code that only waits, or only makes a launch faster, is accepted. */
bool hcc_check_architectures(const struct hcc_source *source);

#endif
