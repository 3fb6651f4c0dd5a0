/* Memory of plain calls. In each thread, each place that calls an op keeps the memory of its last call. Work on one
 * stream runs in order, so the next call from the same place on the same stream may use it again. */
#include "op/op.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct call_place {
    struct call_place *next;
    const bg_op *op;
    int line;
    cudaStream_t stream;
    int depth; /* number of enclosing calls: a body may call its own op */
    bg__block_list memory;
    char file[]; /* a copy: the library that has the caller's string may be unloaded before the thread ends */
} call_place;

static _Thread_local call_place *call_places;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool have_key;
static atomic_bool is_exiting;

static void free_call_places(void *first)
{
    call_place *next;
    call_places = NULL; /* a later destructor may call an op again */
    for (call_place *p = first; p != NULL; p = next) {
        next = p->next;
        bg__block_list_free(&p->memory);
        free(p);
    }
}

/* Returns NULL without host memory. */
static call_place *make_call_place(const bg__call *call, const char *file, int depth)
{
    size_t bytes = strlen(file) + 1;
    call_place *made = calloc(1, sizeof *made + bytes);

    if (made == NULL)
        return NULL;
    memcpy(made->file, file, bytes);
    made->op = call->op;
    made->line = call->site.line;
    made->stream = call->stream;
    made->depth = depth;
    made->next = call_places;
    return made;
}

/* A thread that ends while the process exits frees nothing, since CUDA may have shut down. */
static void free_at_thread_end(void *first)
{
    if (!atomic_load(&is_exiting))
        free_call_places(first);
}

/* Destructors of thread-specific keys do not run at exit. This is registered after CUDA has started, so it runs before
 * CUDA shuts down. The key stays, since other threads may still run. */
static void free_at_exit(void)
{
    atomic_store(&is_exiting, true);
    free_call_places(call_places);
}

static void make_key(void)
{
    have_key = pthread_key_create(&key, free_at_thread_end) == 0 && atexit(free_at_exit) == 0;
}

static int call_depth(const bg__call *call)
{
    int depth = 0;
    for (; call->parent != NULL; call = call->parent)
        depth++;
    return depth;
}

bg_status bg__plain_call_get_blocks(bg__call *call)
{
    const char *file = call->site.file ? call->site.file : "";
    int depth = call_depth(call);
    call_place *p;

    for (p = call_places; p != NULL; p = p->next)
        if (p->op == call->op && p->stream == call->stream && p->line == call->site.line && p->depth == depth &&
            strcmp(p->file, file) == 0)
            goto found;
    pthread_once(&once, make_key);
    p = make_call_place(call, file, depth);
    if (p == NULL || !have_key) {
        free(p);
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a plain call of %s", call->op->name);
    }
    call_places = p;
    /* The key's destructor frees the places when the thread ends; if setting the key fails, they stay until the process
     * ends. */
    (void)pthread_setspecific(key, call_places);
found:
    call->memory = &p->memory;
    return BG_OK;
}
