/* What the allocators of PyTorch and CuPy do, by feed.py, which runs in the program's own interpreter. Hooks never wait
 * for the interpreter's lock: they leave a call pending, which the main thread makes between two instructions of
 * Python. */
#include "python.h"
#include "attach_ledger.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "debug/attach/graphs/book.h"
#include "debug/attach/memory/blocks.h"
#include "debug/attach/stacks/stacks.h"

/* Its frames have a file name by which stacks leave them out. */
static const char feed[] = "exec(compile(r'''\n"
#include "debug/attach/allocators/feed_lines.inc"
                           "''', '" BG__FEED_FILE "', 'exec'))\n";

/* Of the stable interface of Python's C library, so that the tools need no headers of it. */
typedef void *object;
typedef object fast_function(object self, const object *arguments, ptrdiff_t count);
typedef struct method {
    const char *name;
    fast_function *function;
    int flags;
    const char *documentation;
} method;
enum { FILE_INPUT = 257, FASTCALL = 0x80 };

static struct {
    const bg__attach_shim *shim;
    bool child;           /* it is one, without CUDA */
    bool complete;        /* the interpreter has all of the functions */
    atomic_bool pending;  /* a call that has not begun */
    atomic_bool snapshot; /* it is wanted */
    atomic_bool broken;   /* the script failed: it is not run again */
    int (*is_initialized)(void);
    int (*at_exit)(void (*function)(void));
    int (*add_pending)(int (*function)(void *), void *argument);
    object (*new_dict)(void);
    object (*builtins)(void);
    int (*set_item)(object dict, const char *key, object item);
    object (*run)(const char *script, int start, object globals, object locals);
    void (*clear_error)(void);
    object (*new_function)(method *method, object self, object module);
    unsigned long long (*number)(object number);
    object (*truth)(long value);
    object globals; /* of the script: the program sees no name of it */
} python;

/* ---- called by the script: all have numbers as arguments --------------------------------------------------------- */

static size_t number_of(object argument)
{
    unsigned long long number = python.number(argument);
    if (number == (unsigned long long)-1)
        python.clear_error(); /* it is none: nothing is known of such an address */
    return (size_t)number;
}

/* (allocator, base, bytes or 0). Returns whether it is to be asked for all it has. */
static object allocated(object self, const object *arguments, ptrdiff_t count)
{
    bool moved = false;
    bool ask = !python.child && bg__block_allocated((bg__allocator)number_of(arguments[0]), number_of(arguments[1]),
                                                    number_of(arguments[2]), &moved);
    (void)self;
    (void)count;
    if (moved)
        bg__book_memory_moved();
    return python.truth(ask);
}

/* (allocator, base, bytes or 0). The stack is that of the program: the interpreter has released the last reference
 * there. */
static object freed(object self, const object *arguments, ptrdiff_t count)
{
    bg__allocator allocator = (bg__allocator)number_of(arguments[0]);
    uintptr_t base = number_of(arguments[1]);
    bool used = !python.child && bg__block_free_matters(allocator, base);
    const bg__stack *stack = used ? bg__stack_here() : NULL;

    (void)self;
    (void)count;
    if (!python.child && bg__block_freed(allocator, base, number_of(arguments[2]),
                                         stack != NULL ? bg__stack_site(stack) : (bg_site){NULL, 0}))
        bg__book_memory_moved();
    return python.truth(0);
}

static object begin(object self, const object *arguments, ptrdiff_t count)
{
    (void)self;
    (void)arguments;
    (void)count;
    bg__blocks_snapshot_begin();
    return python.truth(0);
}

/* (base, bytes, whether it is of a private pool) */
static object segment(object self, const object *arguments, ptrdiff_t count)
{
    (void)self;
    (void)count;
    bg__block_segment(number_of(arguments[0]), number_of(arguments[1]), number_of(arguments[2]) != 0);
    return python.truth(0);
}

/* (allocator, base, bytes) */
static object live(object self, const object *arguments, ptrdiff_t count)
{
    (void)self;
    (void)count;
    bg__block_live((bg__allocator)number_of(arguments[0]), number_of(arguments[1]), number_of(arguments[2]));
    return python.truth(0);
}

