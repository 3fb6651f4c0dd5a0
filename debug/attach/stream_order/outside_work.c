#include "outside_work.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "debug/memory/hash_table.h"
#undef uthash_nonfatal_oom /* the items own more than themselves */
#define uthash_nonfatal_oom(added) ((added)->lost = true)

#include "debug/attach/nodes/node_calls.h"
#include "debug/check/node_pointers.h"

const bg__implicit_order bg__implicit_order_host_code = {.waits_host = true, .signals_host = true};
const bg__implicit_order bg__implicit_order_memory = {.waits = true, .waits_host = true, .signals_host = true};
const bg__implicit_order bg__implicit_order_kernel = {.waits = true, .waits_host = true};

void bg__implicit_order_add(bg__implicit_order *implicit_order, bg__implicit_order other)
{
    implicit_order->waits = implicit_order->waits || other.waits;
    implicit_order->waits_host = implicit_order->waits_host || other.waits_host;
    implicit_order->signals_host = implicit_order->signals_host || other.signals_host;
}

/* ---- texts ------------------------------------------------------------------------------------------------------ */

typedef struct text {
    char *text;
    bool lost;
    UT_hash_handle hh;
} text;

static struct {
    pthread_mutex_t lock;
    text *list;
} texts = {.lock = PTHREAD_MUTEX_INITIALIZER};

static text *add_text(const char *given)
{
    text *t = calloc(1, sizeof *t);
    if (t == NULL || (t->text = strdup(given)) == NULL) {
        free(t);
        return NULL;
    }
    HASH_ADD_KEYPTR(hh, texts.list, t->text, strlen(t->text), t);
    if (!t->lost)
        return t;
    free(t->text);
    free(t);
    return NULL;
}

const char *bg__intern_text(const char *given)
{
    text *t;
    pthread_mutex_lock(&texts.lock);
    HASH_FIND_STR(texts.list, given, t);
    if (t == NULL)
        t = add_text(given);
    pthread_mutex_unlock(&texts.lock);
    return t != NULL ? t->text : NULL;
}

/* ---- kernels ---------------------------------------------------------------------------------------------------- */

typedef struct known {
    void *handle; /* a CUfunction or a CUkernel */
    bg__kernel kernel;
    const char *name;
    bool lost;
    UT_hash_handle hh;
} known;

static known *kernels;

static void free_kernel(known *k)
{
    if (k != NULL)
        bg__kernel_free(&k->kernel);
    free(k);
}

static known *add_kernel(void *handle)
{
    known *k = calloc(1, sizeof *k);
    const char *begin = "kernel";
    size_t bytes = strlen(begin);
    char name[256];

    if (k == NULL || bg__kernel_read(&k->kernel, handle) != BG_OK)
        goto lost;
    k->handle = handle;
    if (k->kernel.name != NULL)
        bytes = bg__kernel_short_name(k->kernel.name, &begin);
    snprintf(name, sizeof name, "%.*s", (int)bytes, begin);
    k->name = bg__intern_text(name);
    if (k->name == NULL)
        goto lost;
    HASH_ADD_PTR(kernels, handle, k);
    if (!k->lost)
        return k;
lost:
    free_kernel(k);
    return NULL;
}

void bg__outside_work_forget_kernels(void)
{
    known *k, *next;
    HASH_ITER(hh, kernels, k, next)
    {
        HASH_DEL(kernels, k);
        free_kernel(k);
    }
}

static void add_use(bg__outside_work *launched, uintptr_t begin, size_t bytes, bg__access_kind use)
{
    if (bytes > 0 && launched->count < BG__OUTSIDE_USES_MAX)
        launched->uses[launched->count++] = (bg__outside_use){begin, begin + bytes, use};
}

static bg_status add_pointer_use(void *user, const bg__node_pointer *held)
{
    const bg__kernel *kernel = held->node->kernel;
    add_use(user, held->address, 1,
            held->alone ? bg__signature_access(kernel->name, kernel->parameter_count, held->parameter)
                        : BG__ACCESS_UNKNOWN);
    return BG_OK;
}

