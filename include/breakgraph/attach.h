/* For programs, and their plug-ins, that run under `breakgraph COMMAND --attach`: names for graphs and memory, what an
 * allocator keeps, and a check at a point of the program's choice.
 * A program links nothing for it: the functions below look up one symbol that the preloaded library exports. Where the
 * program does not run under --attach, bg_attached() returns false, and every other function returns
 * BG_ERROR_NOT_FOUND, or what its comment says, and changes nothing. So a program can be shipped with these calls. With
 * a glibc before 2.34 it needs -ldl.
 * The tools use their own copy of libbreakgraph. They take no object of the program's libbreakgraph, such as a bg_graph
 * or a bg_report, and return none.
 * Threads: every function here may be called from any thread at any time, except in a callback of CUDA (a host
 * function). In a child of fork the program is not attached.
 * Languages: C99 and later, C++11 and later. */
#ifndef BREAKGRAPH_ATTACH_H
#define BREAKGRAPH_ATTACH_H

#include <breakgraph/report.h>
#include <breakgraph/status.h>
#include <dlfcn.h>
#include <string.h>

BG_BEGIN_C_

/* Room for a name, in bytes, with the 0 that ends it. */
#define BG_ATTACH_NAME_BYTES 64

/* A graph that the program has instantiated and not destroyed. */
typedef struct bg_attach_graph {
    size_t struct_size;              /* set by BG_ATTACH_GRAPH_INIT */
    cudaGraphExec_t exec;            /* the program's */
    char name[BG_ATTACH_NAME_BYTES]; /* "graph#3", or what the program has named it */
    uint64_t nodes;
    uint64_t launches; /* so far */
    uint64_t updates;  /* so far: calls that changed the executable graph */
} bg_attach_graph;

#define BG_ATTACH_GRAPH_INIT                                                                                           \
    {                                                                                                                  \
        sizeof(bg_attach_graph), NULL, "", 0, 0, 0                                                                     \
    }

/* What the preloaded library exports; programs call the functions below this struct instead. Newer libraries append
 * members. A function whose member is NULL, or lies beyond struct_size, does not exist. */
typedef struct bg_attach_functions {
    size_t struct_size;
    bg_status (*name_next)(const char *name);
    bg_status (*name_graph)(cudaGraphExec_t exec, const char *name);
    bg_status (*name_memory)(const void *base, size_t bytes, const char *name);
    bg_status (*forget_memory)(const void *base);
    bg_status (*ledger_alloc)(const void *base, size_t bytes);
    bg_status (*ledger_free)(const void *base);
    int (*graph_count)(void);
    bg_status (*get_graph)(int index, bg_attach_graph *graph);
    bg_status (*check)(bg_format format, int *findings, char **text);
    void (*free_text)(char *text);
    const char *(*last_error)(void);
    bg_status (*rows)(const void *base, size_t row_bytes, int64_t rows, int64_t live, bool floats);
    bg_status (*forget_rows)(const void *base);
} bg_attach_functions;

/* The type of the symbol bg_attach_interface, which returns NULL in a child of fork. The struct is static; the function
 * returns another one after the program has begun to use CUDA. */
typedef const bg_attach_functions *bg_attach_interface_function(void);

/* NULL: the program is not attached. RTLD_DEFAULT is written as a number: strict modes of compilers hide its name. */
static inline const bg_attach_functions *bg_attach_functions_(void)
{
    static void *found; /* NULL: a later call looks the symbol up again */
    void *symbol = __atomic_load_n(&found, __ATOMIC_RELAXED);
    bg_attach_interface_function *get;

    if (symbol == NULL) {
        symbol = dlsym(BG_CAST_(void *, 0), "bg_attach_interface");
        __atomic_store_n(&found, symbol, __ATOMIC_RELAXED);
    }
    if (symbol == NULL)
        return NULL;
    memcpy(&get, &symbol, sizeof get);
    return get();
}

