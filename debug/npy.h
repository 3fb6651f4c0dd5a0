/* NumPy's file format, version 1.0, and files that are written whole or not at all. */
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

/* A file of two parts. fresh: IO where path exists. */
bg_status bg__file_write(const char *path, const void *head, size_t head_bytes, const void *body, size_t body_bytes,
                         bool fresh);

#endif
