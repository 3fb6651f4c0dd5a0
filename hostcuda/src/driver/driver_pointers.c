/* Driver functions that query the attributes of pointers. */
#include "hostcuda/src/driver/driver_calls.h"
#include "hostcuda/src/driver/driver_virtual.h"
#include "hostcuda/src/memory/memory_blocks.h"

#include <string.h>

/* The memory at an address. */
struct place {
    const void *address;
    const struct hc_block *block; /* NULL: the device does not know the memory */
    void *range;                  /* the block, or the reserved range that contains the mapping */
    size_t range_bytes;           /* 0: the address is not in any range */
};

static struct place find_allocation(CUdeviceptr pointer)
{
    struct place place = {.address = (const void *)(uintptr_t)pointer};
    place.block = hc_block_find_live(place.address);
    if (!hc_virtual_find_range(place.address, &place.range, &place.range_bytes) && place.block) {
        place.range = place.block->base;
        place.range_bytes = place.block->bytes;
    }
    return place;
}

/* An attribute's value and its size. */
struct answer {
    union {
        unsigned word;
        int number;
        unsigned long long id;
        void *pointer;
        size_t bytes;
    } value;
    size_t size; /* 0: the attribute is not supported */
    bool known;  /* false: cuPointerGetAttribute fails; cuPointerGetAttributes returns this value */
};

#define ANSWER(member, is_known, what)                                                                                 \
    (struct answer)                                                                                                    \
    {                                                                                                                  \
        .value.member = (what), .size = sizeof(((struct answer *)0)->value.member), .known = (is_known)                \
    }

static struct answer attribute_of(CUpointer_attribute attribute, const struct place *place)
{
    const struct hc_block *block = place->block;
    void *address = (void *)(uintptr_t)place->address;
    bool on_device = block && block->kind == HC_MEMORY_DEVICE, on_host = block && !on_device;
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return ANSWER(word, block, !block ? 0 : on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return ANSWER(pointer, block, block ? address : NULL);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: return ANSWER(pointer, on_host, on_device ? NULL : address);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: return ANSWER(id, block, block ? block->id : 0);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: return ANSWER(word, block, 0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return ANSWER(number, block, block ? block->device : CU_DEVICE_INVALID);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return ANSWER(pointer, place->range_bytes, place->range);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return ANSWER(bytes, place->range_bytes, place->range_bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED: return ANSWER(word, place->range_bytes, block ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: return ANSWER(pointer, block, block ? block->base : NULL);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: return ANSWER(bytes, block, block ? block->bytes : 0);
    default: return (struct answer){.size = 0};
    }
}

static cudaError_t get_attribute(void *data, CUpointer_attribute attribute, CUdeviceptr pointer)
{
    const struct place place = find_allocation(pointer);
    const struct answer answer = attribute_of(attribute, &place);
    if (!data || !answer.size)
        return cudaErrorInvalidValue;
    if (!answer.known && attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
        memset(data, 0, answer.size); /* measured */
    if (!answer.known)
        return cudaErrorInvalidValue;
    memcpy(data, &answer.value, answer.size);
    return cudaSuccess;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    HC_DRIVER_CALL(get_attribute(data, attribute, ptr));
}

/* For a pointer that CUDA does not know, attributes of ranges stay unchanged, and every other attribute is set to 0 or
 * a similar value (measured). */
static bool keeps_output(CUpointer_attribute attribute, const struct answer *answer)
{
    bool of_range = attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR || attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE;
    return of_range && !answer->known;
}

static cudaError_t get_attributes(unsigned count, const CUpointer_attribute *attributes, void **data,
                                  CUdeviceptr pointer)
{
    const struct place place = find_allocation(pointer);
    if (!count || !attributes || !data)
        return cudaErrorInvalidValue;
    for (unsigned i = 0; i < count; i++)
        if (!data[i] || !attribute_of(attributes[i], &place).size)
            return cudaErrorInvalidValue;
    for (unsigned i = 0; i < count; i++) {
        const struct answer answer = attribute_of(attributes[i], &place);
        if (!keeps_output(attributes[i], &answer))
            memcpy(data[i], &answer.value, answer.size);
    }
    return cudaSuccess;
}

CUresult cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes, void **data,
                                CUdeviceptr ptr)
{
    HC_DRIVER_CALL(get_attributes(numAttributes, attributes, data, ptr));
}

/* For mapped memory, returns the mapping. */
CUresult cuMemGetAddressRange(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
    cudaError_t error = hc_driver_begin();
    const struct hc_block *block = hc_block_find_live((const void *)(uintptr_t)dptr);
    if (!error && !block)
        error = cudaErrorSymbolNotFound; /* the error that CUDA returns for an unknown pointer */
    if (!error && pbase)
        *pbase = (CUdeviceptr)(uintptr_t)block->base;
    if (psize && (!error || error == cudaErrorSymbolNotFound))
        *psize = block ? block->bytes : 0; /* measured */
    return hc_driver_end(error);
}
