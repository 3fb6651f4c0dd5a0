/* What PyTorch's caching allocator holds, by feed.py, which runs in the program's own interpreter. Hooks never wait for
 * the interpreter's lock: they leave a call pending, which the main thread makes between two instructions of Python. */
#include "attach.h"
#include "blocks.h"

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
    void *(*new_dict)(void);
    void *(*builtins)(void);
    int (*set_item)(void *dict, const char *key, void *item);
    void *(*run)(const char *script, int start, void *globals, void *locals);
    void (*clear_error)(void);
    void *globals; /* of the script: the program sees no name of it */
} python;

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

static bool run_script(const char *script)
{
    enum { FILE_INPUT = 257 }; /* Py_file_input */
    void *builtins = python.builtins();

    if (python.globals == NULL)
        python.globals = python.new_dict();
    if (python.globals != NULL && builtins != NULL && python.set_item(python.globals, "__builtins__", builtins) == 0 &&
        python.run(script, FILE_INPUT, python.globals, python.globals) != NULL)
        return true;
    python.clear_error();
    return false;
}

/* With the interpreter's lock, on its main thread. A failure is none of the program's. */
static int run_feed(void *unused)
{
    static const char begin[] = "%s\n"
                                "if 'feed' not in globals():\n"
                                "    feed = breakgraph_feed(%p, %p, %p, %p)\n"
                                "feed.snapshot()\n";
    char *script = NULL;

    (void)unused;
    atomic_store(&python.pending, false);
    python.shim->enter();
    if (asprintf(&script, begin, feed, address_of((void (*)(void))take_block), address_of((void (*)(void))end_blocks),
                 address_of((void (*)(void))free_block), address_of((void (*)(void))allocate_block)) < 0 ||
        !run_script(script)) {
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
    bg__program_function("Py_AddPendingCall", &python.add_pending);
    bg__program_function("PyDict_New", &python.new_dict);
    bg__program_function("PyEval_GetBuiltins", &python.builtins);
    bg__program_function("PyDict_SetItemString", &python.set_item);
    bg__program_function("PyRun_String", &python.run);
    bg__program_function("PyErr_Clear", &python.clear_error);
}

void bg__python_snapshot(void)
{
    if (python.add_pending == NULL || python.new_dict == NULL || python.builtins == NULL || python.set_item == NULL ||
        python.run == NULL || python.clear_error == NULL || atomic_load(&python.broken) ||
        atomic_exchange(&python.pending, true))
        return;
    if (python.add_pending(run_feed, NULL) != 0)
        atomic_store(&python.pending, false); /* its queue is full; the next graph tries again */
}
