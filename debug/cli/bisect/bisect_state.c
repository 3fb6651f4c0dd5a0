#include "bisect_state.h"

#include <breakgraph/breakgraph.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/variables.h"
#include "debug/cli/arguments/flags.h"
#include "debug/cli/output/exits.h"
#include "debug/cli/output/cli_json.h"
#include "debug/cli/output/cli_files.h"

enum { STATE_VERSION = 2 };
static const char key[] = "breakgraph_bisect"; /* its value is the version; it marks a state file */

/* ---- which command it is ---- */

/* The file that execvp would execute, which the caller frees. */
static char *resolve_program(const char *program)
{
    const char *path = getenv("PATH");
    if (program == NULL)
        return NULL;
    if (strchr(program, '/') != NULL || path == NULL)
        return realpath(program, NULL);
    while (*path != '\0') {
        size_t length = strcspn(path, ":");
        char *name = NULL;
        if (asprintf(&name, "%.*s/%s", (int)length, path, program) < 0)
            return NULL;
        if (access(name, X_OK) == 0)
            return name;
        free(name);
        path += length + (path[length] == ':');
    }
    return NULL;
}

/* A rebuilt program is another one: verdicts of the old one do not count. */
static void add_program_file(cJSON *command, const char *program)
{
    char *path = resolve_program(program);
    struct stat about;
    if (path != NULL && stat(path, &about) == 0) {
        cJSON_AddStringToObject(command, "file", path);
        cJSON_AddNumberToObject(command, "bytes", (double)about.st_size);
        cJSON_AddNumberToObject(command, "modified", (double)about.st_mtim.tv_sec);
        cJSON_AddNumberToObject(command, "nanoseconds", (double)about.st_mtim.tv_nsec);
    }
    free(path);
}

static void add_text_member(cJSON *command, const char *name, const char *text)
{
    if (text != NULL)
        cJSON_AddStringToObject(command, name, text);
}

/* Adds the library's variables that are set, except those that only write files, and those in another member. */
static void add_environment(cJSON *command)
{
    static const char *const others[] = {"BG_EAGER_OPS", "BG_REPORT",       "BG_TRACE",       "BG_ATTACH_BREAK",
                                         "BG_NVTX",      "BG_RANKS_SOCKET", "BG_RANKS_TOKEN", "BG_COMPILE_OPS"};
    cJSON *environment = cJSON_AddObjectToObject(command, "environment");
    for (size_t i = 0; i < bg__variables_count; i++) {
        const char *name = bg__variables[i].name;
        bool other = false;
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            other = other || strcmp(others[k], name) == 0;
        if (!other)
            add_text_member(environment, name, getenv(name));
    }
}

/* Adds what -e sets, also variables that are not breakgraph's. */
static void add_assignments(cJSON *command, const cli_arguments *arguments)
{
    cJSON *set = NULL;
    for (size_t i = 0; i < arguments->count; i++) {
        const cli_given_flag *given = &arguments->given[i];
        if (strcmp(given->flag->name, "-e") != 0)
            continue;
        if (set == NULL)
            set = cJSON_AddArrayToObject(command, "set");
        cJSON_AddItemToArray(set, cJSON_CreateString(given->value));
    }
}

static cJSON *describe_state(const cli_bisection *b)
{
    cJSON *command = cJSON_CreateObject(), *program = cJSON_AddArrayToObject(command, "program");
    for (char *const *argument = b->argv; *argument != NULL; argument++)
        cJSON_AddItemToArray(program, cJSON_CreateString(*argument));
    add_program_file(command, b->argv[0]);
    add_text_member(command, "check", b->check);
    add_text_member(command, "tolerance", b->tolerance);
    add_text_member(command, "only", b->only);
    add_text_member(command, b->compiled ? "compile_ops" : "eager_ops", b->base);
    add_environment(command);
    add_assignments(command, b->arguments);
    if (b->attached)
        add_text_member(command, "attach", cli_given_value(b->arguments, "--attach"));
    cJSON_AddBoolToObject(command, "shadow", b->shadow);
    cJSON_AddBoolToObject(command, "page", b->html != NULL);
    cJSON_AddNumberToObject(command, "count", b->count);
    cJSON_AddNumberToObject(command, "timeout", b->timeout);
    if (b->ranks > 0)
        cJSON_AddNumberToObject(command, "ranks", b->ranks);
    return command;
}

