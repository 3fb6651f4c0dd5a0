/* breakgraph run --attach: programs that do not use the library, whose graphs are split at chosen nodes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/cli/arguments/flags.h"
#include "debug/cli/observe/attach.h"
#include "debug/cli/output/exits.h"
#include "debug/cli/output/json.h"
#include "run.h"

static const char *const of_library[] = {"--debug", "--eager-ops", "--check", "--shadow"};
static const char *const of_attach[] = {"--break", "--nodes"};

/* All --break in one list; the caller frees it. NULL: out of host memory. */
static char *join_breaks(const cli_arguments *arguments)
{
    char *list = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&list, &bytes);

    for (size_t i = 0; out != NULL && i < arguments->count; i++)
        if (strcmp(arguments->given[i].flag->name, "--break") == 0)
            fprintf(out, "%s%s", ftell(out) > 0 ? "," : "", arguments->given[i].value);
    if (out != NULL && fclose(out) == 0)
        return list;
    if (out != NULL)
        free(list);
    return NULL;
}

/* A list in a file is all of the variable. */
static cli_status check_breaks(const cli_arguments *arguments)
{
    size_t lists = 0, files = 0;
    for (size_t i = 0; i < arguments->count; i++) {
        bool is = strcmp(arguments->given[i].flag->name, "--break") == 0;
        lists += is;
        files += is && arguments->given[i].value[0] == '@';
    }
    if (files > 0 && lists > 1)
        return cli_say(CLI_USAGE, "--break=@FILE is given alone: write the other patterns into that file");
    if (lists > 0 && cli_value(arguments, "--nodes") != NULL)
        return cli_say(CLI_USAGE, "--break and --nodes exclude each other: --nodes is --break='*'");
    return CLI_OK;
}

static cli_status set_breaks(const cli_arguments *arguments)
{
    char *list = cli_value(arguments, "--nodes") != NULL ? strdup("*") : join_breaks(arguments);
    bool set = list != NULL && (list[0] == '\0' || setenv("BG_ATTACH_BREAK", list, 1) == 0);
    free(list);
    return set ? CLI_OK : cli_say(CLI_FAILED, "out of host memory");
}

cli_status cli_run_attach(const cli_arguments *arguments)
{
    bool attached = cli_value(arguments, "--attach") != NULL;
    cli_status status;

    for (size_t i = 0; !attached && i < sizeof of_attach / sizeof *of_attach; i++)
        if (cli_value(arguments, of_attach[i]) != NULL)
            return cli_say(CLI_USAGE,
                           "%s needs --attach: ops of a program that uses libbreakgraph are made eager with "
                           "--eager-ops",
                           of_attach[i]);
    for (size_t i = 0; attached && i < sizeof of_library / sizeof *of_library; i++)
        if (cli_value(arguments, of_library[i]) != NULL)
            return cli_say(
                CLI_USAGE,
                "%s is for programs that use libbreakgraph, and cannot be used with --attach; see breakgraph "
                "check --attach and step --attach",
                of_library[i]);
    if (!attached)
        return CLI_OK;
    status = check_breaks(arguments);
    if (status == CLI_OK)
        status = set_breaks(arguments);
    return status == CLI_OK ? cli_attach(arguments) : status;
}

/* ---- at its end ------------------------------------------------------------------------------------------------- */

static void print_row(const cJSON *row)
{
    double nodes = cli_number(row, "outside_nodes"), launches = cli_number(row, "outside_launches");
    double split = cli_number(row, "split_launches"), alike = cli_number(row, "alike");

    cli_print(stderr, "%s", cli_text(row, "name"));
    if (alike > 0)
        fprintf(stderr, ", and %.0f like it", alike);
    fprintf(stderr,
            ": %.0f of %.0f node%s ran outside of the graph, %.0f launch%s of them in %.0f launch%s of the graph\n",
            nodes, cli_number(row, "nodes"), cli_number(row, "nodes") == 1 ? "" : "s", launches,
            launches == 1 ? "" : "es", split, split == 1 ? "" : "es");
}

cli_status cli_run_tell_outside(const cli_gathered *gathered)
{
    const char *chosen = getenv("BG_ATTACH_BREAK");
    const cJSON *report, *row;
    int split = 0;

    if (chosen == NULL || chosen[0] == '\0')
        return CLI_OK;
    cJSON_ArrayForEach(report, gathered->reports)
    {
        cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(report, "graphs"))
        {
            if (cJSON_GetObjectItemCaseSensitive(row, "outside_nodes") == NULL)
                continue;
            print_row(row);
            split++;
        }
    }
    if (split > 0)
        return CLI_OK;
    return cli_say(CLI_UNJUDGED, "no node ran outside of a graph");
}
