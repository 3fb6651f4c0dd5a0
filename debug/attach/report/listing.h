/* What is said of each of the program's graphs: a row of "graphs" in a report (docs/report-format.md). */
#ifndef BG_ATTACH_LISTING_H
#define BG_ATTACH_LISTING_H

#include <cjson/cJSON.h>
#define HASH_NONFATAL_OOM          1
#define uthash_nonfatal_oom(added) ((added)->lost = true)
#include <uthash.h>

#include <breakgraph/attach.h>

#include "graph/inspect.h"
#include "debug/attach/stacks/stacks.h"

/* *row is the caller's. made: by whom it was instantiated; NULL: unknown. memory: bytes of the device that were taken
 * meanwhile, for other work too; 0: unknown. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__listing_row(cJSON **row, const bg_graph *graph, const bg__stack *made, size_t memory);
/* How often it was launched and updated so far. row NULL: nothing is done. */
void bg__listing_count(cJSON *row, uint64_t launches, uint64_t updates);
/* So many of its nodes were launched outside of it in so many of its launches, and so often in all. nodes 0: nothing is
 * done. */
void bg__listing_count_outside(cJSON *row, size_t nodes, uint64_t split, uint64_t outside);
/* Its other name. */
void bg__listing_name(cJSON *row, const char *name);

/* Adds to object a list of that name of the lines of text. false: out of host memory. */
bool bg__listing_add_lines(cJSON *object, const char *name, const char *text);

/* Graphs that are gone: one row for those that were alike, with the number of the others. Starts NULL. */
typedef struct bg__ended {
    struct bg__alike {
        const bg__stack *made;
        size_t nodes;
        char name[BG_ATTACH_NAME_BYTES]; /* without "#3" */
    } key;
    cJSON *row;
    bool lost;
    UT_hash_handle hh;
} bg__ended;
/* Takes row, which may be NULL. */
void bg__ended_add(bg__ended **list, cJSON *row, const bg__stack *made);

#endif
