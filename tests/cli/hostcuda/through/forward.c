/* libcuda.so.1 for tests: every name of NAMES counts its calls and goes on to the same name in the library
 * FORWARD_TO. At the end it writes "COUNT NAME" of those that were called into the file FORWARD_COUNTS. With
 * FORWARD_MEDDLE it makes a call of the runtime's that fails before each launch of a graph, as a tool may. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The test gives the whole list. */
#ifndef NAMES
#define NAMES NAME(0, cuInit)
#endif

#define NAME(index, name) #name,
static const char *const names[] = {NAMES};
#undef NAME
enum { COUNT = sizeof names / sizeof *names };

__attribute__((visibility("hidden"))) unsigned long long forward_counts[COUNT];
__attribute__((visibility("hidden"))) void *forward_to[COUNT];

/* The arguments stay where they are. */
#if defined __x86_64__
#define JUMP(index, name)                                                                                              \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"                                        \
            "lock incq forward_counts+8*" #index "(%rip)\njmp *forward_to+8*" #index "(%rip)\n");
#elif defined __aarch64__
#define JUMP(index, name)                                                                                              \
    __asm__(".text\n.globl " #name "\n.type " #name ", %function\n" #name ":\n"                                        \
            "adrp x16, forward_counts\nadd x16, x16, :lo12:forward_counts\n"                                           \
            "ldr x17, [x16, #8*" #index "]\nadd x17, x17, #1\nstr x17, [x16, #8*" #index "]\n"                         \
            "adrp x16, forward_to\nadd x16, x16, :lo12:forward_to\nldr x17, [x16, #8*" #index "]\nbr x17\n");
#endif
#define NAME(index, name) JUMP(index, name)
NAMES
#undef NAME

static int (*launch)(void *exec, void *stream);
static int (*free_memory)(void *address);

static int meddle_and_launch(void *exec, void *stream)
{
    free_memory(&launch);
    return launch(exec, stream);
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("FORWARD_TO");
    void *library = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND) : NULL;
    if (library == NULL) {
        fprintf(stderr, "forward: FORWARD_TO names no library\n");
        exit(99);
    }
    for (int i = 0; i < COUNT; i++)
        forward_to[i] = dlsym(library, names[i]);
    for (int i = 0; i < COUNT && getenv("FORWARD_MEDDLE") != NULL; i++) {
        int (*const other)(void *, void *) = meddle_and_launch;
        void *found = dlsym(library, "cudaFree");
        if (strcmp(names[i], "cuGraphLaunch") != 0)
            continue;
        memcpy(&launch, &forward_to[i], sizeof launch);
        memcpy(&free_memory, &found, sizeof found);
        memcpy(&forward_to[i], &other, sizeof other);
    }
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FORWARD_COUNTS");
    FILE *file = path != NULL ? fopen(path, "w") : NULL;
    if (file == NULL)
        return;
    for (int i = 0; i < COUNT; i++)
        if (forward_counts[i] != 0)
            fprintf(file, "%llu %s\n", forward_counts[i], names[i]);
    fclose(file);
}