static void read_kernel(bg__outside_work *launched, void *handle, uint64_t threads, void **parameters, void **extra)
{
    bg__node node = {.type = cudaGraphNodeTypeKernel, .known = true};
    known *k;

    HASH_FIND_PTR(kernels, &handle, k);
    if (k == NULL)
        k = add_kernel(handle);
    if (k == NULL)
        return;
    launched->name = k->name;
    launched->threads = threads;
    if (bg__signature_may_wait(k->kernel.name))
        launched->implicit_order = bg__implicit_order_kernel;
    node.kernel = &k->kernel;
    node.of.launch.kernelParams = parameters;
    node.of.launch.extra = extra;
    (void)bg__node_visit_pointers(&node, add_pointer_use, launched); /* add_pointer_use does not fail */
}

/* Multiplies the six arguments from first on: the dimensions of grid and block. */
static uint64_t count_threads(const bg__driver_call *call, int first)
{
    uint64_t count = 1;
    for (int i = first; i < first + 6; i++)
        count *= (uint32_t)call->arguments[i];
    return count;
}

/* ---- copies and memsets ------------------------------------------------------------------------------------------ */

static bool has_prefix_of(const char *name, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strncmp(name, *list, strlen(*list)) == 0)
            return true;
    return false;
}

/* Whether CUDA does not know the memory: then the call may wait. */
static bool is_pageable(uint64_t address)
{
    struct cudaPointerAttributes attributes = {.type = cudaMemoryTypeUnregistered};
    cudaError_t error = cudaPointerGetAttributes(&attributes, (const void *)(uintptr_t)address); /* NOLINT */
    bg__clear_cuda_error(error);
    return error != cudaSuccess || attributes.type == cudaMemoryTypeUnregistered;
}

static void add_copy_uses(bg__outside_work *launched, uint64_t to, uint64_t from, size_t bytes)
{
    launched->name = "memcpy";
    add_use(launched, (uintptr_t)from, bytes, BG__ACCESS_READ);
    add_use(launched, (uintptr_t)to, bytes, BG__ACCESS_WRITE);
    launched->host_waits = launched->host_waits || is_pageable(to) || is_pageable(from);
}

/* Bytes of all rows, or of the first row if there are gaps between rows. */
static size_t contiguous_bytes(size_t pitch, size_t width, size_t rows)
{
    return pitch == width ? width * rows : rows > 0 ? width : 0;
}

static void add_copy_2d_uses(bg__outside_work *launched, const CUDA_MEMCPY2D *c)
{
    const uintptr_t to = (c->dstMemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)c->dstHost : (uintptr_t)c->dstDevice) +
                         c->dstY * c->dstPitch + c->dstXInBytes;
    const uintptr_t from = (c->srcMemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)c->srcHost : (uintptr_t)c->srcDevice) +
                           c->srcY * c->srcPitch + c->srcXInBytes;
    launched->name = "memcpy";
    if (c->srcMemoryType != CU_MEMORYTYPE_ARRAY)
        add_use(launched, from, contiguous_bytes(c->srcPitch, c->WidthInBytes, c->Height), BG__ACCESS_READ);
    if (c->dstMemoryType != CU_MEMORYTYPE_ARRAY)
        add_use(launched, to, contiguous_bytes(c->dstPitch, c->WidthInBytes, c->Height), BG__ACCESS_WRITE);
    launched->host_waits =
        launched->host_waits || c->dstMemoryType == CU_MEMORYTYPE_HOST || c->srcMemoryType == CU_MEMORYTYPE_HOST;
}

/* Adds the first slice alone. */
static void add_copy_3d_uses(bg__outside_work *launched, const CUDA_MEMCPY3D *c)
{
    add_copy_2d_uses(launched,
                     &(CUDA_MEMCPY2D){c->srcXInBytes, c->srcY + c->srcZ * c->srcHeight, c->srcMemoryType, c->srcHost,
                                      c->srcDevice, c->srcArray, c->srcPitch, c->dstXInBytes,
                                      c->dstY + c->dstZ * c->dstHeight, c->dstMemoryType, c->dstHost, c->dstDevice,
                                      c->dstArray, c->dstPitch, c->WidthInBytes, c->Depth > 0 ? c->Height : 0});
}

