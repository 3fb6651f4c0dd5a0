/* Preloaded, an allocator in place of libc's, as tcmalloc is: what another one frees of it, or it of another one, ends
 * the program. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *memory);

/* In front of each block. */
typedef struct head {
    uint64_t mark;
    size_t bytes;
    void *begin;
    uint64_t padding;
} head;
static const uint64_t MARK = 0x6865617020626c6b;

EXPORT void *memalign(size_t alignment, size_t bytes);

void *memalign(size_t alignment, size_t bytes)
{
    size_t room = alignment > sizeof(head) ? alignment : sizeof(head);
    char *begin = bytes < SIZE_MAX / 2 ? __libc_memalign(alignment, room + bytes) : NULL;
    if (begin == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    ((head *)(begin + room))[-1] = (head){MARK, bytes, begin, 0};
    return begin + room;
}

static head *head_of(void *memory)
{
    static const char message[] = "heap: freed, but not allocated here\n";
    head *h = (head *)memory - 1;
    if (h->mark == MARK)
        return h;
    (void)!write(2, message, sizeof message - 1);
    abort();
}

EXPORT void *malloc(size_t bytes)
{
    return memalign(16, bytes);
}

EXPORT void free(void *memory)
{
    head *h = memory != NULL ? head_of(memory) : NULL;
    if (h == NULL)
        return;
    h->mark = 0;
    __libc_free(h->begin);
}

EXPORT void *calloc(size_t count, size_t size)
{
    void *memory = size == 0 || count <= SIZE_MAX / 2 / size ? malloc(count * size) : NULL; /* NOLINT */
    return memory != NULL ? memset(memory, 0, count * size) : NULL;
}

EXPORT void *realloc(void *memory, size_t bytes)
{
    size_t old = memory != NULL ? head_of(memory)->bytes : 0;
    void *fresh = malloc(bytes);
    if (fresh != NULL && memory != NULL) {
        memcpy(fresh, memory, old < bytes ? old : bytes);
        free(memory);
    }
    return fresh;
}

EXPORT int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    *memory = memalign(alignment, bytes);
    return *memory != NULL ? 0 : ENOMEM;
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

EXPORT void *valloc(size_t bytes)
{
    return memalign(4096, bytes);
}
