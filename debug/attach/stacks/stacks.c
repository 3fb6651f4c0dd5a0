/* Records call stacks, and writes them as text. Each captured launch records a stack: a graph has hundreds, most of
 * them equal. So each stack is kept once, as addresses and as the interpreter's text, and is symbolized only when it is
 * read. */
#include "stacks.h"
#include "symbols.h"

#include <ctype.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

enum { FRAMES_MAX = 40, PYTHON_BYTES = 1 << 14, BUCKETS = 1 << 12 };

struct bg__stack {
    bg__stack *next; /* in its bucket */
    uint64_t hash;
    int depth;
    void **frames;
    char *
        python; /* as _Py_DumpTraceback writes it: lines '  File "model.py", line 17 in forward', the innermost first */
    char *text; /* NULL before the first bg__stack_text */
    bg_site site; /* file NULL before the first bg__stack_site */
};

static struct {
    pthread_mutex_t lock;
    bg__stack *buckets[BUCKETS];
    /* The interpreter's functions, which need none of its locks; both or none. */
    void *(*get_thread_state)(void);
    void (*dump_traceback)(int descriptor, void *thread);
} stacks = {.lock = PTHREAD_MUTEX_INITIALIZER};

void bg__find_program_function(const char *name, void *function)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    memcpy(function, &address, sizeof address);
}

void bg__stacks_begin(void)
{
    void *frame;
    (void)backtrace(&frame, 1);
    bg__find_program_function("PyGILState_GetThisThreadState", &stacks.get_thread_state);
    bg__find_program_function("_Py_DumpTraceback", &stacks.dump_traceback);
}

/* ---- recording ---- */

/* The interpreter writes to a descriptor. Its text has at most 100 lines, so it fits into a pipe without a reader. */
static size_t read_python_stack(char text[PYTHON_BYTES])
{
    int ends[2];
    ssize_t got;
    void *thread;

    text[0] = '\0';
    if (stacks.get_thread_state == NULL || stacks.dump_traceback == NULL)
        return 0;
    thread = stacks.get_thread_state();
    if (thread == NULL || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return 0;
    stacks.dump_traceback(ends[1], thread);
    got = read(ends[0], text, PYTHON_BYTES - 1);
    (void)close(ends[0]);
    (void)close(ends[1]);
    text[got > 0 ? got : 0] = '\0';
    return strlen(text);
}

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ byte[i]) * 0x100000001b3; /* FNV-1a */
    return hash;
}

static bg__stack *create_stack(uint64_t hash, void *const *frames, int depth, const char *python)
{
    bg__stack *stack = calloc(1, sizeof *stack);
    if (stack == NULL)
        return NULL;
    stack->hash = hash;
    stack->depth = depth;
    stack->frames = malloc((size_t)depth * sizeof *frames + 1);
    stack->python = strdup(python);
    if (stack->frames == NULL || stack->python == NULL) {
        free(stack->frames);
        free(stack->python);
        free(stack);
        return NULL;
    }
    memcpy(stack->frames, frames, (size_t)depth * sizeof *frames);
    return stack;
}

const bg__stack *bg__stack_here(void)
{
    void *frames[FRAMES_MAX];
    char python[PYTHON_BYTES];
    int depth = backtrace(frames, FRAMES_MAX);
    uint64_t hash = hash_bytes(0xcbf29ce484222325, frames, (size_t)depth * sizeof *frames);
    bg__stack *stack;

    hash = hash_bytes(hash, python, read_python_stack(python));
    pthread_mutex_lock(&stacks.lock);
    for (stack = stacks.buckets[hash % BUCKETS]; stack != NULL; stack = stack->next)
        if (stack->hash == hash)
            break;
    if (stack == NULL) {
        stack = create_stack(hash, frames, depth, python);
        if (stack != NULL) {
            stack->next = stacks.buckets[hash % BUCKETS];
            stacks.buckets[hash % BUCKETS] = stack;
        }
    }
    pthread_mutex_unlock(&stacks.lock);
    return stack;
}

/* ---- reading ---- */

/* A line of the interpreter's text: file without quotes, line and function. */
typedef struct python_line {
    const char *file, *function;
    int file_bytes, function_bytes, number;
} python_line;

