#include "marks.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Marks that nobody uses. They stay registered, since cudaHostUnregister would wait for the device. */
static struct {
    pthread_mutex_t lock;
    bg__marks *list;
    size_t count, capacity;
} spare_marks = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Whether the context in which the marks were registered still exists. */
static bool is_still_registered(const bg__marks *marks)
{
    void *device = NULL;
    cudaError_t error = cudaHostGetDevicePointer(&device, (void *)(uintptr_t)marks->words, 0);
    bg__clear_cuda_error(error);
    return error == cudaSuccess && device == marks->device;
}

static bool acquire_spare(size_t count, bg__marks *marks)
{
    bool found = false;
    pthread_mutex_lock(&spare_marks.lock);
    for (size_t i = 0; i < spare_marks.count && !found; i++) {
        if (spare_marks.list[i].capacity < count || spare_marks.list[i].capacity > 4 * count + 4096)
            continue;
        *marks = spare_marks.list[i];
        spare_marks.list[i--] = spare_marks.list[--spare_marks.count];
        found = is_still_registered(marks);
    }
    pthread_mutex_unlock(&spare_marks.lock);
    return found;
}

/* Uses mmap: CUDA frees its own memory with the context, while the thread may still read the marks. */
static bg_status map_marks(size_t count, bg__marks *marks)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (count * sizeof(uint32_t) + page - 1) / page * page;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool registered = false;
    bg_status status = BG_OK;

    if (memory == MAP_FAILED)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu marks: %s", count, strerror(errno));
    BG__TRY_CUDA(cudaHostRegister(memory, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped));
    registered = true;
    BG__TRY_CUDA(cudaHostGetDevicePointer(&marks->device, memory, 0));
    marks->words = memory;
    marks->capacity = bytes / sizeof(uint32_t);
done:
    if (status != BG_OK && registered)
        BG__RELEASE(cudaHostUnregister(memory));
    if (status != BG_OK)
        (void)munmap(memory, bytes);
    return status;
}

bg_status bg__marks_acquire(size_t count, bg__marks *marks)
{
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    bg_status status;

    *marks = (bg__marks){.words = NULL};
    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    if (acquire_spare(count, marks))
        memset((void *)(uintptr_t)marks->words, 0, marks->capacity * sizeof(uint32_t));
    else
        BG__TRY(map_marks(count, marks));
done:
    bg__relaxed_mode_end(relaxed);
    return status;
}

/* If the list cannot grow, the marks leak. */
void bg__marks_release(bg__marks *marks)
{
    if (marks->words == NULL)
        return;
    pthread_mutex_lock(&spare_marks.lock);
    if (BG__ARRAY_GROW(spare_marks.list, spare_marks.count, spare_marks.capacity, "marks") == BG_OK)
        spare_marks.list[spare_marks.count++] = *marks;
    pthread_mutex_unlock(&spare_marks.lock);
    *marks = (bg__marks){.words = NULL};
}
