/* A pattern is NODE or GRAPH/NODE, where NODE is a name (scale, scale#3, flash_*), an index ([12], [12-55]), or a line
 * of the node's stack (model.py:31). '!' before it excludes these nodes; '^' chooses them, and runs them before
 * everything that they do not depend on. */
#include "node_patterns.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/variables.h"
#include "op/op.h"

enum { LIST_BYTES = 16 << 20 };

static struct {
    const char *variable;
    char *list;
    atomic_bool *met; /* by pattern: it matches a node of some graph */
    pid_t process;    /* the process that read the variable; a forked child does not warn */
    _Atomic bool asked;
} patterns;

/* ---- one pattern ------------------------------------------------------------------------------------------------ */

/* "[12-55]" */
static bool is_index_in_range(const char *pattern, size_t length, size_t index)
{
    uint64_t first, last;
    char digits[48];

    if (length < 3 || length >= sizeof digits)
        return false;
    snprintf(digits, sizeof digits, "%.*s", (int)length - 2, pattern + 1);
    return bg__variable_parse_range(digits, &first, &last) && index >= first && index <= last;
}

/* "model.py:31" in the line "/home/me/model.py:31 in forward". */
static bool is_line_in_stack(const char *pattern, size_t length, const char *stack)
{
    for (const char *at = stack; at != NULL && (at = strchr(at, pattern[0])) != NULL; at++) {
        bool begins = at == stack || at[-1] == '\n' || at[-1] == '/';
        if (begins && strncmp(at, pattern, length) == 0 && strchr(" \n", at[length]) != NULL)
            return true;
    }
    return false;
}

static bool matches_node(const char *pattern, size_t length, const bg__pattern_candidate *node)
{
    if (length > 0 && pattern[0] == '[')
        return is_index_in_range(pattern, length, node->index);
    if (memchr(pattern, ':', length) != NULL)
        return is_line_in_stack(pattern, length, node->stack);
    return bg__glob_matches_numbered(pattern, length, node->name);
}

/* Tries each '/' as the separator, since names of graphs and files may contain one. */
static bool matches_pattern(const char *pattern, size_t length, const bg__pattern_candidate *node)
{
    if (matches_node(pattern, length, node))
        return true;
    for (size_t i = 1; i + 1 < length; i++)
        if (pattern[i] == '/' && bg__glob_matches_numbered(pattern, i, node->graph) &&
            matches_node(pattern + i + 1, length - i - 1, node))
            return true;
    return false;
}

bg__choice bg__node_patterns_match(const bg__pattern_candidate *node)
{
    bg__pattern_list at = {.list = patterns.list};
    bg__choice choice = BG__NOT_CHOSEN;

    atomic_store(&patterns.asked, true);
    for (size_t i = 0; bg__pattern_list_next(&at); i++) {
        bool first = at.text[0] == '^';
        if (i == 0 && at.negate)
            choice = BG__CHOSEN;
        if (!matches_pattern(at.text + first, at.length - first, node))
            continue;
        atomic_store(&patterns.met[i], true);
        choice = at.negate ? BG__NOT_CHOSEN : first ? BG__CHOSEN_FIRST : BG__CHOSEN;
    }
    return choice;
}

/* ---- the list --------------------------------------------------------------------------------------------------- */

static bg_status read_patterns(const char *variable, const char *value)
{
    size_t bytes = 0;
    bg_status status = BG_OK;

    if (value[0] != '@') {
        patterns.list = strdup(value);
        return patterns.list != NULL ? BG_OK : bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %s", variable);
    }
    BG__TRY(bg__file_read(value + 1, true, LIST_BYTES, &patterns.list, &bytes));
    if (bytes > LIST_BYTES)
        BG__FAIL(BG_ERROR_IO, "the list of nodes in %s is larger than %d MiB", value + 1, LIST_BYTES >> 20);
    for (char *c = patterns.list; *c != '\0'; c++)
        *c = *c == '\n' ? ',' : strchr("\t\r", *c) != NULL ? ' ' : *c;
done:
    if (status != BG_OK)
        bg__error_add_location("%s", variable);
    return status;
}

bg_status bg__node_patterns_begin(const char *variable, bool *wanted)
{
    const char *value = bg__env_value(variable);
    bg__pattern_list at = {.list = ""};
    size_t count = 0;
    bg_status status = BG_OK;

    *wanted = value != NULL;
    if (value == NULL)
        return BG_OK;
    BG__TRY(read_patterns(variable, value));
    if (!bg__variable_check_nodes(patterns.list))
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT, "%s: \"%s\" is not %s", variable, value,
                 bg__variable_find(variable)->allowed);
    for (at.list = patterns.list; bg__pattern_list_next(&at);)
        count++;
    patterns.met = calloc(count + 1, sizeof *patterns.met);
    if (patterns.met == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %s", variable);
    patterns.variable = variable;
    patterns.process = getpid();
done:
    return status;
}

/* Without the warning, a typing mistake would look as if the fault were elsewhere. */
__attribute__((destructor)) static void warn_about_unmatched_patterns(void)
{
    bg__pattern_list at = {.list = patterns.list};

    if (patterns.met == NULL || patterns.process != getpid() || !atomic_load(&patterns.asked))
        return;
    for (size_t i = 0; bg__pattern_list_next(&at); i++)
        if (!atomic_load(&patterns.met[i]))
            bg__warn("%s: '%.*s' matches no node of the graphs that were launched", patterns.variable, (int)at.length,
                     at.text);
}
