#include "npy.h"

#include <stdio.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NPY_BYTE_ORDER "<"
#else
#define NPY_BYTE_ORDER ">"
#endif

const char *bg__npy_dtype(bg_dtype dtype)
{
    switch (dtype) {
    case BG_F32: return NPY_BYTE_ORDER "f4";
    case BG_F16: return NPY_BYTE_ORDER "f2";
    case BG_BF16: return NPY_BYTE_ORDER "u2";
    case BG_F64: return NPY_BYTE_ORDER "f8";
    case BG_I8: return "|i1";
    case BG_U8: return "|u1";
    case BG_I32: return NPY_BYTE_ORDER "i4";
    case BG_I64: return NPY_BYTE_ORDER "i8";
    case BG_BOOL: return "|b1";
    }
    return "|V1";
}

size_t bg__npy_write_header(const bg_tensor *tensor, char header[BG__NPY_HEADER_BYTES])
{
    enum { PREFIX = 10, ALIGNMENT = 64 };
    static const char magic[8] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0};
    size_t used = PREFIX, whole;

    used += (size_t)snprintf(header + used, BG__NPY_HEADER_BYTES - used,
                             "{'descr': '%s', 'fortran_order': False, 'shape': (", bg__npy_dtype(tensor->dtype));
    for (int i = 0; i < tensor->rank; i++)
        used += (size_t)snprintf(header + used, BG__NPY_HEADER_BYTES - used, "%s%lld", i > 0 ? ", " : "",
                                 (long long)tensor->dim[i]);
    /* 8 dimensions of up to 19 digits fit */
    used += (size_t)snprintf(header + used, BG__NPY_HEADER_BYTES - used, "%s), }", tensor->rank == 1 ? "," : "");
    whole = (used + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memset(header + used, ' ', whole - used - 1);
    header[whole - 1] = '\n';
    memcpy(header, magic, sizeof magic);
    header[8] = (char)((whole - PREFIX) & 0xff); /* little-endian, whatever the machine is */
    header[9] = (char)((whole - PREFIX) >> 8);
    return whole;
}
