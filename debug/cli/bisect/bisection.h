/* A bisect across processes: what its parts share. */
#ifndef BG_CLI_BISECTION_H
#define BG_CLI_BISECTION_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "debug/cli/arguments/command.h"
#include "debug/cli/output/exits.h"

typedef struct cli_bisection {
    char *const *argv;
    const cli_arguments *arguments;
    const char *check, *tolerance, *only, *html, *state; /* NULL where not given, but for state */
    bool shadow, fresh, json, keep;
    int count, ranks;
    bool oversubscribe;
    double timeout;
    char *place, *base; /* BG_EAGER_OPS as the program would have it, without "@" */

    cJSON *root;           /* what the state file holds */
    cJSON *calls, *trials; /* in it: candidates, {name, op, file, line}; verdicts */
    const char **names;    /* of calls */
    size_t name_count;
    size_t replayed; /* trials that came from the state file */
    size_t next;     /* the trial that is next */
    int wanted;      /* about how many there will be, 0: not known */
    double seconds;  /* of the last trial */

    size_t *culprits, found;
    bool confirmed, unjudged; /* the culprits captured alone: bad; tells nothing */
    bool searched;            /* the culprits are known, and were captured alone */
    char sentence[512];       /* what came out, where it is no culprit */
} cli_bisection;

/* The sentence, and status back. */
cli_status cli_bisect_end(cli_bisection *b, cli_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What a trial is for. */
typedef enum cli_why { CLI_AS_IS, CLI_FORWARD, CLI_ALL_EAGER, CLI_SEARCH, CLI_CONFIRM } cli_why;
extern const char *const cli_why_names[];

/* BG_EAGER_OPS for these of calls; the caller frees it. NULL: out of host memory. */
char *cli_eager_list(const cli_bisection *b, const bool *eager);

#endif
