/* Structs that start with their size, so that programs built against an older header still work. */
#include "base/base.h"

#include <string.h>

enum { SIZE_MAX_SANE = 4096 };

static bg_status check_struct_size(size_t size, size_t least, const char *argument, const char *macro)
{
    if (size >= least && size <= SIZE_MAX_SANE)
        return BG_OK;
    return bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s.struct_size is %zu; initialise the struct with %s", argument, size,
                    macro);
}

bg_status bg__struct_copy_in(void *to, const void *from, size_t size, size_t least, const char *argument,
                             const char *macro)
{
    size_t known = *(const size_t *)from;
    bg_status status = check_struct_size(known, least, argument, macro);
    if (status == BG_OK)
        memcpy((char *)to + sizeof known, (const char *)from + sizeof known,
               (known < size ? known : size) - sizeof known);
    return status;
}

bg_status bg__struct_copy_out(void *to, const void *from, size_t size, const char *argument, const char *macro)
{
    size_t wanted = *(const size_t *)to;
    bg_status status = check_struct_size(wanted, sizeof wanted, argument, macro);
    if (status == BG_OK)
        memcpy((char *)to + sizeof wanted, (const char *)from + sizeof wanted,
               (wanted < size ? wanted : size) - sizeof wanted);
    return status;
}