/* ---- reading ---- */

static bool is_text(const cJSON *object, const char *name)
{
    return cJSON_IsString(cJSON_GetObjectItemCaseSensitive(object, name));
}

/* Whether BG_EAGER_OPS can have the name as it is: it is no list, pattern or file. */
static bool is_call_name(const char *name)
{
    return name[0] != '\0' && strpbrk(name, ",!*@ \t\n") == NULL;
}

/* Whether `place` is a whole number from 0 on, below the limit. */
static bool is_index(const cJSON *place, int limit)
{
    return cJSON_IsNumber(place) && place->valuedouble == place->valueint && place->valueint >= 0 &&
           place->valueint < limit;
}

static bool are_indices(const cJSON *list, int limit)
{
    const cJSON *place;
    cJSON_ArrayForEach(place, list)
    {
        if (!is_index(place, limit))
            return false;
    }
    return cJSON_IsArray(list);
}

/* Whether `call` has a node's members: its index in its graph, the nodes that it waits for, and, once known, the call
 * that it must come after. */
static bool is_node_call(const cJSON *call, int calls)
{
    const cJSON *behind = cJSON_GetObjectItemCaseSensitive(call, "behind");
    return is_text(call, "name") && is_index(cJSON_GetObjectItemCaseSensitive(call, "node"), INT_MAX) &&
           is_text(call, "graph") && are_indices(cJSON_GetObjectItemCaseSensitive(call, "after"), INT_MAX) &&
           (behind == NULL || is_index(behind, calls));
}

static bool are_calls(const cli_bisection *b, const cJSON *calls)
{
    const cJSON *call;
    cJSON_ArrayForEach(call, calls)
    {
        if (!(b->attached ? is_node_call(call, cJSON_GetArraySize(calls))
                          : is_call_name(cli_json_text(call, "name"))) ||
            !is_text(call, "op") || !is_text(call, "file"))
            return false;
    }
    return cJSON_IsArray(calls);
}

/* Trials need calls, which are saved before them. */
static bool are_trials(const cJSON *trials, int calls)
{
    const cJSON *trial;
    cJSON_ArrayForEach(trial, trials)
    {
        const char *verdict = cli_json_text(trial, "verdict");
        if (calls == 0 || !is_text(trial, "why") ||
            !are_indices(cJSON_GetObjectItemCaseSensitive(trial, "eager"), calls) ||
            (cJSON_HasObjectItem(trial, "first") &&
             !are_indices(cJSON_GetObjectItemCaseSensitive(trial, "first"), calls)) ||
            (strcmp(verdict, "good") != 0 && strcmp(verdict, "bad") != 0 && strcmp(verdict, "skip") != 0))
            return false;
    }
    return cJSON_IsArray(trials);
}

/* Whether the count is valid, or is not there yet: the trial with all nodes outside adds it. */
static bool is_count(const cJSON *root, const char *name)
{
    const cJSON *count = cJSON_GetObjectItemCaseSensitive(root, name);
    return count == NULL || is_index(count, INT_MAX);
}

static cli_status reject_state(const cli_bisection *b, const char *why)
{
    return cli_print_message(CLI_UNREADABLE,
                             "%s %s; bisect does not overwrite it: remove it, or give another file with --state=FILE",
                             b->state, why);
}

