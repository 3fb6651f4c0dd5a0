/* Pairs the calls of two captures, in order, if they have the same op and the same place in the program. */
#include <string.h>

#include "debug/memory/allocate.h"
#include "recapture.h"

/* Two calls with equal identities are the same call. A call whose parent has no pair equals no other call. */
typedef struct identity {
    const bg_op *op;
    const bg_site *site;
    long parent; /* index, in the second capture, of the parent (for the second capture) or of the parent's pair (for
                  * the first one) */
} identity;

typedef struct candidate {
    identity is;
    size_t at;
} candidate;

typedef struct pairing {
    bg__recapture_side *first, *second;
    candidate *candidates; /* the calls of the second capture, by identity; NULL: not needed yet */
} pairing;

static identity identity_of_first(const pairing *p, size_t at)
{
    const bg__recapture_call *call = &p->first->calls[at];
    return (identity){call->call->op, &call->call->site, p->first->calls[call->parent].pair};
}

static identity identity_of_second(const pairing *p, size_t at)
{
    const bg__recapture_call *call = &p->second->calls[at];
    return (identity){call->call->op, &call->call->site, (long)call->parent};
}

static int compare_files(const char *a, const char *b)
{
    if (a == b)
        return 0;
    if (a == NULL || b == NULL)
        return a == NULL ? -1 : 1;
    return strcmp(a, b);
}

static int compare_identities(const identity *a, const identity *b)
{
    uintptr_t x = (uintptr_t)a->op, y = (uintptr_t)b->op;
    if (x != y)
        return x < y ? -1 : 1;
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    if (a->site->line != b->site->line)
        return a->site->line < b->site->line ? -1 : 1;
    return compare_files(a->site->file, b->site->file);
}

static int compare_candidates(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    int order = compare_identities(&x->is, &y->is);
    return order != 0 ? order : (x->at > y->at) - (x->at < y->at);
}

static bool is_same_call(const pairing *p, size_t i, size_t j)
{
    identity a = identity_of_first(p, i), b = identity_of_second(p, j);
    return compare_identities(&a, &b) == 0;
}

/* ---- where the captures differ ---- */

static bg_status list_candidates(pairing *p)
{
    size_t count = p->second->call_count - 1;
    bg_status status = BG_OK;

    if (p->candidates != NULL)
        return BG_OK;
    BG__TRY(BG__ALLOCATE(p->candidates, count, "calls"));
    for (size_t i = 0; i < count; i++)
        p->candidates[i] = (candidate){identity_of_second(p, i + 1), i + 1};
    qsort(p->candidates, count, sizeof *p->candidates, compare_candidates);
done:
    return status;
}

/* The first call of the second capture, from `j` on, that equals call `i` of the first capture; call_count: none. */
static size_t find_same_call(const pairing *p, size_t i, size_t j)
{
    const candidate wanted = {identity_of_first(p, i), j};
    size_t low = 0, high = p->second->call_count - 1, count = high;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_candidates(&p->candidates[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && compare_identities(&p->candidates[low].is, &wanted.is) == 0 ? p->candidates[low].at
                                                                                      : p->second->call_count;
}

/* Moves *i and *j to the nearest pair of equal calls. If several pairs are equally near, chooses the pair that is later
 * in the first capture. If there is no pair, moves both to the ends. */
static void find_next_pair(const pairing *p, size_t *i, size_t *j)
{
    size_t left = p->first->call_count - *i, right = p->second->call_count - *j;
    size_t nearest = left + right, at_first = p->first->call_count, at_second = p->second->call_count;

    for (size_t k = 0; k < left && k <= nearest; k++) {
        size_t same = find_same_call(p, *i + k, *j);
        if (same == p->second->call_count || k + (same - *j) > nearest)
            continue;
        nearest = k + (same - *j);
        at_first = *i + k;
        at_second = same;
    }
    *i = at_first;
    *j = at_second;
}

bg_status bg__recapture_pair_calls(bg__recapture *recapture)
{
    pairing p = {&recapture->side[0], &recapture->side[1], NULL};
    size_t i = 1, j = 1;
    bg_status status = BG_OK;

    while (i < p.first->call_count && j < p.second->call_count) {
        if (is_same_call(&p, i, j)) {
            p.first->calls[i].pair = (long)j;
            p.second->calls[j].pair = (long)i;
            i++;
            j++;
        } else {
            BG__TRY(list_candidates(&p));
            find_next_pair(&p, &i, &j);
        }
    }
done:
    free(p.candidates);
    return status;
}
