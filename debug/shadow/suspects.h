/* Calls that differ from the eager pass, and whether that is a fault of the graph. */
#ifndef BG_DEBUG_SUSPECTS_H
#define BG_DEBUG_SUSPECTS_H

#include "call_index.h"
#include "debug/check/races.h"

typedef struct bg__suspect {
    const bg__call *call; /* of the graph */
    char field[96];       /* that varies, or that changed after the call */
    bool differs;         /* in a walk over the graph, from the kept eager run */
    bool varies;          /* between two eager runs that give it the same inputs */
    bool same_arguments;  /* in these, and in the graph */
    bool moves;      /* between walks that give it the same inputs; or only the replay differs, and it may be why */
    bool first;      /* it differs in the first walk, in the order of the graph */
    bool large;      /* something of it differs by more than rounding in a walk */
    bool order;      /* it varies with the order of its nodes alone */
    bool not_joined; /* work that its stream does not wait for writes its outputs */
    bool judged;     /* whether it varies is known */
    bool open;       /* another order of its nodes gives something else */
    unsigned long long digests[2]; /* of its outputs that differ in the first walk and the last one */
    unsigned long long counts[2];  /* how many of their elements do */
    double errors[2];              /* and by how much, at most */
    unsigned long long repeated;   /* and in the eager run that was repeated */
} bg__suspect;

/* Starts zeroed. */
typedef struct bg__suspects {
    bg__suspect *list;
    size_t count, capacity;
    bg__call_index index;
    int walk;        /* 0: the first; each of the others has an order of its own */
    bg__race *races; /* of the graph */
    size_t race_count, race_capacity;
    bg_status race_status; /* of listing them */
    bool listed;           /* races is filled in */
    bool order;            /* the replay differs, but call by call nothing does */
} bg__suspects;

/* NULL: no such call is suspected. */
bg__suspect *bg__suspects_find(const bg__suspects *suspects, const char *name);
/* The suspect of that name, added if there is none; *suspect is valid until the next one is added. */
bg_status bg__suspects_get(bg__suspects *suspects, const bg__call *call, bg__suspect **suspect);
void bg__suspects_free(bg__suspects *suspects);

bg_status bg__suspects_list_races(bg__suspects *suspects, const bg_graph *graph);

/* Whether the call gives other outputs by itself in each run: one that is a break, with the same arguments; a captured
 * one, if replays differ, too. What a capture froze is the same in every replay. */
bool bg__suspect_varies_itself(const bg__suspect *suspect);
/* Whether a difference of the call says nothing about what the graph froze: it varies by itself, or depends on calls
 * without an order, or on work that is not joined. */
bool bg__suspects_excuse(const bg__suspects *suspects, const bg_graph *graph, const bg__call *call);
/* Whether there are calls that differ or vary, and all of them vary by themselves. */
bool bg__suspects_only_vary(const bg__suspects *suspects);

/* Whether what differs comes, as far as known, of calls that do not wait for each other. */
bool bg__suspects_blame_order(const bg__suspects *suspects);
/* Adds the causes that are no single call's: "race". */
void bg__suspects_tell_order(const bg__suspects *suspects, const bg_graph *graph, bg_report *report);
/* Adds for each call that varies by itself a note: "not-repeatable" if it is a break, else "nondeterministic". */
bg_status bg__suspects_tell_repeats(const bg__suspects *suspects, const bg_graph *graph, bg_report *report);
/* Adds a note "nondeterministic" at the first call that varies for another reason. */
bg_status bg__suspects_tell_varying(const bg__suspects *suspects, const bg_graph *graph, bg_report *report);

#endif
