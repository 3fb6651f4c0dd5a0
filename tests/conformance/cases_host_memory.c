/* Conformance: pinned host memory, and memory that a program registers. */
#include "case_memory.h"
#include "cases.h"

#include <sys/mman.h>

enum { PAGE = 4096 };

static char pageable[64];

/* Pages of zeros; behind them is nothing. */
static char *map_pages(size_t count)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    char *pages = mmap(NULL, (count + 1) * PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (pages == MAP_FAILED)
        return NULL;
    munmap(pages + count * PAGE, PAGE);
    for (size_t i = 0; i < count; i++)
        pages[i * PAGE] = 0;
    return pages;
}
#define PAGES(count)                                                                                                   \
    char *pages = map_pages(count);                                                                                    \
    STEP_AS("/* pages: a mapping of " #count " * 4096 bytes, and no memory behind it */",                              \
            pages ? cudaSuccess : cudaErrorMemoryAllocation)
#define END_PAGES(count) munmap(pages, (count)*PAGE)

CASE(pinned_flags, {
    ASK(cudaHostAlloc(&s->pinned, 64, cudaHostAllocPortable | cudaHostAllocMapped));
    ASK(cudaFreeHost(s->pinned));
    ASK(cudaHostAlloc(&s->pinned, 64, cudaHostAllocWriteCombined));
    ASK(cudaFreeHost(s->pinned));
    ASK(cudaHostAlloc(&s->pinned, 64, 0x10));
    ASK(cudaHostAlloc(&s->pinned, 64, 0x80000000u));
    s->pinned = NULL;
});

CASE(pinned_nothing, {
    SET(s->pinned = s->y);
    ASK(cudaHostAlloc(&s->pinned, 0, cudaHostAllocDefault));
    ANSWERED("pinned is NULL", !s->pinned);
    SET(s->pinned = s->y);
    ASK(cudaMallocHost(&s->pinned, 0));
    ANSWERED("pinned is NULL", !s->pinned);
    s->pinned = NULL;
    ASK(cudaHostAlloc(NULL, 64, cudaHostAllocDefault));
    ASK(cudaMallocHost(NULL, 64));
    ASK(cudaMalloc(NULL, 64));
    SET(s->memory = s->x);
    ASK(cudaMalloc(&s->memory, 0));
    ANSWERED("memory is NULL", !s->memory);
    s->memory = NULL;
});

CASE(pinned_in_capture, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaHostAlloc(&s->pinned, 64, cudaHostAllocDefault));
    STATUS(s->a);
    END(s->a);
});

CASE(device_pointer, {
    void *pointer = NULL;
    ASK(cudaHostGetDevicePointer(&pointer, s->y, 0));
    ANSWERED("is it y", pointer == s->y);
    ASK(cudaHostGetDevicePointer(&pointer, (char *)s->y + 2, 0));
    ANSWERED("is it 2 bytes into y", pointer == (char *)s->y + 2);
    ASK(cudaHostGetDevicePointer(&pointer, s->y, 1));
    ASK(cudaHostGetDevicePointer(&pointer, pageable, 0));
    ASK(cudaHostGetDevicePointer(&pointer, s->x, 0));
    ASK(cudaHostGetDevicePointer(&pointer, NULL, 0));
    ASK(cudaHostGetDevicePointer(NULL, s->y, 0));
    BEGIN(s->a, ThreadLocal);
    ASK(cudaHostGetDevicePointer(&pointer, s->y, 0));
    END(s->a);
});

/* ---- registered
 * ------------------------------------------------------------------------------------------------------ */

CASE(register_memory, {
    struct cudaPointerAttributes at;
    void *pointer = NULL;
    PAGES(2);
    ASK(cudaHostRegister(pages, PAGE, cudaHostRegisterDefault));
    STEP(cudaPointerGetAttributes(&at, pages + 100));
    VALUE("type", at.type);
    ANSWERED("is hostPointer the pointer", at.hostPointer == pages + 100);
    STEP(cudaPointerGetAttributes(&at, pages + PAGE));
    VALUE("type behind", at.type);
    ASK(cudaHostGetDevicePointer(&pointer, pages, 0));
    ANSWERED("is it pages", pointer == pages);
    ASK(cudaMemset(pages, 5, 4));
    BYTES("pages", pages, 4);
    ASK(cudaHostUnregister(pages));
    STEP(cudaPointerGetAttributes(&at, pages));
    VALUE("type", at.type);
    END_PAGES(2);
});

