/* A runner's configuration: checks, text, sizes and modes. */
#ifndef BG_RUNNER_CONFIG_H
#define BG_RUNNER_CONFIG_H

#include <breakgraph/config.h>

#include "base/variables.h"
#include "op/op.h"

/* ---- configuration (config.c) -------------------------------------------------------------------------------- */

/* Checks all fields, and the schedule. Errors: INVALID_ARGUMENT, with the key that is wrong. */
bg_status bg__config_check(const bg_runner_config *config);

/* The same, and sets *copy to the configuration with all fields of this version. Fields that the program's older header
 * lacks are as in BG_RUNNER_CONFIG_INIT; variants 0 becomes 1. Strings and state still belong to the caller, and
 * copy->text_ is NULL: there is nothing to clear. */
bg_status bg__config_copy_checked(const bg_runner_config *config, bg_runner_config *copy);

/* INVALID_ARGUMENT unless config has all fields of this version, which functions that change it need. */
bg_status bg__config_check_size(const bg_runner_config *config);

/* ---- text (config_text.c) ------------------------------------------------------------------------------------ */

/* The type of a key's value. */
typedef enum bg__key_type {
    BG__KEY_CHOICE, /* a value of an enum, in its order */
    BG__KEY_SCHEDULE,
    BG__KEY_PATTERN,
    BG__KEY_BOOL,
    BG__KEY_LAZY, /* a choice, or a bool */
    BG__KEY_INT,
    BG__KEY_QUERY_LENS,
    BG__KEY_LEVEL, /* a choice; the first is -1 */
    BG__KEY_COMPILE_SIZES,
    BG__KEY_DOUBLE,
    BG__KEY_SIZE
} bg__key_type;

typedef struct bg__config_key {
    const char *name;     /* "max_tokens" */
    const char *variable; /* "BG_RUNNER_MAX_TOKENS", whose row has the allowed values */
    bg__key_type type;
    size_t offset; /* in bg_runner_config */
} bg__config_key;

/* All keys, in the order of the struct. */
extern const bg__config_key bg__config_keys[];
extern const int bg__config_key_count;

/* The key of that name; NULL where there is none. */
const bg__config_key *bg__config_key_find(const char *name);

/* Sets several keys or none: the first function makes *trial a copy of config that owns no string, bg_runner_config_set
 * changes it, and the second moves it to config. bg_runner_config_clear drops a trial. */
void bg__config_begin_trial(const bg_runner_config *config, bg_runner_config *trial);
void bg__config_commit(bg_runner_config *config, bg_runner_config *trial);

/* ---- schedules (schedule.c) ---------------------------------------------------------------------------------- */

/* The sizes to capture, ascending; the caller frees *sizes. schedule as in bg_runner_config, 1 <= max_tokens. Errors:
 * INVALID_ARGUMENT (an unknown name; a list that is not strictly ascending or has another element than a positive
 * number up to max_tokens; max_tokens below a named schedule's first size), OUT_OF_MEMORY. */
bg_status bg__schedule_make(const char *schedule, int max_tokens, int **sizes, int *count);

/* The same check, without sizes. */
bg_status bg__schedule_check(const char *schedule, int max_tokens);

/* Lists the query lengths of decode batches in a valid configuration: at least one, ascending. The caller frees *lens,
 * after an error, too. Errors: OUT_OF_MEMORY. */
bg_status bg__query_lens_make(const bg_runner_config *config, int **lens, int *count);

/* Checks a list as in config.query_lens. Errors: INVALID_ARGUMENT, as for a schedule. */
bg_status bg__query_lens_check(const char *list, int max_tokens);
/* The same for a list as in config.compile_sizes, or "schedule". */
bg_status bg__compile_sizes_check(const char *list);

/* ---- modes (graph_mode.c) ------------------------------------------------------------------------------------------
 */

/* "full_decode_only"; "none" for an invalid value. Static storage. */
const char *bg__mode_name(bg_mode mode);
bool bg__mode_is_valid(bg_mode mode);

/* What runs as graphs. */
typedef struct bg__scope {
    bg_mode mode;
    const int *query_lens; /* ascending; of decode batches, if the mode has separate graphs for them */
    int query_len_count;
} bg__scope;

/* Lowers the mode to what the weakest op supports, or reduces the query lengths to the first one. Returns whether
 * `scope` has changed; `why`, of `bytes` bytes, then names the op and what it supports, else `why` is "". */
bool bg__scope_lower(bg__scope *scope, const bg_op *const *ops, size_t count, char *why, size_t bytes);

#endif
