/* breakgraph run --attach: sets the variables with which a program that does not use the library runs with a tool. The
 * tool looks at the program's launches, or splits its graphs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/cli/arguments/flags.h"
#include "debug/cli/observe/attach.h"
#include "debug/cli/output/exits.h"
#include "run_command.h"

static const char *const library_flags[] = {"--debug", "--eager-ops", "--check", "--trace"};

/* At most one of these can be given. */
static const struct tool {
    const char *flag, *variable;
    bool list; /* all values of the flag make one list of patterns */
    const char *value;
} tools[] = {{"--break", "BG_ATTACH_BREAK", true, NULL},
             {"--nodes", "BG_ATTACH_BREAK", false, "*"},
             {"--probe", "BG_ATTACH_PROBE", true, NULL},
             {"--shadow", "BG_ATTACH_SHADOW", false, "1"}};
enum { TOOLS = sizeof tools / sizeof *tools };

/* All values of the flag in one list; the caller frees it. NULL: out of host memory. */
static char *join_values(const cli_arguments *arguments, const char *flag)
{
    char *list = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&list, &bytes);

    for (size_t i = 0; out != NULL && i < arguments->count; i++)
        if (strcmp(arguments->given[i].flag->name, flag) == 0)
            fprintf(out, "%s%s", ftell(out) > 0 ? "," : "", arguments->given[i].value);
    if (out != NULL && fclose(out) == 0)
        return list;
    if (out != NULL)
        free(list);
    return NULL;
}

/* "@FILE" is the variable's whole value: it cannot be joined with other lists. */
static cli_status check_lists(const cli_arguments *arguments, const char *flag)
{
    size_t lists = 0, files = 0;
    for (size_t i = 0; i < arguments->count; i++) {
        bool is = strcmp(arguments->given[i].flag->name, flag) == 0;
        lists += is;
        files += is && arguments->given[i].value[0] == '@';
    }
    if (files > 0 && lists > 1)
        return cli_print_message(CLI_USAGE, "%s=@FILE is given alone: write the other patterns into that file", flag);
    return CLI_OK;
}

/* Makes the path of "@FILE" absolute: the program may change its directory before it begins to use CUDA. Takes
 * ownership of `list`. */
static char *make_path_absolute(char *list)
{
    char *path = list != NULL && list[0] == '@' ? realpath(list + 1, NULL) : NULL, *whole = NULL;

    if (path == NULL)
        return list;
    if (asprintf(&whole, "@%s", path) < 0)
        whole = NULL;
    free(path);
    free(list);
    return whole;
}

/* Also unsets the variable of --shadow for programs that use the library. */
static cli_status set_tool(const cli_arguments *arguments, const struct tool *tool)
{
    const char *value = cli_given_value(arguments, tool->flag);
    char *list = tool->list ? make_path_absolute(join_values(arguments, tool->flag)) : strdup(tool->value);
    bool set;

    if (strcmp(tool->flag, "--shadow") == 0 && strcmp(value, "1") != 0) {
        free(list);
        return cli_print_message(CLI_USAGE,
                                 "with --attach, --shadow takes no value: the nodes of a launch have no op calls");
    }
    set = list != NULL && (list[0] == '\0' || setenv(tool->variable, list, 1) == 0) && unsetenv("BG_SHADOW") == 0;
    free(list);
    return set ? CLI_OK : cli_print_message(CLI_FAILED, "out of host memory");
}

static cli_status choose_tool(const cli_arguments *arguments, const struct tool **chosen)
{
    *chosen = NULL;
    for (const struct tool *tool = tools; tool < tools + TOOLS; tool++) {
        if (cli_given_value(arguments, tool->flag) == NULL)
            continue;
        if (*chosen != NULL)
            return cli_print_message(CLI_USAGE, "with --attach, %s and %s exclude each other", (*chosen)->flag,
                                     tool->flag);
        *chosen = tool;
    }
    return CLI_OK;
}

static cli_status check_flags(const cli_arguments *arguments, bool attached)
{
    static const char *const of_attach[] = {"--break", "--nodes", "--probe"};

    for (size_t i = 0; !attached && i < sizeof of_attach / sizeof *of_attach; i++)
        if (cli_given_value(arguments, of_attach[i]) != NULL)
            return cli_print_message(CLI_USAGE,
                                     "%s needs --attach: ops of a program that uses libbreakgraph are made eager "
                                     "with --eager-ops",
                                     of_attach[i]);
    for (size_t i = 0; attached && i < sizeof library_flags / sizeof *library_flags; i++)
        if (cli_given_value(arguments, library_flags[i]) != NULL)
            return cli_print_message(
                CLI_USAGE,
                "%s is for programs that use libbreakgraph, and cannot be used with --attach; see breakgraph check "
                "--attach and step --attach",
                library_flags[i]);
    return CLI_OK;
}

cli_status cli_run_attach(const cli_arguments *arguments)
{
    bool attached = cli_given_value(arguments, "--attach") != NULL;
    const struct tool *tool = NULL;
    cli_status status = check_flags(arguments, attached);

    if (status != CLI_OK || !attached)
        return status;
    status = choose_tool(arguments, &tool);
    if (status == CLI_OK && tool != NULL && tool->list)
        status = check_lists(arguments, tool->flag);
    if (status == CLI_OK && tool != NULL)
        status = set_tool(arguments, tool);
    return status == CLI_OK ? cli_attach_prepare(arguments) : status;
}