CASE(register_flags, {
    PAGES(1);
    ASK(cudaHostRegister(pages, PAGE, cudaHostRegisterPortable | cudaHostRegisterMapped));
    ASK(cudaHostUnregister(pages));
    ASK(cudaHostRegister(pages, PAGE, 0x10));
    ASK(cudaHostRegister(pages, PAGE, 0x80000000u));
    END_PAGES(1);
});

CASE(register_read_only, {
    PAGES(1);
    ASK(cudaHostRegister(pages, PAGE, cudaHostRegisterReadOnly));
    ASK(cudaHostUnregister(pages));
    END_PAGES(1);
});

CASE(register_refused, {
    PAGES(1);
    ASK(cudaHostRegister(NULL, PAGE, cudaHostRegisterDefault));
    ASK(cudaHostRegister(pages, 0, cudaHostRegisterDefault));
    ASK(cudaHostRegister(s->y, 4, cudaHostRegisterDefault));
    ASK(cudaHostRegister(s->x, 4, cudaHostRegisterDefault));
    END_PAGES(1);
});

CASE(register_twice, {
    PAGES(4);
    ASK(cudaHostRegister(pages + PAGE, 2 * PAGE, cudaHostRegisterDefault));
    ASK(cudaHostRegister(pages + PAGE, 2 * PAGE, cudaHostRegisterDefault));
    ASK(cudaHostRegister(pages + PAGE, PAGE, cudaHostRegisterDefault));
    ASK(cudaHostRegister(pages + 2 * PAGE, 2 * PAGE, cudaHostRegisterDefault));
    ASK(cudaHostRegister(pages, 4 * PAGE, cudaHostRegisterDefault));
    ASK(cudaHostRegister(pages + 3 * PAGE, PAGE, cudaHostRegisterDefault));
    ASK(cudaHostUnregister(pages + 3 * PAGE));
    ASK(cudaHostUnregister(pages + PAGE));
    ASK(cudaHostUnregister(pages + PAGE));
    END_PAGES(4);
});

CASE(register_part_of_page, {
    struct cudaPointerAttributes at;
    PAGES(1);
    ASK(cudaHostRegister(pages + 100, 50, cudaHostRegisterDefault));
    STEP(cudaPointerGetAttributes(&at, pages + 120));
    VALUE("type inside", at.type);
    STEP(cudaPointerGetAttributes(&at, pages + 200));
    VALUE("type behind", at.type);
    STEP(cudaPointerGetAttributes(&at, pages));
    VALUE("type before", at.type);
    ASK(cudaHostUnregister(pages + 100));
    END_PAGES(1);
});

CASE(register_same_page_twice, {
    PAGES(1);
    ASK(cudaHostRegister(pages + 100, 50, cudaHostRegisterDefault));
    ASK(cudaHostRegister(pages + 200, 50, cudaHostRegisterDefault));
    ASK(cudaHostUnregister(pages + 200));
    ASK(cudaHostUnregister(pages + 100));
    END_PAGES(1);
});

CASE(register_beyond_mapping, {
    PAGES(1);
    ASK(cudaHostRegister(pages, 2 * PAGE, cudaHostRegisterDefault));
    ASK(cudaHostRegister(pages + PAGE, PAGE, cudaHostRegisterDefault));
    ASK(cudaHostRegister(pages, PAGE, cudaHostRegisterDefault));
    ASK(cudaHostUnregister(pages));
    END_PAGES(1);
});

CASE(register_read_only_mapping, {
    PAGES(1);
    STEP_AS("/* pages can be read only */", mprotect(pages, PAGE, PROT_READ) ? cudaErrorUnknown : cudaSuccess);
    ASK(cudaHostRegister(pages, PAGE, cudaHostRegisterDefault));
    ASK(cudaHostUnregister(pages));
    END_PAGES(1);
});

