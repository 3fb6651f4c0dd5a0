#include "npy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the format ---- */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ORDER "<"
#else
#define ORDER ">"
#endif

const char *bg__npy_dtype(bg_dtype dtype)
{
    switch (dtype) {
    case BG_F32: return ORDER "f4";
    case BG_F16: return ORDER "f2";
    case BG_BF16: return ORDER "u2";
    case BG_F64: return ORDER "f8";
    case BG_I8: return "|i1";
    case BG_U8: return "|u1";
    case BG_I32: return ORDER "i4";
    case BG_I64: return ORDER "i8";
    case BG_BOOL: return "|b1";
    }
    return "|V1";
}

size_t bg__npy_header(const bg_tensor *tensor, char header[BG__NPY_HEADER_BYTES])
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

/* ---- files ---- */

static bg_status fail(const char *path)
{
    return bg__fail(BG_ERROR_IO, "%s cannot be written: %s", path, strerror(errno));
}

static bg_status write_all(FILE *file, const void *bytes, size_t count, const char *path)
{
    if (count > 0 && fwrite(bytes, 1, count, file) != count)
        return fail(path);
    return BG_OK;
}

/* In its place by one call, which leaves what is there alone where it must be fresh. */
static bg_status put_in_place(const char *unfinished, const char *path, bool fresh)
{
    if (!fresh)
        return rename(unfinished, path) == 0 ? BG_OK : fail(path);
    if (link(unfinished, path) != 0)
        return fail(path);
    (void)remove(unfinished);
    return BG_OK;
}

bg_status bg__file_write(const char *path, const void *head, size_t head_bytes, const void *body, size_t body_bytes,
                         bool fresh)
{
    size_t bytes = strlen(path) + sizeof ".XXXXXX";
    char *unfinished = malloc(bytes);
    FILE *file = NULL;
    int descriptor;
    bg_status status;

    if (unfinished == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "no host memory for a path");
    snprintf(unfinished, bytes, "%s.XXXXXX", path);
    descriptor = mkstemp(unfinished);
    if (descriptor < 0) {
        status = fail(path);
        free(unfinished);
        return status;
    }
    file = fdopen(descriptor, "w");
    if (file == NULL) {
        status = fail(path);
        (void)close(descriptor);
        goto done;
    }
    BG__TRY(write_all(file, head, head_bytes, path));
    BG__TRY(write_all(file, body, body_bytes, path));
    if (fchmod(fileno(file), 0644) != 0 || fflush(file) != 0) { /* mkstemp's is the owner's alone */
        status = fail(path);
        goto done;
    }
    BG__TRY(put_in_place(unfinished, path, fresh));
done:
    if (file != NULL && fclose(file) != 0 && status == BG_OK)
        status = fail(path);
    if (status != BG_OK)
        (void)remove(unfinished);
    free(unfinished);
    return status;
}