static bool parse_python_line(const char *text, python_line *line)
{
    const char *quote = strchr(text, '"'), *end = quote != NULL ? strstr(quote, "\", line ") : NULL;
    const char *last = strchrnul(text, '\n');
    char *rest;

    if (end == NULL || end > last || strncmp(quote + 1, BG__FEED_FILE "\"", sizeof BG__FEED_FILE) == 0)
        return false;
    line->file = quote + 1;
    line->file_bytes = (int)(end - line->file);
    line->number = (int)strtol(end + strlen("\", line "), &rest, 10);
    line->function = strncmp(rest, " in ", 4) == 0 ? rest + 4 : last;
    line->function_bytes = (int)(last - line->function);
    return true;
}

/* "<shim>" is an entry frame of the interpreter of Python 3.12. */
static bool is_in_package(const python_line *line)
{
    static const char *const places[] = {"<shim>", "/site-packages/", "/dist-packages/", "/lib/python", "<frozen"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (memmem(line->file, (size_t)line->file_bytes, places[i], strlen(places[i])) != NULL)
            return true;
    return false;
}

/* The name of the file that holds a frame's code. */
static const char *library_name(const Dl_info *about)
{
    const char *slash = strrchr(about->dli_fname, '/');
    return slash != NULL ? slash + 1 : about->dli_fname;
}

static bool is_in_library(const Dl_info *about, const char *library)
{
    return strncmp(library_name(about), library, strlen(library)) == 0;
}

static bool is_in_tools(const Dl_info *about)
{
    return is_in_library(about, "libbreakgraph_attach") || is_in_library(about, "libbreakgraph_tools");
}

/* Whether the frame is in the tools or in CUDA's libraries: these frames are not shown. */
static bool is_in_tools_or_cuda(const Dl_info *about)
{
    return is_in_tools(about) || is_in_library(about, "libcuda.so") || is_in_library(about, "libcudart.so") ||
           is_in_library(about, "libhostcuda.so");
}

/* Returns the function that has frame, which the caller frees, and the frame's offset in it. NULL: unknown. */
static char *find_symbol_name(const void *frame, const Dl_info *about, size_t *offset)
{
    *offset = (size_t)((const char *)frame - (const char *)about->dli_saddr);
    return about->dli_sname != NULL ? strdup(about->dli_sname) : bg__find_symbol(about, frame, offset);
}

static bool is_cuda_name(const char *name)
{
    return strncmp(name, "cuda", strlen("cuda")) == 0 && isupper((unsigned char)name[strlen("cuda")]);
}

/* A template of cuda_runtime.h: "_Z10cudaMallocIfE...". */
static bool is_cuda_template(const char *symbol)
{
    const char *digits = symbol + strspn(symbol, "_ZL");
    char *name;
    size_t length = strtoul(digits, &name, 10);
    return name > digits && is_cuda_name(name) && strlen(name) > length && name[length] == 'I';
}

/* Whether the symbol is of the CUDA runtime or its header. A runtime that is linked statically has the symbols
 * "cudaMalloc" and "libcudart_static_1310e5...". */
static bool is_runtime_symbol(const char *symbol)
{
    return strncmp(symbol, "libcudart_static_", strlen("libcudart_static_")) == 0 || is_cuda_name(symbol) ||
           is_cuda_template(symbol) || strstr(symbol, "__cudaLaunchKernel") != NULL;
}

/* Whether the symbol belongs to code that nvcc or hostcuda-cc generates for kernel<<<...>>>(...): stubs, and the
 * function around them. This function has the kernel's name, and the stub's name contains it. *stub: the last stub; the
 * caller frees it. */
static bool is_launch_symbol(const char *symbol, char **stub)
{
    bool is_stub = strstr(symbol, "__device_stub__") != NULL;
    bool is_kernel = *stub != NULL && (strstr(*stub, "8hostcuda") != NULL || strstr(*stub, symbol) != NULL);
    if (strstr(symbol, "__wrapper__device_stub_") != NULL)
        return true;
    free(*stub);
    *stub = is_stub ? strdup(symbol) : NULL;
    return is_stub || is_kernel;
}

/* Returns false and prints nothing for a frame of the runtime or of a launch. *stub is as for is_launch_symbol. */
static bool print_frame(FILE *out, const void *frame, const Dl_info *about, char **stub)
{
    size_t offset;
    char *symbol = find_symbol_name(frame, about, &offset), *name = symbol != NULL ? bg__demangle(symbol) : NULL;
    bool is_shown = symbol == NULL || !(is_launch_symbol(symbol, stub) || is_runtime_symbol(symbol));
    if (symbol != NULL && is_shown)
        fprintf(out, "%s+%#zx in %s", name != NULL ? name : symbol, offset, library_name(about));
    else if (is_shown)
        fprintf(out, "%s+%#zx", library_name(about), (size_t)((const char *)frame - (const char *)about->dli_fbase));
    free(name);
    free(symbol);
    return is_shown;
}

static bool find_frame_info(const void *frame, Dl_info *about)
{
    return dladdr(frame, about) != 0 && about->dli_fname != NULL;
}

/* Tests the innermost frame outside of the tools, which is the one that called the driver. */
bool bg__stack_is_from_runtime(const bg__stack *stack)
{
    bool of_runtime = false;
    Dl_info about;
    char *symbol;
    size_t offset;

    for (int i = 0; stack != NULL && i < stack->depth; i++) {
        if (!find_frame_info(stack->frames[i], &about) || is_in_tools(&about))
            continue;
        symbol = find_symbol_name(stack->frames[i], &about, &offset);
        of_runtime = is_in_tools_or_cuda(&about) || (symbol != NULL && is_runtime_symbol(symbol));
        free(symbol);
        break;
    }
    return of_runtime;
}

const char *bg__stack_text(const bg__stack *given)
{
    bg__stack *stack = (bg__stack *)(uintptr_t)given; /* the lock protects the text */
    char *text = NULL;
    size_t bytes = 0;
    FILE *out;

    pthread_mutex_lock(&stacks.lock);
    out = stack->text == NULL ? open_memstream(&text, &bytes) : NULL;
    if (out != NULL) {
        python_line line;
        for (const char *at = stack->python; *at != '\0'; at = *strchrnul(at, '\n') ? strchr(at, '\n') + 1 : "")
            if (parse_python_line(at, &line))
                fprintf(out, "%.*s:%d in %.*s\n", line.file_bytes, line.file, line.number, line.function_bytes,
                        line.function);
        char *stub = NULL;
        for (int i = 0; i < stack->depth; i++) {
            Dl_info about;
            if (find_frame_info(stack->frames[i], &about) && !is_in_tools_or_cuda(&about) &&
                print_frame(out, stack->frames[i], &about, &stub))
                fputc('\n', out);
        }
        free(stub);
        if (fclose(out) == 0)
            stack->text = text;
        else
            free(text);
    }
    text = stack->text;
    pthread_mutex_unlock(&stacks.lock);
    return text != NULL ? text : "";
}

static void set_site_locked(bg__stack *stack)
{
    python_line line, best = {.file = NULL};
    char *text = NULL, *stub = NULL;
    size_t bytes = 0;
    FILE *out;

    for (const char *at = stack->python; *at != '\0'; at = *strchrnul(at, '\n') ? strchr(at, '\n') + 1 : "") {
        if (!parse_python_line(at, &line))
            continue;
        if (best.file == NULL || (is_in_package(&best) && !is_in_package(&line)))
            best = line;
    }
    out = open_memstream(&text, &bytes);
    if (out == NULL)
        return;
    if (best.file != NULL)
        fprintf(out, "%.*s", best.file_bytes, best.file);
    for (int i = 0; best.file == NULL && i < stack->depth; i++) {
        Dl_info about;
        if (find_frame_info(stack->frames[i], &about) && !is_in_tools_or_cuda(&about) &&
            print_frame(out, stack->frames[i], &about, &stub))
            break;
    }
    free(stub);
    if (fclose(out) == 0)
        stack->site = (bg_site){text, best.number};
    else
        free(text);
}

bg_site bg__stack_site(const bg__stack *given)
{
    bg__stack *stack = (bg__stack *)(uintptr_t)given;
    bg_site site;
    pthread_mutex_lock(&stacks.lock);
    if (stack->site.file == NULL)
        set_site_locked(stack);
    site = stack->site;
    pthread_mutex_unlock(&stacks.lock);
    return site;
}
