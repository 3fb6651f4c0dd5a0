/* Conformance: what CUDA knows of a pointer. */
#include "case_memory.h"
#include "cases.h"

static char pageable[4096];

#define PLACE()                                                                                                        \
    MAKE(64);                                                                                                          \
    const CUdeviceptr memory = (CUdeviceptr)s->memory

#define RANGE(pointer)                                                                                                 \
    do {                                                                                                               \
        base = 0, size = 7;                                                                                            \
        ASK_CU(cuMemGetAddressRange, 3020, &base, &size, pointer);                                                     \
        VALUE("size", size);                                                                                           \
    } while (0)

CASE(address_range, {
    CUdeviceptr base = 0;
    size_t size = 0;
    PLACE();
    RANGE(memory);
    ANSWERED("is base memory", base == memory);
    RANGE(memory + 63);
    ANSWERED("is base memory", base == memory);
    RANGE(memory + 64);
    ASK_CU(cuMemGetAddressRange, 3020, NULL, &size, memory);
    ASK_CU(cuMemGetAddressRange, 3020, &base, NULL, memory);
});

CASE(address_range_of_others, {
    CUdeviceptr base = 0;
    size_t size = 0;
    RANGE((CUdeviceptr)s->y);
    ANSWERED("is base y", base == (CUdeviceptr)s->y);
    RANGE((CUdeviceptr)pageable);
    RANGE(0);
    STEP(cudaMallocAsync(&s->memory, 64, s->a));
    RANGE((CUdeviceptr)s->memory);
    ANSWERED("is base memory", base == (CUdeviceptr)s->memory);
    STEP(cudaFreeAsync(s->memory, s->a));
    STEP(cudaStreamSynchronize(s->a));
    s->memory = NULL;
});

#define KNOWN(pointer)                                                                                                 \
    do {                                                                                                               \
        at = (struct cudaPointerAttributes){.type = (enum cudaMemoryType)7, .device = 7};                              \
        at.devicePointer = at.hostPointer = s->x;                                                                      \
        ASK(cudaPointerGetAttributes(&at, pointer));                                                                   \
        case_note(s, "type, device; are devicePointer, hostPointer NULL", "%d, %d; %s, %s", at.type, at.device,        \
                  at.devicePointer ? "no" : "yes", at.hostPointer ? "no" : "yes");                                     \
    } while (0)

CASE(pointer_kinds, {
    struct cudaPointerAttributes at;
    PLACE();
    KNOWN(s->memory);
    ANSWERED("is devicePointer the pointer", at.devicePointer == s->memory);
    KNOWN((char *)s->memory + 4);
    ANSWERED("is devicePointer the pointer", at.devicePointer == (char *)s->memory + 4);
    KNOWN(s->y);
    ANSWERED("are both the pointer", at.devicePointer == s->y && at.hostPointer == s->y);
    KNOWN(pageable);
    KNOWN(NULL);
    ASK(cudaPointerGetAttributes(NULL, s->memory));
    (void)memory;
});

CASE(pointer_freed, {
    struct cudaPointerAttributes at;
    void *memory = NULL;
    void *pinned = NULL;
    STEP(cudaMalloc(&memory, 32 << 20));
    STEP(cudaFree(memory));
    KNOWN(memory);
    STEP(cudaMallocHost(&pinned, 32 << 20));
    STEP(cudaFreeHost(pinned));
    KNOWN(pinned);
});

CASE(pointer_in_capture, {
    struct cudaPointerAttributes at;
    CUdeviceptr base = 0;
    size_t size = 0;
    BEGIN(s->a, ThreadLocal);
    KNOWN(s->x);
    RANGE((CUdeviceptr)s->x);
    END(s->a);
});

CASE(pointer_allocated_by_graph, {
    struct cudaPointerAttributes at;
    void *memory = NULL;
    BEGIN(s->a, ThreadLocal);
    STEP(cudaMallocAsync(&memory, 64, s->a));
    KNOWN(memory);
    STEP(cudaFreeAsync(memory, s->a));
    END(s->a);
    KNOWN(memory);
});

