/* The blocks of a call: counts their bytes, and frees them. */
#include "op/op.h"

#include <stdlib.h>

size_t bg__memory_bytes(const bg__memory *memory)
{
    size_t bytes = 0;
    for (size_t i = 0; i < memory->count; i++)
        bytes += memory->blocks[i].bytes;
    return bytes;
}

void bg__memory_forget_borrowed(bg__memory *memory)
{
    size_t kept = 0;
    for (size_t i = 0; i < memory->count; i++)
        if (!memory->blocks[i].borrowed)
            memory->blocks[kept++] = memory->blocks[i];
    memory->count = kept;
}

void bg__memory_free(bg__memory *memory)
{
    for (size_t i = 0; i < memory->count; i++)
        if (!memory->blocks[i].borrowed)
            bg__device_free(memory->blocks[i].ptr);
    free(memory->blocks);
    *memory = (bg__memory){NULL, 0, 0};
}
