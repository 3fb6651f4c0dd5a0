/* run --seeds: runs a program once with each seed of the host device, which selects an order of work. */
#include <breakgraph/breakgraph.h>
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "debug/cli/arguments/flags.h"
#include "debug/cli/arguments/next_command.h"
#include "debug/cli/observe/observe.h"
#include "debug/cli/output/cli_json.h"
#include "debug/cli/output/cli_files.h"
#include "debug/cli/process/signals.h"
#include "run_command.h"

enum { MOST_SEEDS = 100000, LINE_SHOWN = 60, FINDINGS_SHOWN = 100 };

typedef struct seed_result {
    int status;         /* as in a shell: 128 + N for signal N; CLI_HANGS after --timeout */
    bool hangs;         /* it was killed after --timeout */
    uint64_t output;    /* a digest */
    char line[160];     /* "line 3: TEXT", the first that differs from seed 0; "": none does */
    char findings[160]; /* "race fused_add#0, ..."; "": none */
    int first, count;   /* of a group: its first seed, and how many seeds have this result */
} seed_result;

typedef struct seed_runs {
    const cli_arguments *arguments;
    cli_observation o;
    int count;
    seed_result *results; /* one for each seed */
    seed_result *groups;
    int *group_of; /* the group of each seed */
    int group_count;
    char *first; /* output of seed 0 */
    bool varies; /* one seed gives several outputs, so that the output is ignored */
    bool findings;
    bool linked;       /* a run has used the library */
    cli_status judged; /* with --strict: the status of the first run without findings that cannot be judged */
} seed_runs;

/* ---- one run ---- */

/* Records the first line that differs. Texts end at their first zero byte. */
static void record_line(const char *first, const char *text, seed_result *r)
{
    int number = 1;
    size_t same = 0, begin = 0, length;

    while (first[same] != '\0' && first[same] == text[same]) {
        if (first[same] == '\n') {
            begin = same + 1;
            number++;
        }
        same++;
    }
    if (first[same] == text[same])
        return;
    length = strcspn(text + begin, "\n");
    if (text[begin] == '\0')
        snprintf(r->line, sizeof r->line, "line %d is missing", number);
    else
        snprintf(r->line, sizeof r->line, "line %d: %.*s%s", number, length < LINE_SHOWN ? (int)length : LINE_SHOWN,
                 text + begin, length > LINE_SHOWN ? "..." : "");
    bg__escape_unprintable(r->line, sizeof r->line);
}

static void record_findings(const cli_gathered *gathered, seed_result *r)
{
    const cJSON *report, *finding;
    size_t used = 0;
    cJSON_ArrayForEach(report, gathered->reports)
    {
        cJSON_ArrayForEach(finding, cJSON_GetObjectItemCaseSensitive(report, "findings"))
        {
            char one[FINDINGS_SHOWN];
            if (strcmp(cli_json_text(finding, "severity"), "note") == 0)
                continue;
            snprintf(one, sizeof one, "%s%s%s", cli_json_text(finding, "kind"),
                     cli_json_text(finding, "call")[0] != '\0' ? " " : "", cli_json_text(finding, "call"));
            if (strstr(r->findings, one) == NULL && used + strlen(one) + 2 < sizeof r->findings)
                used +=
                    (size_t)snprintf(r->findings + used, sizeof r->findings - used, "%s%s", used > 0 ? ", " : "", one);
        }
    }
    bg__escape_unprintable(r->findings, sizeof r->findings);
}

/* Returns the output of a run, which the caller frees. */
static char *read_output(const seed_runs *s)
{
    char *path = cli_join_path(s->o.place, "output"), *text = NULL;
    size_t bytes = 0;

    if (path != NULL)
        text = cli_file_read(path, false, &bytes);
    free(path);
    return text;
}

static cli_status judge_run(seed_runs *s, const cli_gathered *gathered, const cli_end *end, seed_result *r)
{
    char *text;

    if (end->how == CLI_UNSTARTED)
        return cli_observed_print_end(&s->o, end);
    if (end->how == CLI_STOPPED)
        return CLI_INTERRUPTED;
    if (gathered->gpu)
        return cli_print_message(CLI_USAGE, "'%s' runs on a GPU: --seeds selects orders of the host device",
                                 s->o.argv[0]);
    text = read_output(s);
    if (text == NULL)
        return cli_print_message(CLI_FAILED, "%s", bg_last_error());
    r->hangs = end->how == CLI_TIMED_OUT;
    r->status = r->hangs ? CLI_HANGS : end->how == CLI_KILLED ? 128 + end->code : end->code;
    r->output = bg__text_hash(text);
    record_findings(gathered, r);
    s->linked |= gathered->processes > 0 && cli_given_value(s->arguments, "--attach") == NULL;
    if (s->judged == CLI_OK && r->status == 0 && r->findings[0] == '\0' &&
        cli_given_value(s->arguments, "--strict") != NULL)
        s->judged = cli_run_judge(gathered, s->o.argv[0]);
    if (s->first != NULL)
        record_line(s->first, text, r);
    else
        s->first = text;
    if (s->first != text)
        free(text);
    return CLI_OK;
}