/* *root is NULL where there is no file. */
static cli_status read_state_file(const cli_bisection *b, cJSON **root)
{
    size_t bytes = 0;
    char *text = cli_file_read(b->state, b->keep, &bytes);
    const cJSON *version, *calls;

    *root = NULL;
    if (text == NULL && errno == ENOENT)
        return CLI_OK;
    if (text == NULL)
        return cli_print_message(CLI_UNREADABLE, "%s; give another one with --state=FILE", bg_last_error());
    if (strlen(text) == bytes) /* else what follows a zero byte, or the state, would be lost when it is saved */
        *root = cJSON_ParseWithLengthOpts(text, bytes + 1, NULL, true);
    free(text);
    version = cJSON_GetObjectItemCaseSensitive(*root, key);
    if (!cJSON_IsNumber(version))
        return reject_state(b, "is not the state of a bisect");
    if (b->fresh)
        return CLI_OK;
    if (version->valuedouble != STATE_VERSION)
        return cli_print_message(CLI_UNREADABLE, "%s has version %g, not %d; --fresh starts over", b->state,
                                 version->valuedouble, STATE_VERSION);
    calls = cJSON_GetObjectItemCaseSensitive(*root, "calls");
    if (!are_calls(b, calls) || !is_count(*root, "outside") || !is_count(*root, "not_split") ||
        !are_trials(cJSON_GetObjectItemCaseSensitive(*root, "trials"), cJSON_GetArraySize(calls)))
        return reject_state(b, "is damaged");
    return CLI_OK;
}

static bool create_state(cli_bisection *b)
{
    b->root = cJSON_CreateObject();
    cJSON_AddNumberToObject(b->root, key, STATE_VERSION);
    cJSON_AddItemToObject(b->root, "command", describe_state(b));
    b->calls = cJSON_AddArrayToObject(b->root, "calls");
    b->trials = cJSON_AddArrayToObject(b->root, "trials");
    return b->calls != NULL && b->trials != NULL;
}

static cli_status adopt_state(cli_bisection *b, cJSON *root)
{
    cJSON *command = describe_state(b);
    bool same = cJSON_Compare(cJSON_GetObjectItemCaseSensitive(root, "command"), command, true);
    cJSON_Delete(command);
    if (!same)
        return cli_print_message(
            CLI_UNREADABLE,
            "%s belongs to another command, or to an earlier build of the program; --fresh starts over, "
            "--state=FILE keeps both",
            b->state);
    b->root = root;
    b->calls = cJSON_GetObjectItemCaseSensitive(root, "calls");
    b->trials = cJSON_GetObjectItemCaseSensitive(root, "trials");
    b->replayed = (size_t)cJSON_GetArraySize(b->trials);
    return cJSON_GetArraySize(b->calls) > 0 ? cli_state_set_names(b) : CLI_OK;
}

cli_status cli_state_load(cli_bisection *b)
{
    cJSON *root = NULL;
    cli_status status = read_state_file(b, &root);

    if (status == CLI_OK && root != NULL && !b->fresh)
        status = adopt_state(b, root);
    if (b->root != root)
        cJSON_Delete(root);
    if (status != CLI_OK || b->root != NULL)
        return status;
    return create_state(b) ? cli_state_save(b) : cli_print_message(CLI_FAILED, "out of host memory");
}

cli_status cli_state_save(const cli_bisection *b)
{
    char *text = cJSON_Print(b->root);
    cli_status status = CLI_OK;
    if (text == NULL)
        status = cli_print_message(CLI_FAILED, "out of host memory");
    else if (!cli_file_write(b->state, b->keep ? BG__FILE_FROM_USER : BG__FILE_GENERATED, text))
        status = cli_print_message(CLI_UNREADABLE, "%s; give another one with --state=FILE", bg_last_error());
    cJSON_free(text);
    return status;
}

cli_status cli_state_set_names(cli_bisection *b)
{
    const cJSON *call;
    size_t i = 0;
    b->name_count = (size_t)cJSON_GetArraySize(b->calls);
    b->names = calloc(b->name_count + 1, sizeof *b->names);
    if (b->names == NULL)
        return cli_print_message(CLI_FAILED, "out of host memory");
    cJSON_ArrayForEach(call, b->calls)
    {
        b->names[i++] = cli_json_text(call, "name");
    }
    return CLI_OK;
}
