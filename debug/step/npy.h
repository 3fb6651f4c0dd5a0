/* Writes headers of NumPy's file format, version 1.0. */
#ifndef BG_DEBUG_NPY_H
#define BG_DEBUG_NPY_H

#include <breakgraph/tensor.h>

#include "base/base.h"

enum { BG__NPY_HEADER_BYTES = 256 }; /* enough for any tensor */

/* NumPy's name of a dtype, "<f4"; bf16 gets the name of unsigned integers with the same bits. */
const char *bg__npy_dtype(bg_dtype dtype);
/* Writes the header and returns its size, a multiple of 64. Format (numpy.lib.format): magic, version, 2 bytes of
 * length, a Python dictionary, spaces, a newline. */
size_t bg__npy_write_header(const bg_tensor *tensor, char header[BG__NPY_HEADER_BYTES]);

#endif
