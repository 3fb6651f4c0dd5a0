/* The state of a bisect across processes. */
#ifndef BG_CLI_BISECTION_H
#define BG_CLI_BISECTION_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "debug/cli/arguments/command.h"
#include "debug/cli/output/exits.h"

typedef struct cli_bisection {
    char *const *argv;
    const cli_arguments *arguments;
    const char *check, *tolerance, *only, *html, *state; /* NULL: not given; state has a default */
    bool attached; /* calls are nodes of a program that does not use the library; eager: outside of their graph */
    bool compiled; /* calls are runs of calls that rules have fused; eager: not fused */
    bool shadow, fresh, json, keep;
    int count, ranks;
    bool oversubscribe;
    double timeout;
    char *place, *base; /* base: the program's own BG_EAGER_OPS or BG_COMPILE_OPS, without "@" */

    cJSON *root;           /* the contents of the state file */
    cJSON *calls, *trials; /* members of root. calls: the candidates, {name, op, file, line}; trials: the verdicts */
    const char **names;    /* of calls */
    size_t name_count;
    size_t replayed; /* trials in the state file when the command began */
    size_t next;     /* index of the next trial */
    int wanted;      /* the expected number of trials; 0: not known */
    double seconds;  /* of the last trial */

    size_t *culprits, found;
    bool confirmed;     /* in each trial: bad with only the culprits captured, good with only them eager */
    bool order;         /* the program is good if the work of a replay runs in series: the fault is a missing order */
    bool runner;        /* the program has a runner */
    bool without_graph; /* bad without a graph, too */
    bool searched;      /* the search and the confirmation have ended */
    char sentence[512]; /* the result if there are no culprits */
} cli_bisection;

/* Trials with only the culprits captured. */
enum { CLI_CONFIRMATIONS = 3 };

/* Sets the sentence and returns status. */
cli_status cli_bisect_set_sentence(cli_bisection *b, cli_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The purpose of a trial. */
typedef enum cli_trial_purpose {
    CLI_AS_IS,
    CLI_FORWARD,
    CLI_ALL_EAGER,
    CLI_SEARCH,
    CLI_SERIAL,
    CLI_CONFIRM
} cli_trial_purpose;
extern const char *const cli_trial_purpose_names[];

/* How many halvings, rounded up, leave one of n: 3 for n = 5. */
int cli_bisect_log2(size_t n);

/* What a call is without the fault, and with it: "eager" and "captured", or "not fused" and "fused". */
const char *cli_bisect_good_word(const cli_bisection *b);
const char *cli_bisect_bad_word(const cli_bisection *b);

/* The value of BG_EAGER_OPS that makes these calls eager, or of BG_COMPILE_OPS that leaves these runs out; the caller
 * frees it. NULL: out of host memory. */
char *cli_eager_patterns(const cli_bisection *b, const bool *eager);

#endif
