/* What test_page.sh looks at: pages of reports.
 *   pages page JSON HTML             reads the one and writes the other
 *   pages large JSON CALLS SEGMENTS  the report of a large pass: that many op calls in segments, 30 findings, 20 trials
 */
#include <breakgraph/breakgraph.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FINDINGS = 30, TRIALS = 20, NODES_OF_A_CALL = 3, CULPRIT = 317 };

static int calls, segments;

static const char *const ops[] = {"rms_norm", "qkv", "rope", "project", "gate", "up", "down"};
enum { OPS = sizeof ops / sizeof ops[0] };

static int segment_of(int call)
{
    return (int)((long)call * segments / calls);
}

/* The last call before each further segment. */
static bool is_eager(int call)
{
    return call + 1 < calls && segment_of(call) != segment_of(call + 1);
}

static bool is_first(int call)
{
    return call == 0 || is_eager(call - 1);
}

/* Valid until the next call. */
static const char *name_of(int call)
{
    static char name[32];
    if (is_eager(call))
        snprintf(name, sizeof name, "attention#%d", segment_of(call));
    else
        snprintf(name, sizeof name, "%s#%d", ops[call % OPS], call / OPS);
    return name;
}

static const char *comma(bool more)
{
    return more ? "," : "";
}

static void write_findings(FILE *out)
{
    static const char *const severities[] = {"note", "warning", "fault"};
    for (int i = 0; i < FINDINGS; i++) {
        int call = i == 0 ? CULPRIT : (i * 89) % calls;
        fprintf(out,
                "{\"kind\": \"%s\", \"severity\": \"%s\", \"call\": \"%s\", \"file\": \"engine/layers/model.c\", "
                "\"line\": %d, \"message\": \"finding %d: what is wrong with this call, in a sentence that is long "
                "enough for two lines on a narrow screen\", \"advice\": \"what to do\"}%s\n",
                i == 0 ? "culprit" : "mismatch-origin", i == 0 ? "fault" : severities[i % 3], name_of(call), 10 + call,
                i, comma(i + 1 < FINDINGS));
    }
}

static void write_steps(FILE *out)
{
    for (int i = 0; i < calls; i++) {
        if (is_first(i))
            fprintf(out, "{\"kind\": \"launch\", \"segment\": %d}%s\n", segment_of(i),
                    comma(segment_of(i) + 1 < segments));
        if (is_eager(i))
            fprintf(out, "{\"kind\": \"call\", \"call\": \"%s\"},\n", name_of(i));
    }
}

static void write_calls(FILE *out)
{
    for (int i = 0; i < calls; i++)
        fprintf(out,
                "{\"name\": \"%s\", \"op\": \"%s\", \"file\": \"engine/layers/model.c\", \"line\": %d, \"eager\": %s, "
                "\"segment\": %d}%s\n",
                name_of(i), is_eager(i) ? "attention" : ops[i % OPS], 10 + i, is_eager(i) ? "true" : "false",
                is_eager(i) ? -1 : segment_of(i), comma(i + 1 < calls));
}

/* Each segment forks at its fourth call and joins at its fifth. */
static void write_nodes(FILE *out)
{
    const char *between = "";
    int first = 0;
    for (int i = 0; i < calls; i++) {
        if (is_first(i))
            first = i;
        if (is_eager(i))
            continue;
        for (int k = 0; k < NODES_OF_A_CALL; k++) {
            int node = (i - first) * NODES_OF_A_CALL + k;
            char after[16] = "";
            if (node > 0)
                snprintf(after, sizeof after, "%d", k == 0 && i - first == 3 ? node - 4 : node - 1);
            fprintf(out,
                    "%s{\"segment\": %d, \"node\": %d, \"kind\": \"kernel\", \"kernel\": \"bgk_work\", \"call\": "
                    "\"%s\", \"lane\": %d, \"after\": [%s]}\n",
                    between, segment_of(i), node, name_of(i), i - first == 3, after);
            between = ",";
        }
    }
}

