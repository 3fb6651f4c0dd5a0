#include "maps.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parses a line such as "7f12-7f34 rw-p 00000000 00:00 0    [heap]" (proc(5)). */
static bool parse_map_line(char *line, bg__mapping *mapping)
{
    char permissions[8];
    int name = 0;
    *mapping = (bg__mapping){0};
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s %*s %*s %*s %n", &mapping->low, &mapping->high, permissions,
               &name) < 3 ||
        name == 0)
        return false;
    mapping->readable = permissions[0] == 'r';
    mapping->writable = permissions[1] == 'w';
    line[strcspn(line, "\n")] = '\0';
    snprintf(mapping->name, sizeof mapping->name, "%.*s", (int)sizeof mapping->name - 1, line + name);
    mapping->stack = strcmp(mapping->name, "[stack]") == 0;
    return true;
}

static bg_status read_maps(bg__maps *maps)
{
    FILE *file = fopen("/proc/self/maps", "re");
    char *line = NULL;
    size_t room = 0;
    bg__mapping mapping;
    bg_status status = BG_OK;

    if (file == NULL)
        return bg__fail(BG_ERROR_IO, "/proc/self/maps cannot be read: %s", strerror(errno));
    while (getline(&line, &room, file) >= 0)
        if (parse_map_line(line, &mapping)) {
            BG__TRY(BG__ARRAY_GROW(maps->list, maps->count, maps->capacity, "mappings"));
            maps->list[maps->count++] = mapping;
        }
done:
    free(line);
    if (fclose(file) != 0 && status == BG_OK)
        status = bg__fail(BG_ERROR_IO, "/proc/self/maps cannot be read: %s", strerror(errno));
    return status;
}

bg__mapping *bg__maps_find(const bg__maps *maps, uintptr_t address)
{
    for (size_t i = 0; i < maps->count; i++)
        if (address >= maps->list[i].low && address < maps->list[i].high)
            return &maps->list[i];
    return NULL;
}

/* ---- stacks ---- */

/* Marks an anonymous mapping that contains `address` as a stack. Returns NULL if `address` is in no stack. */
static bg__mapping *mark_stack(const bg__maps *maps, uintptr_t address)
{
    bg__mapping *mapping = bg__maps_find(maps, address);
    if (mapping != NULL && mapping->name[0] == '\0')
        mapping->stack = true;
    return mapping != NULL && mapping->stack ? mapping : NULL;
}

static void find_own_stack(bg__maps *maps)
{
    pthread_attr_t attributes;
    void *base = NULL;
    size_t bytes = 0;

    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &base, &bytes) == 0) {
        maps->own_stack = (uintptr_t)base;
        maps->own_stack_end = (uintptr_t)base + bytes;
        (void)mark_stack(maps, maps->own_stack_end - 1);
    }
    (void)pthread_attr_destroy(&attributes);
}

/* Marks the stack of a waiting thread. The second to last number in the thread's syscall file is its stack pointer
 * (proc(5)). */
static void mark_thread_stack(const bg__maps *maps, const char *thread)
{
    char path[64], line[512], *stack;
    bg__mapping *mapping;
    uintptr_t top;
    size_t length;
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%.20s/syscall", thread);
    file = fopen(path, "re");
    if (file == NULL)
        return; /* the thread has ended, or this kernel has no such file */
    length = fread(line, 1, sizeof line - 1, file);
    (void)fclose(file);
    line[length] = '\0';
    stack = strrchr(line, ' ');
    if (stack == NULL)
        return;
    *stack = '\0';
    stack = strrchr(line, ' ');
    if (stack == NULL)
        return;
    top = (uintptr_t)strtoull(stack + 1, NULL, 16);
    mapping = mark_stack(maps, top);
    if (mapping != NULL)
        mapping->top = top;
}

static void mark_thread_stacks(const bg__maps *maps)
{
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *task;
    if (tasks == NULL)
        return;
    while ((task = readdir(tasks)) != NULL)
        if (task->d_name[0] != '.')
            mark_thread_stack(maps, task->d_name);
    (void)closedir(tasks);
}

/* pthread_create puts an inaccessible guard page below each stack. The stack and its guard page stay mapped after the
 * thread has ended, when /proc no longer lists the thread. */
static void mark_guarded_stacks(const bg__maps *maps)
{
    enum { PAGE = 4096 };
    for (size_t i = 1; i < maps->count; i++) {
        const bg__mapping *guard = &maps->list[i - 1];
        bg__mapping *mapping = &maps->list[i];
        if (guard->high == mapping->low && guard->high - guard->low == PAGE && !guard->readable && !guard->writable &&
            guard->name[0] == '\0' && mapping->writable && mapping->name[0] == '\0')
            mapping->stack = true;
        else if (mapping->name[0] == '\0')
            mapping->top = 0; /* the kernel may show the stack and other memory as one mapping */
    }
}

bg_status bg__maps_read(bg__maps *maps, const void *frame)
{
    bg_status status;
    *maps = (bg__maps){.frame = (uintptr_t)frame};
    BG__TRY(read_maps(maps));
    find_own_stack(maps);
    mark_thread_stacks(maps);
    mark_guarded_stacks(maps);
done:
    return status;
}

void bg__maps_free(bg__maps *maps)
{
    free(maps->list);
    *maps = (bg__maps){0};
}

static bool is_in_own_stack(const bg__maps *maps, uintptr_t address)
{
    return address >= maps->own_stack && address < maps->own_stack_end;
}

bool bg__maps_is_dead_frame(const bg__maps *maps, uintptr_t address)
{
    enum { RED_ZONE = 128 }; /* bytes below the stack pointer that a function may use */
    const bg__mapping *mapping;

    if (is_in_own_stack(maps, address)) /* the stack pointer is not known on another stack, as of a fiber or a signal
                                         * handler */
        return is_in_own_stack(maps, maps->frame) && address < maps->frame;
    mapping = bg__maps_find(maps, address);
    return mapping != NULL && mapping->stack && mapping->top != 0 && address < mapping->top - RED_ZONE;
}
