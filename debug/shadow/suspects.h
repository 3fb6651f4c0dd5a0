/* Calls that differ from the eager pass, and whether that is a fault of the graph. */
#ifndef BG_DEBUG_SUSPECTS_H
#define BG_DEBUG_SUSPECTS_H

#include "call_index.h"
#include "debug/check/races.h"

typedef struct bg__suspect {
    const bg__call *call; /* of the graph */
    char field[96];       /* the field that varies, or that changed after the call */
    bool differs;         /* in a walk over the graph, compared with the kept eager run */
    bool varies;          /* between two eager runs with the same inputs */
    bool same_arguments;  /* arguments are the same in these runs and in the graph */
    bool moves;           /* it differs between walks with the same inputs, or may be why only the replay differs */
    bool first;           /* it differs in the first walk, in the order of the graph */
    bool large;           /* it differs by more than rounding in a walk */
    bool order;           /* it varies only with the order of its nodes */
    bool not_joined;      /* its outputs are written by work that its stream does not wait for */
    bool judged;          /* it is known whether it varies */
    bool open;            /* another order of its nodes gives another result */
    unsigned long long digests[2]; /* digests of its differing outputs in the first and the last walk */
    unsigned long long counts[2];  /* how many of their elements differ */
    double errors[2];              /* the largest error */
    unsigned long long repeated;   /* the digest in the repeated eager run */
} bg__suspect;

/* Starts zeroed. */
typedef struct bg__suspects {
    bg__suspect *list;
    size_t count, capacity;
    bg__call_index index;
    int walk;        /* 0: the first walk; each other walk has an order of its own */
    bg__race *races; /* of the graph */
    size_t race_count, race_capacity;
    bg_status race_status; /* status of listing the races */
    bool listed;           /* the races are listed */
    bool order;            /* the replay differs, and no call does when run one by one */
} bg__suspects;

/* NULL: no such call is suspected. */
bg__suspect *bg__suspects_find(const bg__suspects *suspects, const char *name);
/* Finds the suspect of that name, or adds it. *suspect is valid until the next one is added. */
bg_status bg__suspects_find_or_add(bg__suspects *suspects, const bg__call *call, bg__suspect **suspect);
void bg__suspects_free(bg__suspects *suspects);

bg_status bg__suspects_list_races(bg__suspects *suspects, const bg_graph *graph);

/* Whether the outputs of the call vary from run to run. A break must vary with the same arguments, and a captured call
 * in replays as well: what a capture froze is the same in every replay. */
bool bg__suspect_varies_itself(const bg__suspect *suspect);
/* Whether a difference of the call says nothing about the graph: the call varies by itself, or depends on calls without
 * an order, or on work that is not joined. */
bool bg__suspects_is_excused(const bg__suspects *suspects, const bg_graph *graph, const bg__call *call);
/* Whether there are calls that differ or vary, and all of them vary by themselves. */
bool bg__suspects_all_vary(const bg__suspects *suspects);

/* Whether calls that do not wait for each other explain the difference, as far as known. */
bool bg__suspects_order_is_cause(const bg__suspects *suspects);
/* Adds "race" for causes that are not in a single call. */
void bg__suspects_report_races(const bg__suspects *suspects, const bg_graph *graph, bg_report *report);
/* Adds a note for each call that varies by itself: "not-repeatable" for a break, otherwise "nondeterministic". */
bg_status bg__suspects_report_varying_calls(const bg__suspects *suspects, const bg_graph *graph, bg_report *report);
/* Adds a note "nondeterministic" on the first call that varies and is not excused. */
bg_status bg__suspects_report_first_varying(const bg__suspects *suspects, const bg_graph *graph, bg_report *report);

#endif