static void write_trial(FILE *out, int first, int count, const char *verdict, bool more)
{
    fprintf(out, "{\"eager\": [");
    for (int i = 0; i < count; i++)
        fprintf(out, "\"%s\"%s", name_of(first + i), comma(i + 1 < count));
    fprintf(out, "], \"all\": false, \"why\": \"search\", \"verdict\": \"%s\", \"seconds\": 0.5}%s\n", verdict,
            comma(more));
}

/* A search for the culprit by halves, and then that one again and again. */
static void write_trials(FILE *out)
{
    int low = 0, high = calls;
    for (int i = 0; i < TRIALS; i++) {
        int middle = (low + high) / 2;
        if (high - low > 1)
            write_trial(out, 0, middle, CULPRIT < middle ? "good" : "bad", true);
        else
            write_trial(out, CULPRIT, 1, "good", i + 1 < TRIALS);
        if (high - low > 1 && CULPRIT < middle)
            high = middle;
        else if (high - low > 1)
            low = middle;
    }
}

static void write_comparisons(FILE *out)
{
    for (int i = 0; i < calls; i++)
        fprintf(out,
                "{\"call\": \"%s\", \"field\": \"y\", \"file\": \"engine/layers/model.c\", \"line\": %d, \"against\": "
                "\"eager\", \"dtype\": \"bf16\", \"elements\": 4194304, \"differing\": %d, \"beyond\": %d, \"first\": "
                "7, \"absolute\": %g, \"relative\": %g, \"ulp\": %d, \"nan\": [0, 0], \"infinite\": [0, 0]}%s\n",
                name_of(i), 10 + i, i * 7, i >= CULPRIT ? (i - CULPRIT) * 3 : 0, i * 1e-5, i * 1e-4, i,
                comma(i + 1 < calls));
}

static int write_large(const char *path)
{
    FILE *out = fopen(path, "w");
    bool good;

    if (out == NULL)
        return 1;
    fprintf(out, "{\"breakgraph\": \"0.1.0\", \"report_version\": 2, \"tool\": \"bisect\", \"graph\": \"large\", "
                 "\"lost\": 0,\n\"findings\": [\n");
    write_findings(out);
    fprintf(out, "],\n\"outline\": {\"name\": \"large\", \"breaks\": %d, \"capture_ms\": 41.5, \"segments\": [\n",
            segments - 1);
    for (int i = 0; i < segments; i++)
        fprintf(out, "{\"nodes\": %d, \"kernel_nodes\": %d}%s\n", NODES_OF_A_CALL * calls / segments,
                NODES_OF_A_CALL * calls / segments, comma(i + 1 < segments));
    fprintf(out, "],\n\"steps\": [\n");
    write_steps(out);
    fprintf(out, "],\n\"calls\": [\n");
    write_calls(out);
    fprintf(out, "],\n\"nodes\": [\n");
    write_nodes(out);
    fprintf(out, "]},\n\"comparisons\": [\n");
    write_comparisons(out);
    fprintf(out, "],\n\"trials\": [\n");
    write_trials(out);
    fprintf(out, "]}\n");
    good = ferror(out) == 0;
    return fclose(out) == 0 && good ? 0 : 1;
}

static int write_page(const char *from, const char *to)
{
    bg_report *report = NULL;
    bg_status status = bg_report_read(&report, from);

    if (status == BG_OK)
        status = bg_report_write(report, BG_HTML, to);
    if (status != BG_OK)
        fprintf(stderr, "%s: %s\n", bg_status_name(status), bg_last_error());
    bg_report_destroy(report);
    return status != BG_OK;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "page") == 0)
        return write_page(argv[2], argv[3]);
    if (argc == 5 && strcmp(argv[1], "large") == 0) {
        calls = atoi(argv[3]);
        segments = atoi(argv[4]);
        return write_large(argv[2]);
    }
    fprintf(stderr, "usage: pages page JSON HTML | pages large JSON CALLS SEGMENTS\n");
    return 2;
}