/* Whether the table has the function `member`. */
#define BG_ATTACH_HAS_(functions, member)                                                                              \
    ((functions) != NULL &&                                                                                            \
     (functions)->struct_size >= offsetof(bg_attach_functions, member) + sizeof((functions)->member) &&                \
     (functions)->member != NULL)

/* Calls the function, or returns NOT_FOUND. */
#define BG_ATTACH_CALL_(member, arguments)                                                                             \
    const bg_attach_functions *functions = bg_attach_functions_();                                                     \
    return BG_ATTACH_HAS_(functions, member) ? functions->member arguments : BG_ERROR_NOT_FOUND

/* Returns whether the program runs under --attach. The tools begin with the program's first CUDA call (cuInit): until
 * then the functions below, except bg_attach_name_next, return BG_ERROR_NOT_FOUND. */
static inline bool bg_attached(void)
{
    return bg_attach_functions_() != NULL;
}

/* Returns the calling thread's last failure of a function below, as a sentence. A success does not clear it. The string
 * is valid until the thread's next failure. */
static inline const char *bg_attach_last_error(void)
{
    const bg_attach_functions *functions = bg_attach_functions_();
    if (BG_ATTACH_HAS_(functions, last_error))
        return functions->last_error();
    return "the program does not run under --attach; start it with: breakgraph check --attach -- PROGRAM";
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

/* Names an executable graph; a CUgraphExec is the same handle. Reports and findings use the name from now on instead of
 * "graph#3". name is copied, and has 1 to 63 bytes.
 * Errors: INVALID_ARGUMENT, NOT_FOUND (not attached; or exec is not an executable graph that was instantiated under
 * --attach), OUT_OF_MEMORY. */
static inline bg_status bg_attach_name_graph(cudaGraphExec_t exec, const char *name)
{
    BG_ATTACH_CALL_(name_graph, (exec, name));
}

/* Names the graphs that the calling thread instantiates from now on: the first is called name, the next "name#1",
 * "name#2", and so on. NULL ends that. May be called before the first CUDA call. name is copied, and has 1 to 51 bytes.
 * Errors: INVALID_ARGUMENT, NOT_FOUND (not attached). */
static inline bg_status bg_attach_name_next(const char *name)
{
    BG_ATTACH_CALL_(name_next, (name));
}

/* Names memory, such as a tensor: findings write "kv_cache+256 (0x7f...)" for an address in it. The name stays when the
 * memory is freed, so that a finding about freed memory can use it. Another name for memory that overlaps replaces it;
 * findings then write "new (formerly old)". name is copied, and has 1 to 63 bytes.
 * Errors: INVALID_ARGUMENT, NOT_FOUND (not attached), OUT_OF_MEMORY. */
static inline bg_status bg_attach_name_memory(const void *base, size_t bytes, const char *name)
{
    BG_ATTACH_CALL_(name_memory, (base, bytes, name));
}

/* Removes the name of the memory at base. Errors: NOT_FOUND (not attached; or there is no name for memory that begins
 * at base). */
static inline bg_status bg_attach_forget_memory(const void *base)
{
    BG_ATTACH_CALL_(forget_memory, (base));
}

/* ---- allocators that keep what is freed -------------------------------------------------------------------------- */

/* Reports a block that an allocator hands out; bg_attach_ledger_free reports a block that it takes back and keeps,
 * which CUDA does not see. A graph that uses a block which was freed after the graph was instantiated is a finding
 * ("freed", "reused"). Report every block before a graph that uses it is instantiated, and every free after it. Do not
 * report PyTorch's own allocator: the tools query it themselves. If a live block begins at base already, the new block
 * replaces it.
 * Errors: INVALID_ARGUMENT (NULL, 0 bytes), NOT_FOUND (not attached). */
static inline bg_status bg_attach_ledger_alloc(const void *base, size_t bytes)
{
    BG_ATTACH_CALL_(ledger_alloc, (base, bytes));
}

/* Reports that the allocator took the block at base back. Findings name the function that calls this or, in Python, the
 * line. Freeing a block that was not reported does nothing. Errors: as above. */
static inline __attribute__((always_inline)) bg_status bg_attach_ledger_free(const void *base)
{
    BG_ATTACH_CALL_(ledger_free, (base));
}

/* ---- rows of batches ----------------------------------------------------------------------------------------------
 */

/* Declares the padding rows of memory, for `check --attach --what=padding`: memory at base has `rows` contiguous rows
 * of row_bytes bytes each. The first `live` rows belong to a batch; the others are padding. The check also runs a
 * graph's nodes with other floats in the padding of all memory that was declared with `floats` true. The live rows of
 * all declared memory must not change by that. Call this before each launch for which `live` changes. Declare memory
 * that never has padding, such as a cache, with live == rows, and without the slots that padding may use. A declaration
 * replaces earlier ones of memory that it overlaps. It ends when the memory is freed, by CUDA or by an allocator that
 * reports its blocks.
 * Errors: INVALID_ARGUMENT (base NULL, row_bytes 0, rows < 1, live not in 0 to rows), NOT_FOUND (not attached),
 * OUT_OF_MEMORY. */
static inline bg_status bg_attach_rows(const void *base, size_t row_bytes, int64_t rows, int64_t live, bool floats)
{
    BG_ATTACH_CALL_(rows, (base, row_bytes, rows, live, floats));
}

/* Ends the declaration of rows at base, before the memory is used for something else. Errors: NOT_FOUND (not attached;
 * or no rows were declared for memory that begins at base). */
static inline bg_status bg_attach_forget_rows(const void *base)
{
    BG_ATTACH_CALL_(forget_rows, (base));
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

/* Returns the number of graphs that the program has instantiated and not destroyed; 0 where it is not attached. */
static inline int bg_attach_graph_count(void)
{
    const bg_attach_functions *functions = bg_attach_functions_();
    return BG_ATTACH_HAS_(functions, graph_count) ? functions->graph_count() : 0;
}

/* Copies a description of the index-th of these graphs, in the order of their instantiation, to *graph. Indices change
 * when a graph is destroyed.
 * Errors: INVALID_ARGUMENT (a NULL, bad struct_size), NOT_FOUND (not attached; or no such index). */
static inline bg_status bg_attach_get_graph(int index, bg_attach_graph *graph)
{
    BG_ATTACH_CALL_(get_graph, (index, graph));
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

/* Checks all graphs of the program now, as `breakgraph check --attach` does before a launch. *findings becomes the
 * number of warnings and faults that hold now, plus those that launches have found since the last call, also in graphs
 * that are destroyed. *text, unless text is NULL, receives these findings and the notes as BG_TEXT, or as BG_JSON: an
 * object with "findings", the number; "graphs", the number of graphs that were checked; "not_checked", the number of
 * graphs that could not be checked; "reports", a list of reports (docs/report-format.md), one for each graph that has
 * findings. The caller releases *text with bg_attach_free; it is NULL after an error. The findings are also in what the
 * command prints.
 * Errors: INVALID_ARGUMENT (findings NULL, another format), NOT_FOUND (not attached, or no CUDA call so far),
 * UNSUPPORTED (under another command than check), OUT_OF_MEMORY, CUDA. */
static inline bg_status bg_attach_check(bg_format format, int *findings, char **text)
{
    BG_ATTACH_CALL_(check, (format, findings, text));
}

/* Releases what bg_attach_check returned. NULL does nothing. */
static inline void bg_attach_free(char *text)
{
    const bg_attach_functions *functions = bg_attach_functions_();
    if (BG_ATTACH_HAS_(functions, free_text))
        functions->free_text(text);
}

#undef BG_ATTACH_CALL_
#undef BG_ATTACH_HAS_

BG_END_C_

#endif
