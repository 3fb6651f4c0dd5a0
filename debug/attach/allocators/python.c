/* Runs feed.py in the program's interpreter: it reports the blocks of PyTorch's and CuPy's allocators. Hooks never wait
 * for the interpreter's lock. They add a pending call (Py_AddPendingCall), which the main thread runs between two
 * instructions of Python. */
#include "attach_ledger.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "debug/attach/events/subscribers.h"
#include "debug/attach/graphs/graph_table.h"
#include "debug/attach/memory/blocks.h"
#include "debug/attach/stacks/stacks.h"

/* Its frames have a special file name, by which stacks omit them. */
static const char feed[] = "exec(compile(r'''\n"
#include "debug/attach/allocators/feed_lines.inc"
                           "''', '" BG__FEED_FILE "', 'exec'))\n";

/* Copies of Python's stable ABI, so that the tools do not need its headers. */
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
    bool child;           /* this is a forked child, which cannot use CUDA */
    bool complete;        /* the interpreter has all functions below */
    atomic_bool pending;  /* a pending call is queued */
    atomic_bool snapshot; /* the next call takes a snapshot */
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
    object (*new_bool)(long value);
    object globals; /* the script's namespace: the program does not see its names */
} python;

/* ---- called by the script, with numbers as arguments ------------------------------------------------------------- */

static size_t argument_number(object argument)
{
    unsigned long long number = python.number(argument);
    if (number == (unsigned long long)-1)
        python.clear_error(); /* not a number: no block has this address */
    return (size_t)number;
}

/* (allocator, base, bytes or 0). Returns whether the script is to take a snapshot. */
static object allocated(object self, const object *arguments, ptrdiff_t count)
{
    bool moved = false;
    bool ask =
        !python.child && bg__block_record_alloc((bg__allocator)argument_number(arguments[0]),
                                                argument_number(arguments[1]), argument_number(arguments[2]), &moved);
    (void)self;
    (void)count;
    if (moved)
        bg__graph_table_count_block_move();
    return python.new_bool(ask);
}

/* (allocator, base, bytes or 0). The stack is that of the program's code that released the last reference. */
static object freed(object self, const object *arguments, ptrdiff_t count)
{
    bg__allocator allocator = (bg__allocator)argument_number(arguments[0]);
    uintptr_t base = argument_number(arguments[1]);
    bool used = !python.child && bg__block_free_needs_site(allocator, base);
    const bg__stack *stack = used ? bg__stack_here() : NULL;

    (void)self;
    (void)count;
    if (!python.child && bg__block_record_free(allocator, base, argument_number(arguments[2]),
                                               stack != NULL ? bg__stack_site(stack) : (bg_site){NULL, 0}))
        bg__graph_table_count_block_move();
    return python.new_bool(0);
}

static object begin(object self, const object *arguments, ptrdiff_t count)
{
    (void)self;
    (void)arguments;
    (void)count;
    bg__blocks_snapshot_begin();
    return python.new_bool(0);
}

/* (base, bytes, whether the pool is private) */
static object segment(object self, const object *arguments, ptrdiff_t count)
{
    (void)self;
    (void)count;
    bg__blocks_snapshot_add_segment(argument_number(arguments[0]), argument_number(arguments[1]),
                                    argument_number(arguments[2]) != 0);
    return python.new_bool(0);
}

/* (allocator, base, bytes) */
static object live(object self, const object *arguments, ptrdiff_t count)
{
    (void)self;
    (void)count;
    bg__blocks_snapshot_add_block((bg__allocator)argument_number(arguments[0]), argument_number(arguments[1]),
                                  argument_number(arguments[2]));
    return python.new_bool(0);
}

/* (allocator) */
static object end(object self, const object *arguments, ptrdiff_t count)
{
    (void)self;
    (void)count;
    if (bg__blocks_snapshot_end((bg__allocator)argument_number(arguments[0])))
        bg__graph_table_count_block_move();
    return python.new_bool(0);
}

static object note(object self, const object *arguments, ptrdiff_t count)
{
    (void)self;
    (void)arguments;
    (void)count;
    bg__graph_table_record_blocks();
    return python.new_bool(0);
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

/* Runs at the end of Py_Finalize. A pending call is dropped then, and a new interpreter does not have the script. */
static void forget_interpreter(void)
{
    python.globals = NULL;
    atomic_store(&python.pending, false);
}

static bool define_feed(void)
{
    object builtins = python.builtins(), function;

    python.globals = python.new_dict();
    if (python.globals == NULL || python.at_exit(forget_interpreter) != 0 || builtins == NULL ||
        python.set_item(python.globals, "__builtins__", builtins) != 0)
        return false;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        function = python.new_function(&methods[i], NULL, NULL);
        if (function == NULL || python.set_item(python.globals, methods[i].name, function) != 0)
            return false;
    }
    return run_script(feed);
}

/* Runs on the interpreter's main thread, with its lock. Failures must not reach the program. */
static int run_feed(void *unused)
{
    (void)unused;
    atomic_store(&python.pending, false);
    bg__shim->enter();
    if ((python.globals == NULL && !define_feed()) ||
        !run_script(atomic_exchange(&python.snapshot, false) ? "feed.snapshot()" : "feed.watch()")) {
        python.clear_error();
        atomic_store(&python.broken, true);
        bg__warn("--attach: the blocks of the program's allocator cannot be read; uses of freed tensors are not found");
    }
    bg__ledger_record_graphs();
    bg__shim->leave();
    return 0;
}

/* A forked child must not lock anything: another thread may have had the lock. */
static void mark_child(void)
{
    python.child = true;
}

/* Needs no lock of the interpreter. False while it ends, since it has no queue of pending calls then. */
static bool is_available(void)
{
    return python.complete && !atomic_load(&python.broken) && python.is_initialized() != 0;
}

static bg_status begin_python(void)
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
        {"PyBool_FromLong", &python.new_bool},
    };
    void *found;

    python.complete = pthread_atfork(NULL, NULL, mark_child) == 0;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        bg__find_program_function(wanted[i].name, wanted[i].function);
        memcpy(&found, wanted[i].function, sizeof found);
        python.complete &= found != NULL;
    }
    return BG_OK;
}

static void request_events(void)
{
    if (!is_available() || atomic_exchange(&python.pending, true))
        return;
    if (python.add_pending(run_feed, NULL) != 0)
        atomic_store(&python.pending, false); /* the queue is full; the next graph tries again */
}

/* ---- events ---------------------------------------------------------------------------------------------------- */

/* Makes the interpreter report allocations and frees; it begins soon after this call. */
static void record_capture(const bg__event *event)
{
    if (event->result == CUDA_SUCCESS)
        request_events();
}

/* Records the blocks of new graphs: at once, or when the interpreter has listed its live blocks. */
static void record_blocks(const bg__event *event)
{
    atomic_store(&python.snapshot, true);
    request_events();
    if (is_available())
        return;
    if (event->later)
        bg__ledger_record_later();
    else
        bg__ledger_record_graphs();
}

static void record_due(const bg__event *event)
{
    (void)event;
    bg__ledger_record_if_due();
}

const bg__subscriber bg__fact_allocators = {
    .name = "blocks of allocators",
    .begin = begin_python,
    .on = {[BG__CAPTURE_BEGUN] = record_capture, [BG__EXECS_SETTLED] = record_blocks, [BG__CALL_CHECKED] = record_due},
};
