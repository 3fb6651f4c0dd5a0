#include "attach_interface.h"

#include <breakgraph/attach.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "debug/attach/allocators/attach_ledger.h"
#include "debug/attach/graphs/graph_table.h"
#include "debug/attach/memory/blocks.h"
#include "debug/attach/memory/batch_rows.h"
#include "debug/attach/report/report_list.h"
#include "debug/attach/report/memory_names.h"

/* Begins work of the tools on the program's thread. Hooks ignore the tools' own calls, and the thread cannot be
 * cancelled while it has a lock of the tools. */
static int enter_tools(void)
{
    int before;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    bg__shim->enter();
    return before;
}

static bg_status leave_tools(int before, bg_status status)
{
    bg__shim->leave();
    (void)pthread_setcancelstate(before, NULL);
    return status;
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

static bg_status check_name(const char *function, const char *name)
{
    if (name == NULL || name[0] == '\0' || strlen(name) >= BG_ATTACH_NAME_BYTES)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s: a name has 1 to %d bytes", function, BG_ATTACH_NAME_BYTES - 1);
    return BG_OK;
}

static bg_status name_next(const char *name)
{
    return bg__shim->name_next(name)
               ? BG_OK
               : bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_attach_name_next: a name has 1 to 51 bytes");
}

static bg_status name_graph(cudaGraphExec_t exec, const char *name)
{
    int before = enter_tools();
    bg_status status;
    BG__TRY(check_name("bg_attach_name_graph", name));
    BG__TRY(bg__graph_table_set_name((CUgraphExec)exec, name));
done:
    return leave_tools(before, status);
}

static bg_status name_memory(const void *base, size_t bytes, const char *name)
{
    int before = enter_tools();
    bg_status status;
    BG__TRY(check_name("bg_attach_name_memory", name));
    if (base == NULL || bytes == 0 || (uintptr_t)base + bytes < bytes)
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT, "bg_attach_name_memory: %zu bytes at %p are no memory", bytes, base);
    BG__TRY(bg__memory_name_set((uintptr_t)base, bytes, name));
    bg__block_set_name(name, (uintptr_t)base, bytes);
done:
    return leave_tools(before, status);
}

static bg_status forget_memory(const void *base)
{
    int before = enter_tools();
    bg_status status = BG_OK;
    if (!bg__memory_name_remove((uintptr_t)base))
        BG__FAIL(BG_ERROR_NOT_FOUND, "bg_attach_forget_memory: no memory that begins at %p has a name", base);
done:
    return leave_tools(before, status);
}

/* ---- allocators ------------------------------------------------------------------------------------------------- */

static bg_status ledger_alloc(const void *base, size_t bytes)
{
    int before = enter_tools();
    bg_status status = BG_OK;
    if (base == NULL || bytes == 0)
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT, "bg_attach_ledger_alloc: %zu bytes at %p are no block", bytes, base);
    bg__ledger_record_alloc((uintptr_t)base, bytes);
done:
    return leave_tools(before, status);
}

static bg_status ledger_free(const void *base)
{
    int before = enter_tools();
    bg__ledger_record_free((uintptr_t)base);
    return leave_tools(before, BG_OK);
}

/* ---- rows of batches -------------------------------------------------------------------------------------------- */

static bg_status rows(const void *base, size_t row_bytes, int64_t count, int64_t live, bool floats)
{
    const bg__batch_rows told = {(uintptr_t)base, row_bytes, count, live, floats};
    int before = enter_tools();
    bg_status status;

    if (base == NULL || row_bytes == 0 || count < 1 || live < 0 || live > count ||
        (size_t)count > (SIZE_MAX - (uintptr_t)base) / row_bytes)
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT,
                 "bg_attach_rows: invalid rows: %lld rows of %zu bytes at %p, of which %lld belong to the batch",
                 (long long)count, row_bytes, base, (long long)live);
    BG__TRY(bg__rows_set(&told));
done:
    return leave_tools(before, status);
}

static bg_status forget_rows(const void *base)
{
    int before = enter_tools();
    bg_status status = BG_OK;
    if (!bg__rows_forget((uintptr_t)base))
        BG__FAIL(BG_ERROR_NOT_FOUND, "bg_attach_forget_rows: no rows were set for memory that begins at %p", base);
done:
    return leave_tools(before, status);
}

/* ---- graphs ----------------------------------------------------------------------------------------------------- */

static int graph_count(void)
{
    int before = enter_tools(), count = bg__graph_table_count();
    (void)leave_tools(before, BG_OK);
    return count;
}

static bg_status get_graph(int index, bg_attach_graph *graph)
{
    bg_attach_graph found = BG_ATTACH_GRAPH_INIT;
    int before = enter_tools();
    bg_status status = BG_OK;

    if (graph == NULL)
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT, "bg_attach_get_graph: graph is NULL");
    if (index < 0 || !bg__graph_table_get(index, &found))
        BG__FAIL(BG_ERROR_NOT_FOUND, "bg_attach_get_graph: there is no graph %d", index);
    BG__TRY(bg__struct_copy_out(graph, &found, sizeof found, "graph", "BG_ATTACH_GRAPH_INIT"));
done:
    return leave_tools(before, status);
}

/* ---- checks ----------------------------------------------------------------------------------------------------- */

/* Fails if the thread has no context: the runtime would make one of the first device current. */
static bg_status check_context(void)
{
    CUresult (*get)(CUcontext * context) = NULL;
    CUcontext context = NULL;
    void *address = bg__shim->real("cuCtxGetCurrent");

    memcpy(&get, &address, sizeof get);
    if (bg__graph_table_count() == 0 || (get != NULL && get(&context) == CUDA_SUCCESS && context != NULL))
        return BG_OK;
    return bg__fail(BG_ERROR_CUDA,
                    "bg_attach_check: the calling thread has no CUDA context; call it where CUDA is used");
}

static bg_status check(bg_format format, int *findings, char **text)
{
    int before = enter_tools();
    bg__report_list found = {.reports = NULL};
    bg__relaxed_mode relaxed;
    bg_status status = BG_OK;

    if (text != NULL)
        *text = NULL;
    if (findings == NULL || (format != BG_TEXT && format != BG_JSON))
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT, "bg_attach_check: %s",
                 findings == NULL ? "findings is NULL" : "the format is neither BG_TEXT nor BG_JSON");
    *findings = 0;
    BG__TRY(check_context());
    bg__foreign_error_note();
    relaxed = bg__relaxed_mode_try_begin(); /* the thread may be capturing */
    status = bg__graph_table_check_all(&found);
    bg__relaxed_mode_end(relaxed);
    if (status != BG_OK)
        goto done;
    BG__TRY(bg__report_list_add_queued(&found));
    if (text != NULL)
        BG__TRY(bg__report_list_format(&found, format, text));
    *findings = bg__report_list_count(&found);
done:
    bg__report_list_free(&found);
    return leave_tools(before, status);
}

static void free_text(char *text)
{
    free(text);
}

static const bg_attach_functions functions = {
    .struct_size = sizeof functions,
    .name_next = name_next,
    .name_graph = name_graph,
    .name_memory = name_memory,
    .forget_memory = forget_memory,
    .ledger_alloc = ledger_alloc,
    .ledger_free = ledger_free,
    .graph_count = graph_count,
    .get_graph = get_graph,
    .check = check,
    .free_text = free_text,
    .last_error = bg_last_error,
    .rows = rows,
    .forget_rows = forget_rows,
};

void bg__interface_begin(void)
{
    bg__memory_names_begin();
    bg__shim->offer(&functions);
}