/* name: as CUDA exports it, "cuMemcpyDtoDAsync_v2". */
static void read_copy(bg__outside_work *launched, const bg__driver_call *call, const char *name)
{
    static const char *const rows[] = {"cuMemcpy2D", NULL},
                             *const others[] = {"cuMemcpy3DPeer", "cuMemcpy3DBatch", "cuMemcpyAto", "cuMemcpyBatch",
                                                NULL},
                             *const to_array[] = {"cuMemcpyHtoA", "cuMemcpyDtoA", NULL};
    const bool in_order = strstr(name, "Async") != NULL || strncmp(name, "cuMemcpyDtoD", 12) == 0;

    launched->name = "memcpy";
    launched->host_waits = !in_order;
    if (has_prefix_of(name, rows))
        add_copy_2d_uses(launched, bg__call_argument(call, 0));
    else if (strncmp(name, "cuMemcpy3D", 10) == 0 && !has_prefix_of(name, others))
        add_copy_3d_uses(launched, bg__call_argument(call, 0));
    else if (strncmp(name, "cuMemcpyPeer", 12) == 0)
        add_copy_uses(launched, call->arguments[0], call->arguments[2], call->arguments[4]);
    else if (has_prefix_of(name, others) ||
             has_prefix_of(name, to_array)) /* the memory that they use is not recorded */
        launched->host_waits = true;
    else
        add_copy_uses(launched, call->arguments[0], call->arguments[1], call->arguments[2]);
}

/* "cuMemsetD32Async", and with rows "cuMemsetD2D32Async": (to, pitch, value, width, height) */
static void read_memset(bg__outside_work *launched, const bg__driver_call *call, const char *name)
{
    const bool rows = strncmp(name, "cuMemsetD2D", 11) == 0;
    const size_t element = (size_t)strtoul(name + (rows ? 11 : 9), NULL, 10) / 8;
    const size_t bytes = rows ? contiguous_bytes(call->arguments[1], element * call->arguments[3], call->arguments[4])
                              : element * call->arguments[2];
    launched->name = "memset";
    add_use(launched, (uintptr_t)call->arguments[0], bytes, BG__ACCESS_WRITE);
}

void bg__outside_work_read(bg__outside_work *launched, const bg__driver_call *call, const char *name)
{
    launched->name = "";
    if (strncmp(name, "cuLaunchKernelEx", 16) == 0) {
        const CUlaunchConfig *c = bg__call_argument(call, 0);
        read_kernel(launched, bg__call_argument(call, 1),
                    (uint64_t)c->gridDimX * c->gridDimY * c->gridDimZ * c->blockDimX * c->blockDimY * c->blockDimZ,
                    bg__call_argument(call, 2), bg__call_argument(call, 3));
    } else if (strncmp(name, "cuLaunchKernel", 14) == 0) {
        read_kernel(launched, bg__call_argument(call, 0), count_threads(call, 1), bg__call_argument(call, 9),
                    bg__call_argument(call, 10));
    } else if (strncmp(name, "cuLaunchCooperativeKernel", 25) == 0) {
        read_kernel(launched, bg__call_argument(call, 0), count_threads(call, 1), bg__call_argument(call, 9), NULL);
    } else if (strncmp(name, "cuMemcpy", 8) == 0) {
        read_copy(launched, call, name);
    } else if (strncmp(name, "cuMemset", 8) == 0) {
        read_memset(launched, call, name);
    } else if (strncmp(name, "cuLaunchHostFunc", 16) == 0 || strncmp(name, "cuStreamAddCallback", 19) == 0) {
        launched->implicit_order = bg__implicit_order_host_code;
    } else {
        launched->implicit_order = bg__implicit_order_memory;
    }
}
