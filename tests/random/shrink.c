#include "shrink.h"

#include <string.h>

#include "model.h"

typedef struct hunt {
    program *best;
    failure *failure;
    failure_kind kind;
    way where;
    int runs;
} hunt;

/* Other instructions run under another schedule, whatever its seed: a few are tried. */
enum { SCHEDULES = 4 };

/* Keeps the candidate if it is legal and fails in the same way. */
static bool try(hunt *h, program *candidate)
{
    uint64_t schedule = candidate->schedule;
    failure f;

    if (!repair(candidate))
        return false;
    for (int i = 0; i < SCHEDULES; i++) {
        candidate->schedule = i == 0 ? schedule : (uint64_t)i;
        h->runs++;
        if (run_program(candidate, &f) || f.kind != h->kind || f.where != h->where)
            continue;
        *h->best = *candidate;
        *h->failure = f;
        return true;
    }
    return false;
}

/* Zeller and Hildebrandt 2002, "Simplifying and isolating failure-inducing input": pieces of falling size are taken
 * away. What stays is repaired, so that a fork goes with all that depended on it. */
static bool take_away(hunt *h)
{
    bool any = false;
    for (int size = h->best->length / 2; size > 0; size /= 2) {
        for (int at = 0; at < h->best->length;) {
            program candidate = *h->best;
            int end = at + size < candidate.length ? at + size : candidate.length;
            memmove(&candidate.list[at], &candidate.list[end],
                    (size_t)(candidate.length - end) * sizeof candidate.list[0]);
            candidate.length -= end - at;
            if (repair(&candidate) && candidate.length < h->best->length && try(h, &candidate))
                any = true;
            else
                at += size;
        }
    }
    return any;
}

/* Whether that changes anything. */
#define SET(member, value) ((member) != (value) && ((member) = (value), true))

enum { OPTIONS = 22 + WAY_COUNT };

/* The option-th option as it is by default; false: it is so already, or there are no more. */
static bool simplify_option(program *p, int option)
{
    switch (option) {
    case 0: return SET(p->debug, BG_DEBUG_OFF);
    case 1: return SET(p->pattern_count, 0);
    case 2: return SET(p->breakable, true);
    case 3: return SET(p->launch, true);
    case 4: return SET(p->state, false);
    case 5: return SET(p->join_at_end, false);
    case 6: return SET(p->queued, false);
    case 7: return SET(p->churn, false);
    case 8: return SET(p->move, 1);
    case 9: return SET(p->mode, cudaStreamCaptureModeThreadLocal);
    case 10: return SET(p->replays, 1);
    case 11: return p->replays > 2 && SET(p->replays, 2);
    case 12: return SET(p->debug_from_environment, false);
    case 13: return SET(p->patterns_from_environment, false);
    case 14: return SET(p->whole, p->debug == BG_DEBUG_FORWARD);
    case 15: return SET(p->barriers, false);
    case 16: return SET(p->workers, 0);
    case 17: return SET(p->upload, false);
    case 18: return SET(p->zero_tail, false);
    case 19: return SET(p->pool, false);
    case 20: return SET(p->faults, FAULTS_NONE);
    case 21: return p->faults > FAULTS_RETURNED && SET(p->faults, FAULTS_RETURNED);
    default: return option < OPTIONS && SET(p->ways, p->ways & ~(1u << (option - OPTIONS + WAY_COUNT)));
    }
}

/* The same of an instruction. */
static bool simplify_instruction(instruction *in, int part)
{
    switch (part) {
    case 0: return SET(in->place, PLACE_HERE);
    case 1: return SET(in->change_value, false);
    case 2: return SET(in->change_input, -1);
    case 3: return in->kind != WAIT && SET(in->stream, 0);
    case 4: return SET(in->variant, 0);
    case 5: return SET(in->eager, op_shapes[in->op].only_eager);
    case 6: return SET(in->in[1], in->in[0]);
    case 7: return in->place == PLACE_ROUND && SET(in->place, PLACE_SOME);
    case 8: return SET(in->shorter, SHORTER_NEVER);
    case 9: return SET(in->failing, FAILING_NEVER);
    case 10: return SET(in->line, in->id);
    default: return false;
    }
}
enum { PARTS = 11 };

static bool simplify(hunt *h)
{
    bool any = false;
    for (int option = 0; option < OPTIONS; option++) {
        program candidate = *h->best;
        any |= simplify_option(&candidate, option) && try(h, &candidate);
    }
    for (int part = 0; part < PARTS; part++) {
        for (int i = 0; i < h->best->length; i++) {
            program candidate = *h->best;
            if (simplify_instruction(&candidate.list[i], part) && repair(&candidate) &&
                candidate.length <= h->best->length)
                any |= try(h, &candidate);
        }
    }
    return any;
}

int shrink(program *p, failure *f)
{
    hunt h = {p, f, f->kind, f->where, 0};
    bool any = true;
    while (any && h.runs < 20000) {
        any = take_away(&h);
        any |= simplify(&h);
    }
    return h.runs;
}