/* (allocator) */
static object end(object self, const object *arguments, ptrdiff_t count)
{
    (void)self;
    (void)count;
    if (bg__blocks_snapshot_end((bg__allocator)number_of(arguments[0])))
        bg__book_memory_moved();
    return python.truth(0);
}

static object note(object self, const object *arguments, ptrdiff_t count)
{
    (void)self;
    (void)arguments;
    (void)count;
    bg__book_note_blocks();
    return python.truth(0);
}

static method methods[] = {
    {"allocated", allocated, FASTCALL, NULL}, {"freed", freed, FASTCALL, NULL}, {"begin", begin, FASTCALL, NULL},
    {"segment", segment, FASTCALL, NULL},     {"live", live, FASTCALL, NULL},   {"end", end, FASTCALL, NULL},
    {"note", note, FASTCALL, NULL},
};

/* ---- running it ------------------------------------------------------------------------------------------------- */

static bool run_script(const char *script)
{
    return python.run(script, FILE_INPUT, python.globals, python.globals) != NULL;
}

/* At the end of Py_Finalize: a call that is pending then is never made, and the program's next interpreter knows
 * nothing of the script. */
static void leave_interpreter(void)
{
    python.globals = NULL;
    atomic_store(&python.pending, false);
}

static bool define_feed(void)
{
    object builtins = python.builtins(), function;

    python.globals = python.new_dict();
    if (python.globals == NULL || python.at_exit(leave_interpreter) != 0 || builtins == NULL ||
        python.set_item(python.globals, "__builtins__", builtins) != 0)
        return false;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        function = python.new_function(&methods[i], NULL, NULL);
        if (function == NULL || python.set_item(python.globals, methods[i].name, function) != 0)
            return false;
    }
    return run_script(feed);
}

/* With the interpreter's lock, on its main thread. A failure is none of the program's. */
static int run_feed(void *unused)
{
    (void)unused;
    atomic_store(&python.pending, false);
    python.shim->enter();
    if ((python.globals == NULL && !define_feed()) ||
        !run_script(atomic_exchange(&python.snapshot, false) ? "feed.snapshot()" : "feed.watch()")) {
        python.clear_error();
        atomic_store(&python.broken, true);
        bg__warn("--attach: what the program's allocator holds cannot be read; tensors that are freed are not found");
    }
    bg__ledger_note_graphs();
    python.shim->leave();
    return 0;
}

/* A lock may be held by a thread that the child does not have. */
static void leave_child(void)
{
    python.child = true;
}

/* Not one that ends, which has no queue of calls: it is asked without its lock. */
bool bg__python_is_there(void)
{
    return python.complete && !atomic_load(&python.broken) && python.is_initialized() != 0;
}

void bg__python_begin(const bg__attach_shim *shim)
{
    const struct {
        const char *name;
        void *function;
    } wanted[] = {
        {"Py_IsInitialized", &python.is_initialized},
        {"Py_AtExit", &python.at_exit},
        {"Py_AddPendingCall", &python.add_pending},
        {"PyDict_New", &python.new_dict},
        {"PyEval_GetBuiltins", &python.builtins},
        {"PyDict_SetItemString", &python.set_item},
        {"PyRun_String", &python.run},
        {"PyErr_Clear", &python.clear_error},
        {"PyCFunction_NewEx", &python.new_function},
        {"PyLong_AsUnsignedLongLongMask", &python.number},
        {"PyBool_FromLong", &python.truth},
    };
    void *found;

    python.shim = shim;
    python.complete = pthread_atfork(NULL, NULL, leave_child) == 0;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        bg__program_function(wanted[i].name, wanted[i].function);
        memcpy(&found, wanted[i].function, sizeof found);
        python.complete &= found != NULL;
    }
}

void bg__python_watch(void)
{
    if (!bg__python_is_there() || atomic_exchange(&python.pending, true))
        return;
    if (python.add_pending(run_feed, NULL) != 0)
        atomic_store(&python.pending, false); /* its queue is full; the next graph tries again */
}

void bg__python_snapshot(void)
{
    atomic_store(&python.snapshot, true);
    bg__python_watch();
}
