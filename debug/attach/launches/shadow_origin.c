#include "shadow_origin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/memory/allocate.h"

enum { PAGES_MAX = 1 << 16, WORD = 8, NOBODY = 0, WORD_BYTES = BG__REAL_BYTES + 20 };

typedef struct origin {
    bg__runs *runs;
    const bg__spans *differing;
    size_t page;
    bg__snapshot left;        /* by the graph's launch, wherever it or a run of the nodes has changed memory */
    bg__digests graph, alone; /* what both leave */
    size_t *writer;           /* of each page: the place in the order, from 1, of the last node that changed it */
} origin;

/* The nodes one by one, and what each of them changes. */
static bg_status walk(origin *o)
{
    const bg__runs *r = o->runs;
    bg__digests now = {0}, before = {0};
    bg_status status;

    BG__TRY(bg__image_restore(&r->image, r->stream));
    BG__TRY(bg__digests_take(&before, o->differing, o->page, r->stream));
    BG__TRY(BG__ALLOCATE(o->writer, before.count, "pages"));
    for (size_t i = 0; i < r->order.count; i++) {
        bg__digests last = before;
        BG__TRY(bg__serial_run(&r->order, &r->steps[i], 1, r->stream));
        BG__TRY(bg__digests_take(&now, o->differing, o->page, r->stream));
        for (size_t p = 0; p < now.count; p++)
            if (now.list[p] != before.list[p])
                o->writer[p] = i + 1;
        before = now;
        now = last;
    }
    o->alone = before;
    before = (bg__digests){0};
done:
    bg__digests_free(&now);
    bg__digests_free(&before);
    return status;
}

/* The first node in the order that left other bytes, the index of its first such page, and how many there are; NOBODY:
 * no node changes those pages when it runs alone. */
static size_t find_first(const origin *o, size_t *page, size_t *pages)
{
    size_t first = NOBODY;

    *page = *pages = 0;
    for (size_t p = 0; p < o->graph.count; p++) {
        size_t writer = o->writer[p];
        if (o->graph.list[p] == o->alone.list[p] || (first != NOBODY && (writer == NOBODY || writer > first)))
            continue;
        if (first == NOBODY || writer < first) {
            *page = p;
            *pages = 0;
            first = writer;
        }
        ++*pages;
    }
    return first;
}

static uintptr_t address_of(const origin *o, size_t page)
{
    const bg__span *span = o->differing->list;
    for (;; span++) {
        size_t pages = (span->end - span->begin + o->page - 1) / o->page;
        if (page < pages)
            return span->begin + page * o->page;
        page -= pages;
    }
}

/* "0x3f800000 (1.0)" */
static const char *word_text(uint32_t word, char *text, size_t bytes)
{
    char real[BG__REAL_BYTES];
    if (bg__real_guess(&word, sizeof word, real))
        snprintf(text, bytes, "0x%08x (%s)", word, real);
    else
        snprintf(text, bytes, "0x%08x", word);
    return text;
}

/* "0x3f800000 (1) in the graph, 0x40000000 (2) alone": the first four bytes that differ behind an address; "" where a
 * page is no single word. */
static bg_status read_words(const origin *o, uintptr_t address, char *text, size_t bytes)
{
    uint32_t graph[2], alone[2];
    char one[WORD_BYTES], other[WORD_BYTES];
    const void *copy = bg__snapshot_find(&o->left, address, address + WORD);
    int at;
    bg_status status = BG_OK;

    text[0] = '\0';
    if (o->page > WORD || copy == NULL)
        return BG_OK;
    BG__TRY_CUDA(cudaMemcpyAsync(graph, copy, WORD, cudaMemcpyDefault, o->runs->stream));
    BG__TRY_CUDA(cudaMemcpyAsync(alone, (const void *)address, WORD, cudaMemcpyDefault, o->runs->stream));
    BG__TRY_CUDA(cudaStreamSynchronize(o->runs->stream));
    at = graph[0] == alone[0];
    snprintf(text, bytes, ": %s in the graph, %s alone", word_text(graph[at], one, sizeof one),
             word_text(alone[at], other, sizeof other));
done:
    return status;
}

static bg_status report(const origin *o)
{
    size_t page, pages, first = find_first(o, &page, &pages);
    const bg__node *node = first != NOBODY ? o->runs->order.nodes[o->runs->steps[first - 1]] : NULL;
    uintptr_t address = address_of(o, page);
    char words[160];
    bg_status status = BG_OK;

    if (node != NULL && node->call != NULL &&
        bg__report_has(o->runs->attached->report, "mismatch-origin", node->call->name))
        return BG_OK;
    BG__TRY(read_words(o, address, words, sizeof words));
    if (node == NULL)
        bg__report_add(
            o->runs->attached->report, "mismatch", BG_WARNING, NULL, (const void *)address,
            "look for what else writes there: another stream, a host function",
            "a launch left other bytes than its nodes one after the other, but none of them writes there: up to "
            "%zu bytes, the first at %p%s",
            pages * o->page, (const void *)address, words);
    else
        bg__report_add(
            o->runs->attached->report, "mismatch-origin", BG_WARNING, node->call, (const void *)address,
            "breakgraph check --attach --what=orders finds which of the nodes lack an order",
            "%s left other bytes in a launch of the graph than where its nodes ran one after the other from the "
            "same memory: up to %zu bytes, the first at %p%s; no node before it did, as far as nothing "
            "overwrote that later",
            node->call != NULL ? node->call->name : bg__node_kind(node), pages * o->page, (const void *)address, words);
done:
    return status;
}

static bg_status find(origin *o)
{
    const bg__runs *r = o->runs;
    size_t page = bg__spans_bytes(o->differing) / PAGES_MAX / WORD * WORD;
    bg_status status;

    o->page = page > WORD ? page : WORD;
    BG__TRY(bg__digests_take(&o->graph, o->differing, o->page, r->stream));
    BG__TRY(walk(o));
    BG__TRY(report(o));
done:
    return status;
}

/* What the walk will change; else the program would get some memory of the launch, and some of the walk. */
static bg_status keep_left(origin *o, const bg__digests *launch)
{
    const bg__runs *r = o->runs;
    bg__spans changed = {0};
    bg_status status;

    BG__TRY(bg__digests_compare(&r->image.digests, launch, &r->image.reach, &changed));
    BG__TRY(bg__digests_compare(&r->image.digests, &r->result, &r->image.reach, &changed));
    BG__TRY(bg__spans_add_all(&changed, &r->unstable));
    BG__TRY(bg__snapshot_add_all(&o->left, &changed, r->stream));
done:
    bg__spans_free(&changed);
    return status;
}

bg_status bg__shadow_find_origin(bg__runs *r, const bg__spans *differing, const bg__digests *launch)
{
    origin o = {.runs = r, .differing = differing};
    bg_status status, restored;

    BG__TRY(keep_left(&o, launch));
    status = find(&o);
    restored = bg__snapshot_restore(&o.left, NULL, r->stream);
    status = status != BG_OK ? status : restored;
done:
    bg__snapshot_free(&o.left);
    bg__digests_free(&o.graph);
    bg__digests_free(&o.alone);
    free(o.writer);
    return status;
}
