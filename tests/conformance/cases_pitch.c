/* Conformance: memory in rows and boxes. */
#include "case_memory.h"
#include "cases.h"

#include <stdint.h>

#define ALLOCATE(width, height)                                                                                        \
    do {                                                                                                               \
        ASK(cudaMallocPitch(&s->memory, &pitch, width, height));                                                       \
        VALUE("pitch", pitch);                                                                                         \
        FREE();                                                                                                        \
    } while (0)

CASE(pitch_of_widths, {
    size_t pitch = 0;
    ALLOCATE(1, 4);
    ALLOCATE(511, 1);
    ALLOCATE(512, 4);
    ALLOCATE(513, 4);
    ALLOCATE(4097, 2);
});

CASE(pitch_of_nothing, {
    size_t pitch = 7;
    SET(s->memory = s->x);
    ASK(cudaMallocPitch(&s->memory, &pitch, 0, 4));
    ANSWERED("memory is NULL", !s->memory);
    VALUE("pitch", pitch);
    SET(s->memory = s->x, pitch = 7);
    ASK(cudaMallocPitch(&s->memory, &pitch, 5, 0));
    ANSWERED("memory is NULL", !s->memory);
    VALUE("pitch", pitch);
    SET(s->memory = s->x, pitch = 7);
    ASK(cudaMallocPitch(&s->memory, &pitch, 0, 0));
    ANSWERED("memory is NULL", !s->memory);
    VALUE("pitch", pitch);
    s->memory = NULL;
});

CASE(pitch_refused, {
    size_t pitch = 7;
    void *memory = s->x;
    ASK(cudaMallocPitch(NULL, &pitch, 4, 4));
    ASK(cudaMallocPitch(&memory, NULL, 4, 4));
    ASK(cudaMallocPitch(&memory, &pitch, SIZE_MAX, 1));
    ASK(cudaMallocPitch(&memory, &pitch, 1, SIZE_MAX));
    ANSWERED("memory is untouched", memory == s->x);
    VALUE("pitch", pitch);
});

CASE(pitch_is_memory, {
    size_t pitch = 0;
    STEP(cudaMallocPitch(&s->memory, &pitch, 5, 3));
    ASK(cudaMemset(s->memory, 0, 3 * pitch));
    ASK(cudaMemset(s->memory, 0, 3 * pitch + 1));
    ASK(cudaMemset2D(s->memory, pitch, 1, 5, 2));
    ROWS("the rows, and a byte behind", s->memory, pitch, 6, 2);
});

CASE(pitch_in_capture, {
    size_t pitch = 7;
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMallocPitch(&s->memory, &pitch, 5, 3));
    VALUE("pitch", pitch);
    END(s->a);
});

CASE(pitch_of_nothing_in_capture, {
    size_t pitch = 7;
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMallocPitch(&s->memory, &pitch, 0, 3));
    ASK(cudaMallocPitch(&s->memory, NULL, 5, 3));
    STATUS(s->a);
    END(s->a);
});

static void note_box(struct scene *s, const struct cudaPitchedPtr *box)
{
    case_note(s, "pitch, xsize and ysize of box", "%zu, %zu, %zu", box->pitch, box->xsize, box->ysize);
    ANSWERED("box.ptr is NULL", !box->ptr);
}

CASE(box_of_extents, {
    struct cudaPitchedPtr box = {NULL, 7, 7, 7};
    struct cudaExtent extent = {513, 4, 3};
    ASK(cudaMalloc3D(&box, extent));
    note_box(s, &box);
    ASK(cudaMemset(box.ptr, 0, box.pitch * 4 * 3));
    ASK(cudaMemset(box.ptr, 0, box.pitch * 4 * 3 + 1));
    STEP(cudaFree(box.ptr));
});

