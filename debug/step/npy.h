/* NumPy's file format, version 1.0. */
#ifndef BG_DEBUG_NPY_H
#define BG_DEBUG_NPY_H

#include <breakgraph/tensor.h>

#include "base/base.h"

enum { BG__NPY_HEADER_BYTES = 256 }; /* room for any */

/* NumPy's name of a dtype, "<f4"; for bf16 that of unsigned integers with the same bits. */
const char *bg__npy_dtype(bg_dtype dtype);
/* What comes before the elements; returns how many bytes of header that is, a multiple of 64. numpy.lib.format says
 * how: magic, version, 2 bytes of length, a Python dictionary, spaces, a newline. */
size_t bg__npy_header(const bg_tensor *tensor, char header[BG__NPY_HEADER_BYTES]);

#endif
