#include "graph_inputs.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/attach/report/process_findings.h"
#include "debug/report/process_report.h"
#include "use_history.h"

enum { LISTED_MAX = 6, TEXT_BYTES = 1600 };

typedef struct item {
    uintptr_t begin, end;
    bool is_input, is_result;    /* if both, the memory carries data from launch to launch */
    bool is_scratch;             /* the graph reads what it writes */
    bool is_certain;             /* the graph certainly reads it; else it may read it */
    const char *reader, *writer; /* nodes; NULL: none */
    bg_site site;                /* of the reader; if there is none, of the writer */
    unsigned long written;       /* number of launches with a write by others since the launch before */
    unsigned long maybe;         /* number of launches with only a possible write by others since the launch before */
    const char *perhaps;         /* the last work that may have written it */
    unsigned long lost;          /* number of launches that found the result of the launch before still unread */
    bg__memory_user last;        /* the last writer outside of this graph; name NULL: none was seen */
} item;

struct bg__graph_inputs {
    item *list;
    size_t count, capacity;
    unsigned long launches;
    uint64_t order;   /* bg__history_last_order at the last launch */
    size_t nodes;     /* number of nodes that use device memory */
    const char *node; /* the last such node */
    bool reported, updated;
};

static bool is_enabled;

void bg__graph_inputs_enable(bool wanted)
{
    is_enabled = wanted;
}

void bg__graph_inputs_free(bg__graph_inputs *inventory)
{
    if (inventory != NULL)
        free(inventory->list);
    free(inventory);
}

/* Only device memory is listed, since the program writes host memory without a call. */
static bool is_device_memory(uintptr_t address)
{
    struct cudaPointerAttributes about = {.type = cudaMemoryTypeUnregistered};
    cudaError_t error = cudaPointerGetAttributes(&about, (const void *)address);
    bg__clear_cuda_error(error);
    return error == cudaSuccess && about.type == cudaMemoryTypeDevice;
}

static item *find_item(const bg__graph_inputs *inventory, uintptr_t begin)
{
    for (size_t i = 0; i < inventory->count; i++)
        if (inventory->list[i].begin <= begin && begin < inventory->list[i].end)
            return &inventory->list[i];
    return NULL;
}

static void record_read(item *i, bool is_certain, const char *name, bg_site site)
{
    const bool is_written = i->writer != NULL && i->writer != name; /* a node reads before it writes */

    if (!is_written && i->reader == NULL) {
        i->reader = name;
        i->site = site;
        i->is_input = true;
    }
    i->is_certain = i->is_certain || is_certain;
    i->is_scratch = i->is_scratch || is_written;
}

