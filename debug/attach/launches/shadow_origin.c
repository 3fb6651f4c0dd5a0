#include "shadow_origin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/memory/allocate.h"

enum { PAGES_MAX = 1 << 16, WORD = 8, HALF = 4, NOBODY = 0, WORD_BYTES = BG__REAL_BYTES + 20 };

/* What differing memory holds: every four bytes of it, a float or two of 16 bits, or digests of its pages where there
 * is more than BYTES_MAX. Of single bytes, the next value of a number often has some, too. */
typedef unsigned long long unit;
static const size_t BYTES_MAX = (size_t)PAGES_MAX * WORD;

typedef struct origin {
    bg__runs *runs;
    const bg__spans *differing;
    size_t bytes;        /* of a unit: HALF, or those of a page */
    size_t count;        /* of units */
    bg__snapshot left;   /* by the graph's launch, wherever it or a run of the nodes has changed memory */
    unit *graph, *alone; /* what both leave */
    size_t *writer;      /* of each unit: the place in the order, from 1, of the last node that changed it */
} origin;

static size_t count_units(const origin *o, const bg__span *span)
{
    return (span->end - span->begin + o->bytes - 1) / o->bytes;
}

static bg_status read_words_of(const origin *o, uint32_t *to)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < o->differing->count; i++) {
        const bg__span *span = &o->differing->list[i];
        BG__TRY_CUDA(cudaMemcpyAsync(to, (const void *)span->begin, span->end - span->begin, cudaMemcpyDefault,
                                     o->runs->stream));
        to += count_units(o, span);
    }
    BG__TRY_CUDA(cudaStreamSynchronize(o->runs->stream));
done:
    return status;
}

static bg_status take_words(const origin *o, unit *units)
{
    uint32_t *words = NULL;
    bg_status status;

    BG__TRY(BG__ALLOCATE(words, o->count, "words"));
    BG__TRY(read_words_of(o, words));
    for (size_t i = 0; i < o->count; i++)
        units[i] = words[i];
done:
    free(words);
    return status;
}

static bg_status take_units(const origin *o, unit *units)
{
    bg__digests digests = {0};
    bg_status status;

    if (o->bytes == HALF)
        return take_words(o, units);
    BG__TRY(bg__digests_compute(&digests, o->differing, o->bytes, o->runs->stream));
    memcpy(units, digests.list, o->count * sizeof *units);
done:
    bg__digests_free(&digests);
    return status;
}

static void choose_units(origin *o)
{
    size_t bytes = bg__spans_bytes(o->differing);
    o->bytes = bytes <= BYTES_MAX ? HALF : (bytes / PAGES_MAX + WORD) / WORD * WORD;
    for (size_t i = 0; i < o->differing->count; i++)
        o->count += count_units(o, &o->differing->list[i]);
}

/* The nodes one by one, and what each of them changes. */
static bg_status walk(origin *o)
{
    const bg__runs *r = o->runs;
    unit *before = NULL;
    bg_status status;

    BG__TRY(BG__ALLOCATE(before, o->count, "words"));
    BG__TRY(bg__image_restore(&r->image, r->stream));
    BG__TRY(take_units(o, o->alone));
    for (size_t i = 0; i < r->order.count; i++) {
        memcpy(before, o->alone, o->count * sizeof *before);
        BG__TRY(bg__serial_run(&r->order, &r->steps[i], 1, r->stream));
        BG__TRY(take_units(o, o->alone));
        for (size_t u = 0; u < o->count; u++)
            if (o->alone[u] != before[u])
                o->writer[u] = i + 1;
    }
done:
    free(before);
    return status;
}

/* The first node in the order that left other bytes, the index of its first such unit, and how many there are; NOBODY:
 * no node changes those when it runs alone. */
