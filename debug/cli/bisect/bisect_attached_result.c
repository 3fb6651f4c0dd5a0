#include "bisect_attached_result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/cli/arguments/flags.h"
#include "debug/cli/arguments/next_command.h"
#include "debug/cli/output/cli_json.h"
#include "debug/cli/output/shell_line.h"
#include "bisect_nodes.h"

/* Returns the command line, and frees the list of nodes. */
static char *make_command_line(const cli_bisection *b, char *list)
{
    char *command = NULL, *line = NULL;
    size_t bytes = 0;
    FILE *out = list != NULL ? open_memstream(&command, &bytes) : NULL;

    if (out == NULL)
        goto done;
    fputs("run --attach", out);
    if (strcmp(cli_given_value(b->arguments, "--attach"), "preload") != 0)
        fprintf(out, "=%s", cli_given_value(b->arguments, "--attach"));
    if (list[0] != '\0') {
        fputs(" --break=", out);
        cli_print_shell_word(out, list);
    }
    if (fclose(out) == 0)
        line = cli_make_next_command(b->arguments, command);
done:
    free(command);
    free(list);
    return line;
}

char *cli_attached_command_line(const cli_bisection *b, const bool *outside)
{
    return make_command_line(b, cli_nodes_patterns(b, outside, true));
}

char *cli_attached_bad_command_line(const cli_bisection *b)
{
    bool *first = calloc(b->name_count + 1, sizeof *first), any = false;
    char *line;

    if (first == NULL)
        return NULL;
    for (size_t i = 0; i < b->found; i++) {
        const cJSON *call = cJSON_GetArrayItem(b->calls, (int)b->culprits[i]);
        first[b->culprits[i]] = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(call, "bad_first"));
        any = any || first[b->culprits[i]];
    }
    line = any ? make_command_line(b, cli_nodes_patterns_first(b, first, true)) : strdup("");
    free(first);
    return line;
}

cJSON *cli_attached_culprit(const cli_bisection *b, size_t index)
{
    cJSON *call = cJSON_Duplicate(cJSON_GetArrayItem(b->calls, (int)b->culprits[index]), true);
    const cJSON *behind = cJSON_GetObjectItemCaseSensitive(call, "behind");
    cJSON *partner =
        behind != NULL ? cJSON_Duplicate(cJSON_GetArrayItem(b->calls, (int)behind->valuedouble), true) : NULL;

    cJSON_DeleteItemFromObjectCaseSensitive(call, "after");
    cJSON_DeleteItemFromObjectCaseSensitive(partner, "after");
    cJSON_DeleteItemFromObjectCaseSensitive(call, "bad_first");
    if (partner != NULL)
        cJSON_ReplaceItemInObjectCaseSensitive(call, "behind", partner);
    return call;
}

static void print_node(const cJSON *call)
{
    const char *file = cli_json_text(call, "file");
    cli_print(stdout, "%s (%s)", cli_json_text(call, "name"), cli_json_text(call, "op"));
    if (file[0] != '\0')
        cli_print(stdout, " at %s", file);
    if (cli_json_number(call, "line") > 0)
        printf(":%.0f", cli_json_number(call, "line"));
}

/* Prints the first lines: those of Python come before those of C, of which a framework has very many. */
static void print_stack(const cJSON *call)
{
    enum { LINES = 6 };
    const cJSON *stack = cJSON_GetObjectItemCaseSensitive(call, "stack"), *line;
    int count = 0, all = cJSON_GetArraySize(stack);

    cJSON_ArrayForEach(line, stack)
    {
        if (count++ == LINES)
            break;
        fputs("        ", stdout);
        cli_print(stdout, "%s", cJSON_GetStringValue(line));
        putchar('\n');
    }
    if (all > LINES)
        printf("        and %d more (--json has them)\n", all - LINES);
}

static void print_partner(const cli_bisection *b, const cJSON *call)
{
    const cJSON *behind = cJSON_GetObjectItemCaseSensitive(call, "behind"), *partner;
    bool same;

    if (behind == NULL && strcmp(cli_json_text(call, "op"), "child graph") == 0) {
        puts("    the nodes of the child graph, launched one after the other, give another result: look at them "
             "with breakgraph check --attach --what=orders");
        return;
    }
    if (behind == NULL) {
        puts("    no earlier node is involved: launched by itself it gives another result than in the graph, or it "
             "comes too early in the graph for more than one node");
        return;
    }
    partner = cJSON_GetArrayItem(b->calls, (int)behind->valuedouble);
    same = strcmp(cli_json_text(partner, "graph"), cli_json_text(call, "graph")) == 0;
    fputs(same && !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(call, "bad_first"))
              ? "    it must not run at the same time as "
              : "    it must run after ",
          stdout);
    print_node(partner);
    fputc('\n', stdout);
    print_stack(partner);
    if (!same)
        puts("    they are in two graphs: the program must order the launches of the two graphs");
    else if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(call, "ordered")))
        puts("    the graph has a path between them: look for a programmatic dependency, with which a kernel begins "
             "before the one before it has ended");
    else
        puts("    nothing in the graph orders them: a wait is missing, such as cudaStreamWaitEvent in the capture");
}

static void print_line(const char *before, const char *line)
{
    cli_print(stdout, "%s %s", before, line != NULL ? line : "");
    fputc('\n', stdout);
}

void cli_attached_print_culprits(const cli_bisection *b, const char *good, const char *bad, double seconds)
{
    char *always = cli_attached_bad_command_line(b);

    for (size_t i = 0; i < b->found; i++) {
        const cJSON *call = cJSON_GetArrayItem(b->calls, (int)b->culprits[i]);
        printf("%sculprit%s ", cli_color_on(CLI_RED), cli_color_off());
        print_node(call);
        fputc('\n', stdout);
        print_stack(call);
        print_partner(b, call);
    }
    printf("%zu of %zu nodes, %zu trials, %.1f s\n", b->found, b->name_count, b->next, seconds);
    printf("confirmed: with %s launched outside of %s graph, the program is good in %d of %d trials\n",
           b->found == 1 ? "this node" : "these nodes", b->found == 1 ? "its" : "their", CLI_CONFIRMATIONS,
           CLI_CONFIRMATIONS);
    print_line("good:", good);
    print_line("bad: ", bad);
    if (always != NULL && always[0] != '\0')
        print_line("bad by order:", always);
    free(always);
}
