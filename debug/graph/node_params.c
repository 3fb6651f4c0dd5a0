/* Reads parameters of nodes. The result has one form, although CUDA has several forms of parameters. */
#include "nodes.h"

#include <string.h>

/* ---- kernels ---- */

/* The buffer of the `extra` form: pairs of a name and a value up to CU_LAUNCH_PARAM_END (cuda.h, cuLaunchKernel). */
static bool find_launch_buffer(void *const *extra, const void **buffer, size_t *bytes)
{
    *buffer = NULL;
    *bytes = 0;
    for (; extra != NULL && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            *buffer = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1] != NULL)
            memcpy(bytes, extra[1], sizeof *bytes);
        else
            return false;
    }
    return *buffer != NULL && *bytes > 0;
}

static bool parameter_in_buffer(const bg__node *node, int index, bg__parameter *parameter)
{
    const bg__kernel *kernel = node->kernel;
    const void *buffer;
    size_t bytes, offset = 0, length;

    if (!find_launch_buffer(node->of.launch.extra, &buffer, &bytes))
        return false;
    length = bytes;
    if (kernel->has_layout) {
        if (index >= kernel->parameter_count || kernel->places[index].offset >= bytes)
            return false;
        offset = kernel->places[index].offset;
        length = kernel->places[index].bytes;
    } else if (index > 0) {
        return false;
    }
    if (length > bytes - offset)
        length = bytes - offset;
    *parameter = (bg__parameter){index, offset, length, (const char *)buffer + offset};
    return true;
}

bool bg__node_parameter(const bg__node *node, int index, bg__parameter *parameter)
{
    const bg__kernel *kernel = node->kernel;

    if (!node->known || kernel == NULL || index < 0)
        return false;
    if (node->of.launch.kernelParams == NULL)
        return parameter_in_buffer(node, index, parameter);
    if (index >= kernel->parameter_count || node->of.launch.kernelParams[index] == NULL)
        return false;
    *parameter = (bg__parameter){index, kernel->places[index].offset, kernel->places[index].bytes,
                                 node->of.launch.kernelParams[index]};
    return true;
}

/* ---- copies and fills ---- */

/* Bytes from the first to the last byte of a pitched range: `depth` slices of `height` rows of `width` bytes. */
static size_t pitched_bytes(size_t width, size_t height, size_t depth, size_t pitch, size_t rows)
{
    if (width == 0 || height == 0 || depth == 0)
        return 0;
    return (depth - 1) * pitch * rows + (height - 1) * pitch + width;
}

bool bg__memcpy_node_range(const bg__node *node, bg__copy_side which, bg__node_range *end)
{
    const struct cudaMemcpy3DParms *copy = &node->of.copy;
    const struct cudaPitchedPtr *ptr = which == BG__SOURCE ? &copy->srcPtr : &copy->dstPtr;
    const struct cudaPos *pos = which == BG__SOURCE ? &copy->srcPos : &copy->dstPos;

    if (node->type != cudaGraphNodeTypeMemcpy || !node->known || ptr->ptr == NULL)
        return false;
    end->address = (const char *)ptr->ptr + (pos->z * ptr->ysize + pos->y) * ptr->pitch + pos->x;
    end->bytes = pitched_bytes(copy->extent.width, copy->extent.height, copy->extent.depth, ptr->pitch, ptr->ysize);
    return true;
}

bool bg__memset_node_range(const bg__node *node, bg__node_range *end)
{
    const struct cudaMemsetParams *fill = &node->of.fill;
    if (node->type != cudaGraphNodeTypeMemset || !node->known || fill->dst == NULL)
        return false;
    end->address = fill->dst;
    end->bytes = pitched_bytes(fill->width * fill->elementSize, fill->height, 1, fill->pitch, fill->height);
    return true;
}
