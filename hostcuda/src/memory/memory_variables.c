#include "hostcuda/src/memory/memory_variables.h"

#include "hostcuda/src/core/core_grow.h"
#include "hostcuda/src/kernel/kernel_symbols.h"

static struct hc_block **variables;
static size_t variable_count, variable_capacity;

/* Called once for each variable, since it searches a file. */
static const struct hc_block *add_variable(const void *symbol, size_t bytes)
{
    if (!hc_array_reserve(&variables, &variable_capacity, variable_count + 1, sizeof(*variables)))
        return NULL;
    struct hc_block *block =
        hc_block_make_borrowed(HC_MEMORY_DEVICE, (void *)(uintptr_t)symbol, bytes, hc_thread()->device);
    if (block)
        variables[variable_count++] = block;
    return block;
}

const struct hc_block *hc_variable_find(const void *symbol)
{
    for (size_t i = 0; i < variable_count; i++)
        if (variables[i]->base == symbol)
            return variables[i];
    size_t bytes = symbol ? hc_symbol_bytes(symbol) : 0;
    return bytes ? add_variable(symbol, bytes) : NULL;
}