CASE(unregister_refused, {
    PAGES(2);
    STEP(cudaHostRegister(pages, 2 * PAGE, cudaHostRegisterDefault));
    ASK(cudaHostUnregister(pages + 4));
    ASK(cudaHostUnregister(pages + PAGE));
    ASK(cudaHostUnregister(NULL));
    ASK(cudaHostUnregister(pageable));
    ASK(cudaHostUnregister(s->y));
    ASK(cudaHostUnregister(s->x));
    ASK(cudaFreeHost(pages));
    ASK(cudaFree(pages));
    ASK(cudaHostUnregister(pages));
    END_PAGES(2);
});

CASE(register_in_capture, {
    PAGES(1);
    BEGIN(s->a, ThreadLocal);
    ASK(cudaHostRegister(pages, PAGE, cudaHostRegisterDefault));
    STATUS(s->a);
    END(s->a);
    BEGIN(s->a, ThreadLocal);
    ASK(cudaHostUnregister(pages));
    STATUS(s->a);
    END(s->a);
    ASK(cudaHostUnregister(pages));
    END_PAGES(1);
});

CASE(unregister_in_capture, {
    PAGES(1);
    STEP(cudaHostRegister(pages, PAGE, cudaHostRegisterDefault));
    BEGIN(s->a, ThreadLocal);
    ASK(cudaHostUnregister(pages));
    STATUS(s->a);
    END(s->a);
    ASK(cudaHostUnregister(pages));
    END_PAGES(1);
});

CASE(copy_registered_pending, {
    PAGES(1);
    STEP(cudaHostRegister(pages, PAGE, cudaHostRegisterDefault));
    SET(pages[0] = 3, *s->y = 0);
    HOLD(s->a);
    ASK(cudaMemcpyAsync(s->y, pages, 4, cudaMemcpyDefault, s->a));
    WAITED();
    VALUE("y", *s->y);
    LET_GO();
    ASK(cudaStreamSynchronize(s->a));
    VALUE("y", *s->y);
    STEP(cudaHostUnregister(pages));
    END_PAGES(1);
});

/* ---- others
 * ---------------------------------------------------------------------------------------------------------- */

CASE(managed_refused, {
    void *memory = NULL;
    ASK(cudaMallocManaged(NULL, 64, cudaMemAttachGlobal));
    ASK(cudaMallocManaged(&memory, 64, 0));
    ASK(cudaMallocManaged(&memory, 64, cudaMemAttachGlobal | cudaMemAttachHost));
    ASK(cudaMallocManaged(&memory, 64, cudaMemAttachSingle));
    ASK(cudaMallocManaged(&memory, 64, 0x100));
    ANSWERED("memory is NULL", !memory);
});

CASE(memory_info, {
    size_t available = 0;
    size_t total = 0;
    ASK(cudaMemGetInfo(&available, &total));
    ANSWERED("is some of it available", available > 0 && available <= total);
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemGetInfo(&available, &total));
    END(s->a);
});

CASE(memory_info_without_place, {
    size_t number = 0;
    ASK(cudaMemGetInfo(NULL, &number));
    ASK(cudaMemGetInfo(&number, NULL));
});

static const struct case_rule rules[] = {
    {&pinned_flags, "Flags of pinned memory."},
    {&pinned_nothing, "No bytes, and no place for the answer."},
    {&pinned_in_capture, "Pinned memory while a stream captures."},
    {&device_pointer, "Pinned memory has one address, on the host and on the device."},
    {&register_memory, "What is registered is pinned until it is unregistered."},
    {&register_flags, "Flags of registering."},
    {&register_read_only, "Memory that the device only reads."},
    {&register_refused, "What cannot be registered."},
    {&register_twice, "Nor can what is registered already, or a part of it."},
    {&register_part_of_page, "A part of a page."},
    {&register_same_page_twice, "Two parts of one page."},
    {&register_beyond_mapping, "All of it must be memory."},
    {&register_read_only_mapping, "Memory that can be read only."},
    {&unregister_refused, "What cannot be unregistered."},
    {&register_in_capture, "Registering while a stream captures."},
    {&unregister_in_capture, "And unregistering."},
    {&copy_registered_pending, "A copy of registered memory to pinned memory: the call returns when it is done."},
    {&managed_refused, "Arguments that `cudaMallocManaged` does not take."},
    {&memory_info, "How much memory there is."},
    {&memory_info_without_place, "What has no place is not asked for."},
};

const struct case_topic topic_host_memory =
    CASE_TOPIC("Host memory", "Memory that CUDA pins, and memory of the program's own that it registers.", rules);
