/* What PyTorch's caching allocator holds, by feed.py, which runs in the program's own interpreter. Hooks never wait for
 * the interpreter's lock: they leave a call pending, which the main thread makes between two instructions of Python. */
#include "attach.h"
#include "blocks.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char feed[] =
#include "debug/attach/feed_lines.inc"
    ;

static struct {
    const bg__attach_shim *shim;
    atomic_bool pending; /* a snapshot that has not begun */
    atomic_bool broken;  /* the script failed: it is not run again */
    int (*add_pending)(int (*function)(void *), void *argument);
    int (*run)(const char *script);
} python;

static void find_function(const char *name, void *function)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    memcpy(function, &address, sizeof address);
}

/* ---- called by the script -------------------------------------------------------------------------------------- */

static void take_block(void *base, size_t bytes, int private_pool)
{
    bg__block_live((uintptr_t)base, bytes, private_pool != 0);
}

static void end_blocks(void)
{
    bg__book_note_blocks();
}

/* The stack is that of the program: the interpreter has released the last reference there. */
static void free_block(void *base)
{
    const bg__stack *stack = bg__block_is_used((uintptr_t)base) ? bg__stack_here() : NULL;
    bg_site site = {NULL, 0};
    if (stack != NULL)
        site = bg__stack_site(stack);
    if (bg__block_freed((uintptr_t)base, site))
        bg__book_memory_moved();
}

static void allocate_block(void *base)
{
    if (bg__block_allocated((uintptr_t)base))
        bg__book_memory_moved();
}

/* ---- running it ------------------------------------------------------------------------------------------------- */

static void *address_of(void (*function)(void))
{
    void *address;
    memcpy(&address, &function, sizeof address);
    return address;
}

/* With the interpreter's lock, on its main thread. A failure is printed by the interpreter, and is no failure of the
 * program's. */
static int run_feed(void *unused)
{
    static const char begin[] = "if '_breakgraph_feed' not in globals():\n"
                                "    _breakgraph_code = {}\n"
                                "    exec(compile(r'''%s''', '<breakgraph>', 'exec'), _breakgraph_code)\n"
                                "    _breakgraph_feed = _breakgraph_code['breakgraph_feed'](%p, %p, %p, %p)\n"
                                "_breakgraph_feed.snapshot()\n";
    char *script = NULL;

    (void)unused;
    atomic_store(&python.pending, false);
    python.shim->enter();
    if (asprintf(&script, begin, feed, address_of((void (*)(void))take_block), address_of((void (*)(void))end_blocks),
                 address_of((void (*)(void))free_block), address_of((void (*)(void))allocate_block)) < 0 ||
        python.run(script) != 0) {
        atomic_store(&python.broken, true);
        bg__warn("--attach: what PyTorch's allocator holds cannot be read; tensors that are freed are not found");
    }
    free(script);
    python.shim->leave();
    return 0;
}

void bg__python_begin(const bg__attach_shim *shim)
{
    python.shim = shim;
    find_function("Py_AddPendingCall", &python.add_pending);
    find_function("PyRun_SimpleString", &python.run);
}

void bg__python_snapshot(void)
{
    if (python.add_pending == NULL || python.run == NULL || atomic_load(&python.broken) ||
        atomic_exchange(&python.pending, true))
        return;
    if (python.add_pending(run_feed, NULL) != 0)
        atomic_store(&python.pending, false); /* its queue is full; the next graph tries again */
}