#define ALLOCATE_NO_BOX(...)                                                                                           \
    do {                                                                                                               \
        struct cudaPitchedPtr box = {s->x, 7, 7, 7};                                                                   \
        struct cudaExtent extent;                                                                                      \
        extent = (struct cudaExtent){__VA_ARGS__};                                                                     \
        STEP_AS("extent = {" #__VA_ARGS__ "};", cudaSuccess);                                                          \
        ASK(cudaMalloc3D(&box, extent));                                                                               \
        note_box(s, &box);                                                                                             \
    } while (0)

CASE(box_of_nothing, {
    ALLOCATE_NO_BOX(0, 4, 3);
    ALLOCATE_NO_BOX(5, 0, 3);
    ALLOCATE_NO_BOX(5, 4, 0);
    ALLOCATE_NO_BOX(0, 0, 0);
});

CASE(box_refused, {
    ALLOCATE_NO_BOX(SIZE_MAX, 1, 1);
    ALLOCATE_NO_BOX(1, SIZE_MAX, 1);
    ALLOCATE_NO_BOX(1, 1, SIZE_MAX);
});

CASE(box_in_capture, {
    struct cudaPitchedPtr box = {NULL, 7, 7, 7};
    struct cudaExtent extent = {5, 4, 3};
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMalloc3D(&box, extent));
    END(s->a);
    note_box(s, &box);
});

#define ALLOCATE_BY_DRIVER(bytes)                                                                                      \
    do {                                                                                                               \
        memory = 0;                                                                                                    \
        pitch = 7;                                                                                                     \
        ASK_CU(cuMemAllocPitch, 3020, &memory, &pitch, 513, 2, bytes);                                                 \
        VALUE("pitch", pitch);                                                                                         \
        STEP(cudaFree((void *)(uintptr_t)memory));                                                                     \
    } while (0)

CASE(driver_pitch_elements, {
    CUdeviceptr memory = 0;
    size_t pitch = 7;
    ALLOCATE_BY_DRIVER(0);
    ALLOCATE_BY_DRIVER(1);
    ALLOCATE_BY_DRIVER(2);
    ALLOCATE_BY_DRIVER(3);
    ALLOCATE_BY_DRIVER(4);
    ALLOCATE_BY_DRIVER(8);
    ALLOCATE_BY_DRIVER(12);
    ALLOCATE_BY_DRIVER(16);
    ALLOCATE_BY_DRIVER(32);
});

CASE(driver_pitch_refused, {
    CUdeviceptr memory = 0;
    size_t pitch = 7;
    ASK_CU(cuMemAllocPitch, 3020, &memory, &pitch, 0, 2, 4);
    ASK_CU(cuMemAllocPitch, 3020, &memory, &pitch, 5, 0, 4);
    ASK_CU(cuMemAllocPitch, 3020, NULL, &pitch, 5, 2, 4);
    ASK_CU(cuMemAllocPitch, 3020, &memory, NULL, 5, 2, 4);
    ASK_CU(cuMemAllocPitch, 3020, &memory, &pitch, SIZE_MAX, 1, 4);
    ASK_CU(cuMemAllocPitch, 3020, &memory, &pitch, 1, SIZE_MAX, 4);
    VALUE("pitch", pitch);
});

static const struct case_rule rules[] = {
    {&pitch_of_widths, "The pitch is the width, rounded up."},
    {&pitch_of_nothing, "No rows, or rows of no bytes."},
    {&pitch_refused, "Sizes that no device has, and no place for the answer; both places are written."},
    {&pitch_is_memory, "All of the pitch is the program's; a fill of rows leaves what is between them."},
    {&pitch_in_capture, "Allocating rows is as unsafe in a capture as `cudaMalloc`."},
    {&pitch_of_nothing_in_capture, "With nothing to allocate, or no place for the answer, the capture goes on."},
    {&box_of_extents, "A box tells the width and height that it was made for, not its depth."},
    {&box_of_nothing, "Boxes of nothing."},
    {&box_refused, "Sizes that no device has: what the box was made for is not written."},
    {&box_in_capture, "Allocating a box in a capture."},
    {&driver_pitch_elements, "The driver is told how many bytes a thread reads at once."},
    {&driver_pitch_refused, "What it refuses."},
};

const struct case_topic topic_pitch =
    CASE_TOPIC("Memory in rows and boxes",
               "`cudaMallocPitch` and `cudaMalloc3D` choose the distance from one row to the next: the pitch.", rules);