bg_status bg__graph_inputs_add_use(bg__graph_inputs **inventory, uintptr_t begin, uintptr_t end, bg__access_kind use,
                                   const char *name, bg_site site)
{
    bg__graph_inputs *v = *inventory;
    bg_status status = BG_OK;
    item *i;

    if (!is_enabled || !is_device_memory(begin))
        return BG_OK;
    if (v == NULL)
        v = *inventory = calloc(1, sizeof *v);
    if (v == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the inputs of a graph");
    v->nodes += v->node != name;
    v->node = name;
    i = find_item(v, begin);
    if (i == NULL) {
        BG__TRY(BG__ARRAY_GROW(v->list, v->count, v->capacity, "inputs of a graph"));
        i = &v->list[v->count++];
        *i = (item){.begin = begin, .end = end};
    }
    if (use != BG__ACCESS_WRITE) {
        record_read(i, use == BG__ACCESS_READ, name, site);
        goto done;
    }
    if (i->writer == NULL && i->reader == NULL)
        i->site = site;
    i->writer = i->writer != NULL ? i->writer : name;
    i->is_result = true;
done:
    return status;
}

static bool have_equal_items(const bg__graph_inputs *one, const bg__graph_inputs *other)
{
    bool alike = one->count == other->count;
    for (size_t k = 0; k < one->count && alike; k++)
        alike = one->list[k].begin == other->list[k].begin && one->list[k].is_input == other->list[k].is_input &&
                one->list[k].is_result == other->list[k].is_result;
    return alike;
}

void bg__graph_inputs_replace(bg__graph_inputs **inventory, bg__graph_inputs *before)
{
    bg__graph_inputs *v = *inventory;

    if (before == NULL)
        return;
    if (v != NULL && have_equal_items(v, before)) {
        bg__graph_inputs_free(v);
        *inventory = before;
        return;
    }
    if (v != NULL)
        v->updated = before->updated || before->launches > 0;
    bg__graph_inputs_free(before);
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static void count_writes(const bg__graph_inputs *v, item *i, uint64_t owner)
{
    const bg__last_write by = bg__history_last_write(i->begin, i->end, owner, v->order);
    const bool is_known = by.user.name != NULL, by_others = is_known && by.user.owner != owner;

    if (by_others && by.order > v->order)
        i->written++;
    else if (by.perhaps != NULL)
        i->maybe++;
    if (by_others)
        i->last = by.user;
    if (by.perhaps != NULL)
        i->perhaps = by.perhaps;
    if (v->launches > 0 && is_known && !by_others && by.is_unread)
        i->lost++;
}

void bg__graph_inputs_record_launch(bg__graph_inputs *v, uint64_t owner)
{
    if (v == NULL)
        return;
    if (v->launches == 0 && !v->updated)
        bg__process_report_add_checked("inputs", 0, v->nodes);
    for (size_t k = 0; k < v->count; k++)
        count_writes(v, &v->list[k], owner);
    v->launches++;
    v->order = bg__history_last_order();
}

/* ---- notes ------------------------------------------------------------------------------------------------------- */

typedef struct list {
    char text[TEXT_BYTES];
    size_t used;
    unsigned long count;
    const item *first;
} list;

static __attribute__((format(printf, 2, 3))) void append_text(list *l, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    if (l->used < sizeof l->text)
        l->used += (size_t)vsnprintf(l->text + l->used, sizeof l->text - l->used, format, values);
    va_end(values);
}

static void append_writer(list *l, const item *i)
{
    if (i->last.name == NULL)
        return;
    append_text(l, ", last written by %s", i->last.name);
    if (i->last.graph != NULL)
        append_text(l, " of %s", i->last.graph);
    if (i->last.site.file != NULL)
        append_text(l, i->last.site.line > 0 ? " at %s:%d" : " at %s", i->last.site.file, i->last.site.line);
}

static void append_item(list *l, const item *i, const char *node)
{
    if (l->count++ == 0)
        l->first = i;
    if (l->count > LISTED_MAX)
        return;
    append_text(l, "%s%p of %s", l->count > 1 ? "; " : "", (const void *)i->begin, node);
    if (!i->is_certain && i->is_input)
        append_text(l, ", which may read it");
}

static void report_list(list *l, const bg__graph_inputs *v, const char *graph, const char *what, const char *advice)
{
    const char *node;
    char message[TEXT_BYTES + 300], subject[200];

    if (l->count == 0)
        return;
    if (l->count > LISTED_MAX)
        append_text(l, "; and %lu more", l->count - LISTED_MAX);
    node = l->first->reader != NULL ? l->first->reader : l->first->writer;
    snprintf(message, sizeof message, "in %lu launch%s of %s%s, %s: %s", v->launches, v->launches == 1 ? "" : "es",
             graph, v->updated ? " since its last update" : "", what, l->text);
    snprintf(subject, sizeof subject, "%s %s", graph, what);
    bg__attach_report_once_at("inputs", BG_NOTE, subject, node, l->first->site, advice, message);
}

static void report_inputs(const bg__graph_inputs *v, const char *graph)
{
    list refreshed = {.used = 0}, kept = {.used = 0}, carried = {.used = 0};

    for (size_t k = 0; k < v->count; k++) {
        const item *i = &v->list[k];
        const bool is_refreshed = i->written + i->maybe >= v->launches;
        list *l = i->is_result ? &carried : is_refreshed ? &refreshed : &kept;
        if (!i->is_input || (l == &carried && is_refreshed))
            continue;
        append_item(l, i, i->reader);
        if (l->count > LISTED_MAX)
            continue;
        if (l != &refreshed && i->written > 0)
            append_text(l, ", before %lu", i->written);
        else if (l != &refreshed)
            append_text(l, ", before none");
        if (i->maybe > 0)
            append_text(l, ", and perhaps before %lu by %s", i->maybe, i->perhaps);
        append_writer(l, i);
    }
    report_list(&refreshed, v, graph, "others write these inputs before each",
                "check that this list has every input that changes with each batch or step");
    report_list(
        &kept, v, graph, "others do not write these inputs before each",
        "before each launch, write the inputs that change with the batch or step; weights and caches need no write");
    report_list(&carried, v, graph, "these are carried from launch to launch",
                "set the values that each launch must start with, such as flags and counters, before the launch or "
                "in the graph");
}

static void report_lost_results(const bg__graph_inputs *v, const char *graph)
{
    list lost = {.used = 0};

    for (size_t k = 0; k < v->count; k++) {
        const item *i = &v->list[k];
        if (!i->is_result || i->is_input || i->is_scratch || i->lost == 0)
            continue;
        append_item(&lost, i, i->writer);
        if (lost.count <= LISTED_MAX)
            append_text(&lost, ", before %lu", i->lost);
    }
    report_list(&lost, v, graph, "these results were overwritten, and no read of them was seen before",
                "copy a result that is still needed before the next launch (in PyTorch: clone)");
}

void bg__graph_inputs_report(bg__graph_inputs *v, const char *graph)
{
    if (v == NULL || v->reported)
        return;
    v->reported = true;
    if (v->launches == 0)
        return;
    report_inputs(v, graph);
    report_lost_results(v, graph);
}