static size_t find_first(const origin *o, size_t *at, size_t *units)
{
    size_t first = NOBODY;

    *at = *units = 0;
    for (size_t u = 0; u < o->count; u++) {
        size_t writer = o->writer[u];
        if (o->graph[u] == o->alone[u] || (first != NOBODY && (writer == NOBODY || writer > first)))
            continue;
        if (first == NOBODY || writer < first) {
            *at = u;
            *units = 0;
            first = writer;
        }
        ++*units;
    }
    return first;
}

static uintptr_t address_of(const origin *o, size_t at)
{
    const bg__span *span = o->differing->list;
    for (; at >= count_units(o, span); span++)
        at -= count_units(o, span);
    return span->begin + at * o->bytes;
}

/* "0x3f800000 (1.0)" */
static const char *word_text(uint32_t word, char *text, size_t bytes)
{
    char real[BG__REAL_BYTES];
    if (bg__format_if_real(&word, sizeof word, real))
        snprintf(text, bytes, "0x%08x (%s)", word, real);
    else
        snprintf(text, bytes, "0x%08x", word);
    return text;
}

/* "0x3f800000 (1) in the graph, 0x40000000 (2) alone": the four bytes at an address; "" where all that is known is a
 * page. */
static bg_status read_words(const origin *o, uintptr_t address, char *text, size_t bytes)
{
    uint32_t graph, alone;
    char one[WORD_BYTES], other[WORD_BYTES];
    const void *copy = bg__snapshot_find(&o->left, address, address + HALF);
    bg_status status = BG_OK;

    text[0] = '\0';
    if (o->bytes > HALF || copy == NULL)
        return BG_OK;
    BG__TRY_CUDA(cudaMemcpyAsync(&graph, copy, HALF, cudaMemcpyDefault, o->runs->stream));
    BG__TRY_CUDA(cudaMemcpyAsync(&alone, (const void *)address, HALF, cudaMemcpyDefault, o->runs->stream));
    BG__TRY_CUDA(cudaStreamSynchronize(o->runs->stream));
    snprintf(text, bytes, ": %s in the graph, %s alone", word_text(graph, one, sizeof one),
             word_text(alone, other, sizeof other));
done:
    return status;
}

static bg_status report(const origin *o)
{
    size_t at, units, first = find_first(o, &at, &units);
    const bg__node *node = first != NOBODY ? o->runs->order.nodes[o->runs->steps[first - 1]] : NULL;
    uintptr_t address = address_of(o, at);
    char words[160];
    bg_status status = BG_OK;

    if (node != NULL && node->call != NULL &&
        bg__report_has_finding(o->runs->attached->report, "mismatch-origin", node->call->name))
        return BG_OK;
    BG__TRY(read_words(o, address, words, sizeof words));
    if (node == NULL)
        bg__report_add(
            o->runs->attached->report, "mismatch", BG_WARNING, NULL, (const void *)address,
            "look for what else writes there: another stream, a host function",
            "a launch left other bytes than its nodes one after the other, but none of them writes there: up to %zu "
            "bytes, the first at %p%s",
            units * o->bytes, (const void *)address, words);
    else
        bg__report_add(
            o->runs->attached->report, "mismatch-origin", BG_WARNING, node->call, (const void *)address,
            "breakgraph check --attach --what=orders finds which of the nodes lack an order",
            "%s left other bytes in a launch of the graph than where its nodes ran one after the other from the "
            "same memory: up to %zu bytes, the first at %p%s; no node before it did, as far as nothing overwrote "
            "that later",
            node->call != NULL ? node->call->name : bg__node_kind(node), units * o->bytes, (const void *)address,
            words);
done:
    return status;
}

static bg_status find(origin *o)
{
    bg_status status;

    choose_units(o);
    BG__TRY(BG__ALLOCATE(o->graph, o->count, "words"));
    BG__TRY(BG__ALLOCATE(o->alone, o->count, "words"));
    BG__TRY(BG__ALLOCATE(o->writer, o->count, "words"));
    BG__TRY(take_units(o, o->graph));
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
    free(o.graph);
    free(o.alone);
    free(o.writer);
    return status;
}