static cli_status run_seed(seed_runs *s, int seed, seed_result *r)
{
    char number[16];
    const char *set[] = {"HOSTCUDA_SEED", number, NULL};
    cli_gathered gathered;
    cli_end end = {.how = CLI_UNSTARTED};
    cli_status status;

    snprintf(number, sizeof number, "%d", seed);
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[Kseed %d of %d", seed, s->count);
    s->o.set = set;
    *r = (seed_result){.first = seed};
    status = cli_observe(&s->o, &gathered, &end);
    s->o.set = NULL;
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
    if (status == CLI_OK)
        status = judge_run(s, &gathered, &end, r);
    cli_gathered_clear(&gathered);
    return status;
}

/* ---- equal results ---- */

static bool is_equal(const seed_runs *s, const seed_result *a, const seed_result *b)
{
    return a->status == b->status && a->hangs == b->hangs && strcmp(a->findings, b->findings) == 0 &&
           (s->varies || a->output == b->output);
}

static void group_results(seed_runs *s)
{
    s->group_count = 0;
    for (int i = 0; i < s->count; i++) {
        int g = 0;
        while (g < s->group_count && !is_equal(s, &s->groups[g], &s->results[i]))
            g++;
        if (g == s->group_count) {
            s->groups[s->group_count] = s->results[i];
            s->groups[s->group_count++].count = 0;
        }
        s->groups[g].count++;
        s->group_of[i] = g;
        s->findings |= s->results[i].findings[0] != '\0';
    }
}

/* Runs one seed twice: the output of a program that prints times or addresses differs, and is then ignored. */
static cli_status group_repeatable_results(seed_runs *s)
{
    seed_result again;
    cli_status status = CLI_OK;

    group_results(s);
    if (s->group_count > 1)
        status = run_seed(s, 0, &again);
    if (status == CLI_OK && s->group_count > 1 && again.output != s->results[0].output) {
        s->varies = true;
        group_results(s);
    }
    return status;
}

/* ---- the table ---- */

/* "0, 2-4" */
static void format_seeds(const seed_runs *s, int group, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < s->count && used < room; i++) {
        int last = i;
        if (s->group_of[i] != group)
            continue;
        while (last + 1 < s->count && s->group_of[last + 1] == group)
            last++;
        if (last == i)
            used += (size_t)snprintf(text + used, room - used, "%s%d", used > 0 ? ", " : "", i);
        else
            used += (size_t)snprintf(text + used, room - used, "%s%d-%d", used > 0 ? ", " : "", i, last);
        i = last;
    }
    if (used >= room)
        snprintf(text + room - 4, 4, "...");
}

static void print_table(const seed_runs *s)
{
    printf("%-24s %5s  %-6s  %-8s  %s\n", "seeds", "runs", "status", "output", "findings; first line that differs");
    for (int g = 0; g < s->group_count; g++) {
        const seed_result *r = &s->groups[g];
        bool line = !s->varies && r->line[0] != '\0';
        char list[24], status[16], digest[16];
        format_seeds(s, g, list, sizeof list);
        snprintf(status, sizeof status, r->hangs ? "hangs" : "%d", r->status);
        snprintf(digest, sizeof digest, s->varies ? "varies" : "%08x", (unsigned)(r->output ^ r->output >> 32));
        printf("%-24s %5d  %-6s  %-8s  %s%s%s\n", list, r->count, status, digest,
               r->findings[0] != '\0' ? r->findings : "-", line ? "; " : "", line ? r->line : "");
    }
}

/* Returns the group that is called bad: the first group with an exit status other than 0. If there is none, but there
 * are several groups: the second group, whose result differs from that of the order of issue. */
static int find_bad_group(const seed_runs *s)
{
    for (int g = 0; g < s->group_count; g++)
        if (s->groups[g].status != 0)
            return g;
    return s->group_count > 1 ? 1 : 0;
}

