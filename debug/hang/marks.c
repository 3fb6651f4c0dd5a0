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
} spare = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Whether the context in which the marks were registered still exists. */
static bool is_valid(const bg__marks *marks)
{
    void *device = NULL;
    cudaError_t error = cudaHostGetDevicePointer(&device, (void *)(uintptr_t)marks->words, 0);
    bg__ignore(error);
    return error == cudaSuccess && device == marks->device;
}

static bool take_spare(size_t count, bg__marks *marks)
{
    bool found = false;
    pthread_mutex_lock(&spare.lock);
    for (size_t i = 0; i < spare.count && !found; i++) {
        if (spare.list[i].capacity < count || spare.list[i].capacity > 4 * count + 4096)
            continue;
        *marks = spare.list[i];
        spare.list[i--] = spare.list[--spare.count];
        found = is_valid(marks);
    }
    pthread_mutex_unlock(&spare.lock);
    return found;
}

/* Uses mmap, since CUDA frees memory of its own with the context, while the thread may still read it. */
static bg_status make_marks(size_t count, bg__marks *marks)
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

bg_status bg__marks_take(size_t count, bg__marks *marks)
{
    bg__relaxed relaxed = {cudaStreamCaptureModeRelaxed, false};
    bg_status status;

    *marks = (bg__marks){.words = NULL};
    BG__TRY(bg__relax_begin(&relaxed));
    if (take_spare(count, marks))
        memset((void *)(uintptr_t)marks->words, 0, marks->capacity * sizeof(uint32_t));
    else
        BG__TRY(make_marks(count, marks));
done:
    bg__relax_end(relaxed);
    return status;
}

/* If the list cannot grow, the marks leak. */
void bg__marks_give(bg__marks *marks)
{
    if (marks->words == NULL)
        return;
    pthread_mutex_lock(&spare.lock);
    if (BG__GROW(spare.list, spare.count, spare.capacity, "marks") == BG_OK)
        spare.list[spare.count++] = *marks;
    pthread_mutex_unlock(&spare.lock);
    *marks = (bg__marks){.words = NULL};
}
