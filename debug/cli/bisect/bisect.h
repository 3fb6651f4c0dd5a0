/* A bisect across processes: what its parts share. */
#ifndef BG_CLI_BISECT_H
#define BG_CLI_BISECT_H

#include <breakgraph/bisect.h>
#include <cjson/cJSON.h>

#include "debug/cli/observe/observe.h"

typedef struct cli_bisection {
    char *const *argv;
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

/* ---- trial.c: one trial ---- */

typedef enum cli_why { CLI_AS_IS, CLI_FORWARD, CLI_ALL_EAGER, CLI_SEARCH, CLI_CONFIRM } cli_why;
extern const char *const cli_why_names[];

/* With those of calls eager that eager marks (NULL: none); a verdict that is kept is taken from the state, a new one
 * goes there. What keeps a program from being judged is a status, but in SEARCH and CONFIRM a SKIP. */
cli_status cli_trial(cli_bisection *b, cli_why why, const bool *eager, bg_verdict *verdict);

/* What --check said last, which may be why it finds all bad. */
void cli_trial_show_check(const cli_bisection *b);

/* BG_EAGER_OPS for these; the caller frees it. NULL: no host memory. */
char *cli_eager_list(const cli_bisection *b, const bool *eager);

/* ---- state.c: the file of verdicts ---- */

/* Takes the file over, or begins with none. CLI_UNREADABLE, and said, where it is not this command's. */
cli_status cli_state_load(cli_bisection *b);
cli_status cli_state_save(const cli_bisection *b);
/* names follow calls. */
cli_status cli_state_name(cli_bisection *b);

/* ---- calls.c: which calls there are ---- */

/* The captured calls of all graphs, in order of the pass, each once; those that only matches. CLI_NO_MATCH names near
 * ones. */
cli_status cli_calls_collect(const cli_gathered *gathered, const char *only, cJSON *calls);

/* ---- result.c ---- */
/* The trials as a report has them; the caller deletes it. */
cJSON *cli_bisect_trials(const cli_bisection *b);
void cli_bisect_print(const cli_bisection *b, cli_status status, double seconds);

/* ---- result_page.c: --html ---- */
cli_status cli_bisect_write_page(const cli_bisection *b);

/* ---- progress.c: one line on a terminal that is written again and again ---- */
void cli_progress(const cli_bisection *b, cli_why why);
void cli_progress_clear(void);

#endif