static void print_command(const seed_runs *s, const char *lead, int seed, const char *command)
{
    char number[16];
    snprintf(number, sizeof number, "%d", seed);
    if (seed >= 0)
        (void)setenv("HOSTCUDA_SEED", number, 1);
    else
        (void)unsetenv("HOSTCUDA_SEED");
    cli_print_next_command(stdout, lead, s->arguments, command);
}

/* The next command if all seeds have one result. An eager pass explains a wrong result, but no crash or hang. */
static const char *choose_next(const seed_runs *s)
{
    const cli_end end = {.how = CLI_EXITED, .code = s->groups[0].status};
    int signal;

    if (!s->linked)
        return "check --attach";
    if (s->findings)
        return "check";
    return s->groups[0].hangs || cli_is_crash(&end, &signal) ? "step" : "run --debug=forward";
}

static void print_result(const seed_runs *s)
{
    int bad = s->groups[find_bad_group(s)].first;

    print_table(s);
    if (s->group_count == 1) {
        printf("%d seeds: all give the same result, with exit status %d\n", s->count, s->groups[0].status);
        print_command(s, s->groups[0].status == 0 && !s->findings ? "next, if the result is wrong" : "next", -1,
                      choose_next(s));
        return;
    }
    printf("%d seeds: %d results:", s->count, s->group_count);
    for (int g = 0; g < s->group_count; g++)
        printf("%s %d %s %d", g > 0 ? "," : "", s->groups[g].count, "as seed", s->groups[g].first);
    printf("; the order of work decides\n");
    print_command(s, "bad", bad, "run");
    if (s->linked)
        print_command(s, "next", bad, "check --what=graph");
    print_command(s, s->linked ? "next, if that finds nothing" : "next, if it launches graphs", bad,
                  "check --attach --what=orders");
}

/* ---- the command ---- */

static cli_status read_seeds(seed_runs *s)
{
    const char *value = cli_given_value(s->arguments, "--seeds");
    char *end = NULL;
    long number = strtol(value, &end, 10);

    if (strcmp(bg_device_kind(), "host") != 0)
        return cli_print_message(CLI_USAGE,
                                 "--seeds selects orders of the host device, and this breakgraph is built for "
                                 "NVIDIA's CUDA runtime: build it and the program with DEVICE=host");
    if (!isdigit((unsigned char)value[0]) || *end != '\0' || number < 1 || number > MOST_SEEDS)
        return cli_print_message(CLI_USAGE, "'--seeds=%s': allowed are whole numbers from 1 to %d", value, MOST_SEEDS);
    if (cli_given_value(s->arguments, "--reports") != NULL)
        return cli_print_message(
            CLI_USAGE, "--reports and --seeds exclude each other: each seed has reports of its own; give one");
    s->count = (int)number;
    s->results = calloc((size_t)number, sizeof *s->results);
    s->groups = calloc((size_t)number, sizeof *s->groups);
    s->group_of = calloc((size_t)number, sizeof *s->group_of);
    if (s->results == NULL || s->groups == NULL || s->group_of == NULL)
        return cli_print_message(CLI_FAILED, "out of host memory");
    return CLI_OK;
}

static int get_status(const seed_runs *s)
{
    if (s->group_count > 1)
        return CLI_NONDETERMINISTIC;
    if (s->groups[0].status == 0 && s->findings && cli_given_value(s->arguments, "--strict") != NULL)
        return CLI_FAILED;
    if (s->groups[0].status == 0 && s->judged == CLI_UNJUDGED)
        (void)cli_print_message(CLI_UNJUDGED,
                                "exit status 14, because of --strict: a run was not compared, or not all of it");
    if (s->groups[0].status == 0 && !s->findings)
        return s->judged;
    return s->groups[0].status;
}

int cli_run_seeds(const cli_arguments *arguments, int ranks)
{
    seed_runs s = {.arguments = arguments, .o = {.argv = arguments->rest, .quiet = true, .ranks = ranks}};
    char *place = NULL;
    int status = cli_read_timeout(arguments, &s.o.timeout);

    if (status == CLI_OK)
        status = read_seeds(&s);
    if (status == CLI_OK)
        status = cli_signals_catch();
    if (status == CLI_OK) {
        s.o.place = place = cli_temporary_directory_create();
        status = place != NULL ? CLI_OK : CLI_FAILED;
    }
    for (int i = 0; i < s.count && status == CLI_OK; i++)
        status = run_seed(&s, i, &s.results[i]);
    if (status == CLI_OK)
        status = group_repeatable_results(&s);
    if (status == CLI_OK) {
        print_result(&s);
        status = get_status(&s);
    }
    cli_temporary_directory_remove(place);
    free(place);
    free(s.results);
    free(s.groups);
    free(s.group_of);
    free(s.first);
    return status;
}