#define ATTRIBUTE(attribute, pointer)                                                                                  \
    do {                                                                                                               \
        number = 7;                                                                                                    \
        ASK_CU(cuPointerGetAttribute, 4000, &number, attribute, pointer);                                              \
        VALUE("number", number);                                                                                       \
    } while (0)

CASE(driver_attributes_of_device_memory, {
    unsigned long long number = 0;
    PLACE();
    ATTRIBUTE(CU_POINTER_ATTRIBUTE_RANGE_SIZE, memory + 4);
    ASK_CU(cuPointerGetAttribute, 4000, &number, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, memory + 4);
    ANSWERED("is number memory + 4", number == memory + 4);
    ASK_CU(cuPointerGetAttribute, 4000, &number, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, memory + 4);
    ANSWERED("is number memory", number == memory);
});

CASE(driver_small_attributes, {
    unsigned number = 0;
    PLACE();
    ATTRIBUTE(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory + 4);
    ATTRIBUTE(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory);
    ATTRIBUTE(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)s->y);
    ATTRIBUTE(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, (CUdeviceptr)s->y);
    ATTRIBUTE(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)pageable);
    ATTRIBUTE(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, (CUdeviceptr)pageable);
    ATTRIBUTE(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 0);
});

CASE(driver_attributes_refused, {
    unsigned long long number = 7;
    PLACE();
    ASK_CU(cuPointerGetAttribute, 4000, &number, CU_POINTER_ATTRIBUTE_HOST_POINTER, memory);
    ASK_CU(cuPointerGetAttribute, 4000, &number, (CUpointer_attribute)99, memory);
    ASK_CU(cuPointerGetAttribute, 4000, &number, (CUpointer_attribute)0, memory);
    ASK_CU(cuPointerGetAttribute, 4000, NULL, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory);
    ASK_CU(cuPointerGetAttribute, 4000, &number, CU_POINTER_ATTRIBUTE_RANGE_SIZE, (CUdeviceptr)pageable);
    VALUE("number", number);
});

CASE(driver_attribute_list, {
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    unsigned type = 7;
    int ordinal = 7;
    void *data[] = {&type, &ordinal};
    PLACE();
    ASK_CU(cuPointerGetAttributes, 7000, 2, names, data, memory);
    case_note(s, "type and ordinal", "%u, %d", type, ordinal);
    ASK_CU(cuPointerGetAttributes, 7000, 2, names, data, (CUdeviceptr)pageable);
    case_note(s, "type and ordinal", "%u, %d", type, ordinal);
    ASK_CU(cuPointerGetAttributes, 7000, 0, names, data, memory);
    ASK_CU(cuPointerGetAttributes, 7000, 2, NULL, data, memory);
    ASK_CU(cuPointerGetAttributes, 7000, 2, names, NULL, memory);
    SET(names[1] = 99);
    ASK_CU(cuPointerGetAttributes, 7000, 2, names, data, memory);
});

static const struct case_rule rules[] = {
    {&address_range, "The allocation around an address."},
    {&address_range_of_others, "Of host memory, of none, and of stream-ordered memory."},
    {&pointer_kinds, "`cudaPointerGetAttributes` takes any pointer."},
    {&pointer_freed, "Memory that was freed is unknown again."},
    {&pointer_in_capture, "Pointers can be asked about while a stream captures."},
    {&pointer_allocated_by_graph, "The address that a captured allocation gave."},
    {&driver_attributes_of_device_memory, "The driver gives them one by one."},
    {&driver_small_attributes, "Of host memory that is not registered, it knows nothing."},
    {&driver_attributes_refused, "What memory does not have, and what is no attribute."},
    {&driver_attribute_list, "Several at once: then an unknown pointer is no error."},
};

const struct case_topic topic_pointer =
    CASE_TOPIC("What CUDA knows of a pointer",
               "Types are 0 for memory that CUDA does not know, 1 for host memory and 2 for device memory.", rules);
