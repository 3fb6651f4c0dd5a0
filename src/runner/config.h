/* What the runner knows of its configuration: whether it is valid, which sizes it asks for, what its modes mean. */
#ifndef BG_RUNNER_CONFIG_H
#define BG_RUNNER_CONFIG_H

#include <breakgraph/config.h>

#include "base/variables.h"
#include "op/op.h"

/* ---- configuration (config.c) -------------------------------------------------------------------------------- */

/* INVALID_ARGUMENT with the key that is wrong; its schedule is checked, too. */
bg_status bg__config_check(const bg_runner_config *config);

/* The same, and *copy becomes the configuration with all fields of this version, the missing ones of a program built
 * against an older header as in BG_RUNNER_CONFIG_INIT; variants is 1 where it was 0. Strings and state are still the
 * caller's, and copy->text_ is NULL: there is nothing to clear. */
bg_status bg__config_load(const bg_runner_config *config, bg_runner_config *copy);

/* INVALID_ARGUMENT unless config has all fields of this version, as what changes it needs. */
bg_status bg__config_check_size(const bg_runner_config *config);

/* ---- text (text.c) ------------------------------------------------------------------------------------------- */

/* What a key's value is. */
typedef enum bg__key_type {
    BG__KEY_CHOICE, /* of an enum, in its order */
    BG__KEY_SCHEDULE,
    BG__KEY_PATTERN,
    BG__KEY_BOOL,
    BG__KEY_LAZY, /* a choice, or a bool */
    BG__KEY_INT,
    BG__KEY_QUERY_LENS,
    BG__KEY_LEVEL, /* a choice, of which the first is -1 */
    BG__KEY_COMPILE_SIZES,
    BG__KEY_DOUBLE,
    BG__KEY_SIZE
} bg__key_type;

typedef struct bg__config_key {
    const char *name;     /* "max_tokens" */
    const char *variable; /* "BG_RUNNER_MAX_TOKENS", whose row tells what is allowed */
    bg__key_type type;
    size_t offset; /* in bg_runner_config */
} bg__config_key;

/* All keys, in the order of the struct. */
extern const bg__config_key bg__config_keys[];
extern const int bg__config_key_count;

/* The key of that name; NULL where there is none. */
const bg__config_key *bg__config_key_find(const char *name);

/* Several keys are set all or not at all: begin makes *trial a copy of config that owns no string; bg_runner_config_set
 * changes it; keep moves it to config. To drop it: bg_runner_config_clear. */
void bg__config_trial(const bg_runner_config *config, bg_runner_config *trial);
void bg__config_keep(bg_runner_config *config, bg_runner_config *trial);

/* ---- schedules (schedule.c) ---------------------------------------------------------------------------------- */

/* The sizes to capture, ascending; the caller frees *sizes. schedule as in bg_runner_config, 1 <= max_tokens. Errors:
 * INVALID_ARGUMENT (an unknown name; a list that is not strictly ascending or has another element than a positive
 * number up to max_tokens; max_tokens below a named schedule's first size), OUT_OF_MEMORY. */
bg_status bg__schedule_make(const char *schedule, int max_tokens, int **sizes, int *count);

/* The same check, without sizes. */
bg_status bg__schedule_check(const char *schedule, int max_tokens);

/* The query lengths of decode batches, ascending, at least one, of a valid configuration; the caller frees *lens, after
 * an error, too. Errors: OUT_OF_MEMORY. */
bg_status bg__query_lens_make(const bg_runner_config *config, int **lens, int *count);

/* Of a list as in config.query_lens: INVALID_ARGUMENT, as for a schedule's. */
bg_status bg__query_lens_check(const char *list, int max_tokens);
/* The same of a list as in config.compile_sizes, or "schedule". */
bg_status bg__compile_sizes_check(const char *list);

/* ---- modes (mode.c) ------------------------------------------------------------------------------------------ */

/* "full_decode_only"; "none" for a value that is none. Static storage. */
const char *bg__mode_name(bg_mode mode);
bool bg__mode_is_valid(bg_mode mode);

/* What is to run as graphs. */
typedef struct bg__scope {
    bg_mode mode;
    const int *query_lens; /* ascending; those of decode batches, where the mode has graphs for them apart */
    int query_len_count;
} bg__scope;

/* Lowers scope to what the weakest of the ops supports: the mode, or the query lengths to the first. Returns whether it
 * did; why, of bytes, then holds a sentence that names the op and what it supports, else "". */
bool bg__mode_lower(bg__scope *scope, const bg_op *const *ops, size_t count, char *why, size_t bytes);

#endif
