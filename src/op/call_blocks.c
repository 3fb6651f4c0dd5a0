/* The blocks of a call: counts their bytes, and frees them. */
#include "op/op.h"

#include <stdlib.h>

size_t bg__block_list_bytes(const bg__block_list *memory)
{
    size_t bytes = 0;
    for (size_t i = 0; i < memory->count; i++)
        bytes += memory->blocks[i].bytes;
    return bytes;
}

void bg__block_list_forget_borrowed(bg__block_list *memory)
{
    size_t kept = 0;
    for (size_t i = 0; i < memory->count; i++)
        if (!memory->blocks[i].borrowed)
            memory->blocks[kept++] = memory->blocks[i];
    memory->count = kept;
}

void bg__block_list_free(bg__block_list *memory)
{
    for (size_t i = 0; i < memory->count; i++)
        if (!memory->blocks[i].borrowed)
            bg__device_free(memory->blocks[i].ptr);
    free(memory->blocks);
    *memory = (bg__block_list){NULL, 0, 0};
}
