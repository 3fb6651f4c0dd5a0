/* What breakgraph run --attach prints after its program has ended. */
#include <stdio.h>
#include <stdlib.h>

#include "debug/cli/observe/cli_coverage.h"
#include "debug/cli/output/exits.h"
#include "debug/cli/output/cli_json.h"
#include "run_command.h"

static void print_split_graph(const cJSON *row)
{
    double nodes = cli_json_number(row, "outside_nodes"), launches = cli_json_number(row, "outside_launches");
    double split = cli_json_number(row, "split_launches"), alike = cli_json_number(row, "alike");

    cli_print(stderr, "%s", cli_json_text(row, "name"));
    if (alike > 0)
        fprintf(stderr, ", and %.0f like it", alike);
    fprintf(stderr,
            ": %.0f of %.0f node%s ran outside of the graph, %.0f launch%s of them in %.0f launch%s of the graph\n",
            nodes, cli_json_number(row, "nodes"), cli_json_number(row, "nodes") == 1 ? "" : "s", launches,
            launches == 1 ? "" : "es", split, split == 1 ? "" : "es");
}

static int print_split(const cJSON *report)
{
    const cJSON *row;
    int count = 0;

    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(report, "graphs"))
    {
        if (cJSON_GetObjectItemCaseSensitive(row, "outside_nodes") == NULL)
            continue;
        print_split_graph(row);
        count++;
    }
    return count;
}

static void print_probe(const cJSON *row)
{
    const char *not_counted = cli_json_text(row, "not_counted");
    double launches = cli_json_number(row, "launches"), changes = cli_json_number(row, "changes");

    cli_print(stderr, "%s/%s, %s: ", cli_json_text(row, "graph"), cli_json_text(row, "node"),
              cli_json_text(row, "range"));
    fprintf(stderr, "%.0f launch%s, ", launches, launches == 1 ? "" : "es");
    if (not_counted[0] != '\0' && cli_json_number(row, "nan") + cli_json_number(row, "inf") == 0)
        cli_print(stderr, "NaN not counted (%s)", not_counted);
    else
        fprintf(stderr, "%.0f of them with NaN, %.0f with infinities", cli_json_number(row, "nan"),
                cli_json_number(row, "inf"));
    fprintf(stderr, "; %.0f change%s; last digest %s\n", changes, changes == 1 ? "" : "s",
            cli_json_text(row, "digest"));
    if (cli_json_number(row, "not_read") > 0)
        fprintf(stderr,
                "    %.0f more were not read: they had not ended when the program did, or when it changed the "
                "graph, or came while a stream captured\n",
                cli_json_number(row, "not_read"));
}

static int print_probes(const cJSON *report)
{
    const cJSON *row;
    int count = 0;

    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(report, "probes"))
    {
        print_probe(row);
        count++;
    }
    return count;
}

static cli_status print_rows(const cli_gathered *gathered, int (*print)(const cJSON *report), const char *nothing)
{
    const cJSON *report;
    int count = 0;

    cJSON_ArrayForEach(report, gathered->reports)
    {
        count += print(report);
    }
    return count > 0 ? CLI_OK : cli_print_message(CLI_UNJUDGED, "%s", nothing);
}

/* Both runs that are compared use the graph's values and addresses, so the comparison does not show a frozen value or
 * address. */
static cli_status print_shadow(const cli_gathered *gathered)
{
    static const char *const kinds[] = {"shadow"};

    cli_coverage_print(gathered, kinds, 1, true, stderr);
    fputs("A launch and its nodes one after the other hold the same values and addresses: what was frozen at "
          "capture is not seen (breakgraph check --attach --what=recapture).\n",
          stderr);
    return cli_coverage_has(gathered, "shadow") && cli_coverage_why_not(gathered, "shadow") == NULL ? CLI_OK
                                                                                                    : CLI_UNJUDGED;
}

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value != NULL && value[0] != '\0';
}

cli_status cli_run_print_attached(const cli_gathered *gathered)
{
    static const char *const kinds[] = {"probe"};

    if (is_set("BG_ATTACH_BREAK"))
        return print_rows(gathered, print_split, "no node ran outside of a graph");
    if (is_set("BG_ATTACH_SHADOW"))
        return print_shadow(gathered);
    if (!is_set("BG_ATTACH_PROBE"))
        return CLI_OK;
    cli_coverage_print(gathered, kinds, 1, true, stderr);
    return print_rows(
        gathered, print_probes,
        cli_coverage_has(gathered, "probe")
            ? "what the probes have seen is unknown: it is written when the program ends, but not where a signal or "
              "_exit ends it"
            : "no node was probed");
}
