/* check --attach --what=recapture: values of a node in two runs, and which graphs are a pair. */
#include "tests/support/test.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/cli/recapture/compare_values.h"

/* ---- values ----------------------------------------------------------------------------------------------------- */

static char told[2000]; /* a line for each difference */

static void note_difference(void *user, const cli_value_difference *d)
{
    size_t used = strlen(told);
    (void)user;
    snprintf(told + used, sizeof told - used, "%s %d: %s | %s | %s\n", d->pointer ? "pointer" : "value", d->sure,
             d->what, d->sides[0], d->sides[1]);
}

/* Of a node of that kind with these values. Owners: 0 and 1 are allocations, 2 the second one in a pool, 3 in a pool.
 */
static void compare_values(const char *kind, const char *first, const char *second)
{
    static const char *const texts[] = {"{\"id\": \"made a 0\", \"text\": \"A\", \"stack\": \"alloc\\nmain\"}",
                                        "{\"id\": \"made b 0\", \"text\": \"A\", \"stack\": \"alloc\\nserve\"}",
                                        "{\"id\": \"made p 0\", \"text\": \"P\", \"stack\": \"\", \"pool\": true}",
                                        "{\"id\": \"made q 0\", \"text\": \"Q\", \"stack\": \"\", \"pool\": true}"};
    const cJSON *owners[4];
    const cli_run_process process = {.owners = owners, .owner_count = 4};
    static const char names[] =
        "{\"names\": {\"memset\": [\"the node's destination\", \"the length of a row\", \"the node's "
        "value\", \"the number of rows\", \"the node's pitch\"], \"allocation\": [\"the node's "
        "size\"], \"event record\": [\"the node's event\"], \"memcpy\": [\"the node's source\"]}}";
    const cli_run_graph graph = {.row = cJSON_Parse(names)};
    cli_node_pair pair = {.processes = {&process, &process}, .graphs = {&graph, &graph}};
    char text[500];

    for (size_t i = 0; i < 4; i++)
        owners[i] = cJSON_Parse(texts[i]);
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "{\"kind\": \"%s\", \"values\": [%s]}", kind, i == 0 ? first : second);
        pair.nodes[i] = cJSON_Parse(text);
        assert_non_null(pair.nodes[i]);
    }
    told[0] = '\0';
    (void)cli_node_compare(&pair, note_difference, NULL);
    for (int i = 0; i < 2; i++)
        cJSON_Delete((cJSON *)(uintptr_t)pair.nodes[i]);
    for (size_t i = 0; i < 4; i++)
        cJSON_Delete((cJSON *)(uintptr_t)owners[i]);
    cJSON_Delete((cJSON *)(uintptr_t)graph.row);
}

static void expect_values(const char *kind, const char *first, const char *second, const char *expected)
{
    compare_values(kind, first, second);
    assert_string_equal(told, expected);
}

TEST(test_numbers)
{
    expect_values("kernel", "\"0000003f\"", "\"0000003f\"", "");
    expect_values("kernel", "\"0000003f\"", "\"0000803e\"",
                  "value 2: kernel parameter 0 | is 0.5 (as integer 1056964608) | is 0.25 (as integer 1048576000)\n");
    expect_values("kernel", "\"07\", \"0700\"", "\"01\", \"0900\"",
                  "value 1: kernel parameter 0 | is 0x7 | is 0x1\nvalue 2: kernel parameter 1 | is 0x7 | is 0x9\n");
    expect_values("kernel", "\"00\"", "\"01\"", "value 2: kernel parameter 0 | is 0x0 | is 0x1\n");
    expect_values("kernel", "\"0002000000000000\"", "\"0008000000000000\"",
                  "value 2: kernel parameter 0 | is 512 | is 2048\n");
    expect_values("kernel", "\"000000000000e03f\"", "\"9a9999999999b93f\"",
                  "value 2: kernel parameter 0 | is 0.5 (as integer 4602678819172646912) | is 0.1 (as integer "
                  "4591870180066957722)\n");
    /* 5000000000, and 1.0000001: the upper halves are equal */
    expect_values("kernel", "\"00f2052a01000000\"", "\"01f2052a01000000\"",
                  "value 2: kernel parameter 0 | is 5000000000 | is 5000000001\n");
    expect_values("kernel", "\"9bf2d71a0000f03f\"", "\"35e5af350000f03f\"",
                  "value 2: kernel parameter 0 | is 1.0000001 (as integer 4607182419250377371) | is 1.0000002 (as "
                  "integer 4607182419700737333)\n");
    expect_values("memset", "\"0000000000100000@0:0+0\", \"0010000000000000\", \"03000000\"",
                  "\"0000000000200000@0:0+0\", \"0010000000000000\", \"05000000\"",
                  "value 2: the node's value | is 3 | is 5\n");
    expect_values("memset",
                  "\"0000000000100000@0:0+0\", \"2000000000000000\", \"00000000\", \"0300000000000000\", "
                  "\"4000000000000000\", \"0100000000000000\"",
                  "\"0000000000200000@0:0+0\", \"2000000000000000\", \"00000000\", \"0500000000000000\", "
                  "\"2000000000000000\", \"0100000000000000\"",
                  "value 2: the number of rows | is 3 | is 5\nvalue 2: the node's pitch | is 64 | is 32\n");
    expect_values("allocation", "\"0010000000000000\"", "\"0020000000000000\"",
                  "value 2: the node's size | is 4096 | is 8192\n");
}

/* Of an address in this process, "fc7f0000", or another start's. */
static void write_half(char half[9], const void *address, unsigned more)
{
    const unsigned upper = (unsigned)((uintptr_t)address >> 32) + more;
    snprintf(half, 9, "%02x%02x%02x%02x", upper & 255, upper >> 8 & 255, upper >> 16 & 255, upper >> 24);
}

/* Behind a value, the upper half of an address that was on the stack. */
TEST(test_halves_of_addresses)
{
    static int data;
    int local = 0;
    const void *const known[] = {&local, &data};
    char half[9], values[2][40];

    for (size_t i = 0; i < 2; i++) {
        if ((uintptr_t)known[i] >> 40 < 2)
            continue; /* a program that is not relocated has low addresses */
        for (unsigned k = 0; k < 2; k++) {
            write_half(half, known[i], k);
            snprintf(values[k], sizeof values[k],
                     "\"0000000000000000"
                     "05000000%s\"",
                     half);
        }
        compare_values("kernel", values[0], values[1]);
        assert_non_null(strstr(told, "value 0: kernel parameter 0, offset 12"));
    }
    expect_values("kernel", "\"00000000000000000500000000040000\"", "\"00000000000000000500000000080000\"",
                  "value 1: kernel parameter 0, offset 12, | is 1024 | is 2048\n");
}

/* A struct of an empty one and a float, and larger ones with padding. */
TEST(test_structs)
{
    const char *half = "value 2: kernel parameter 0, offset 4, | is 0.5 (as integer 1056964608) | is 0.25 (as integer "
                       "1048576000)\n";
    expect_values("kernel", "\"000000000000003f\"", "\"000000000000803e\"", half);
    expect_values("kernel", "\"00a1b2c30000003f\"", "\"00d4e5f60000803e\"", half);
    expect_values("kernel", "\"00a1b2c30000003f\"", "\"00d4e5f60000003f\"",
                  "value 0: kernel parameter 0, offset 0, | is -357.2578 (as integer -1011703552) | is -152710144\n");
    expect_values("kernel", "\"0000000000000000050000000000003f\"", "\"0000000000000000050000000000803e\"",
                  "value 1: kernel parameter 0, offset 12, | is 0.5 (as integer 1056964608) | is 0.25 (as integer "
                  "1048576000)\n");
    expect_values("kernel", "\"00040000a1b2c3d4a1b2c3d4e5f6a7b8\"", "\"00040000d1e2f3c4a1b2c3d4e5f6a7b8\"",
                  "value 0: kernel parameter 0, offset 4, | is -725372255 | is -1951.088 (as integer -990649647)\n");
    expect_values("kernel", "\"000000000000000000f2052a01000000\"", "\"0000000000000000005ed0b201000000\"",
                  "value 1: kernel parameter 0, offset 8, | is 5000000000 | is 7294967296\n");
    expect_values("kernel", "\"000000000000000005000000\" , \"050000000000803f\"",
                  "\"000000000000000005000000\" , \"070000000000803f\"",
                  "value 1: kernel parameter 1, offset 0, | is 5 | is 7\n");
    expect_values("kernel", "\"000000000000000007000000\"", "\"000000000000000009000000\"",
                  "value 1: kernel parameter 0, offset 8, | is 7 | is 9\n");
}

TEST(test_addresses)
{
    /* other addresses of one place */
    expect_values("kernel", "\"0000000000100000@0:0+0\"", "\"0000000000200000@0:0+0\"", "");
    expect_values("kernel", "\"00000000000000001000000000100000@8:0+16\"",
                  "\"00000000000000001000000000200000@8:0+16\"", "");
    expect_values("kernel", "\"0000000000100000@0:0+0\"", "\"1000000000100000@0:0+16\"",
                  "pointer 2: kernel parameter 0 | points to A | points to byte 16 of A\n");
    expect_values("kernel", "\"0000000000100000@0:0+0\"", "\"0000000000100000@0:1+0\"",
                  "pointer 2: kernel parameter 0 | points to A, for main | points to A, for serve\n");
    expect_values("kernel", "\"0000000000100000@0:0+0\"", "\"0000000000000000\"",
                  "pointer 2: kernel parameter 0 | points to A | is 0x0\n");
    expect_values("kernel", "\"0000000000100000@0:0+0\"", "\"0500000000000000\"",
                  "pointer 0: kernel parameter 0 | points to A | is 0x5\n");
    expect_values("kernel", "\"0000000000100000@0:2+0\"", "\"0000000000100000@0:3+512\"",
                  "pointer 0: kernel parameter 0 | points to P | points to byte 512 of Q\n");
}

/* ---- pairs ------------------------------------------------------------------------------------------------------ */

enum { MOST = 4 };

typedef struct graphs {
    cli_run_values run;
    cli_run_process process;
    cli_run_graph list[MOST];
    const cJSON *nodes[MOST];
    cJSON *rows[MOST];
} graphs;

/* Each "name place work": a graph of one node. */
static void make_graphs(graphs *g, const char *const *texts)
{
    memset(g, 0, sizeof *g);
    snprintf(g->process.key, sizeof g->process.key, "program 0");
    g->run = (cli_run_values){.processes = &g->process, .process_count = 1, .graphs = g->list};
    for (; texts[g->run.count] != NULL; g->run.count++) {
        const size_t i = g->run.count;
        char name[20], place[20], work[20], row[200];
        assert_int_equal(sscanf(texts[i], "%19s %19s %19s", name, place, work), 3);
        snprintf(row, sizeof row, "{\"name\": \"%s\", \"file\": \"%s\", \"kind\": \"kernel\", \"work\": \"%s\"}", name,
                 place, work);
        g->rows[i] = cJSON_Parse(row);
        g->nodes[i] = g->rows[i]; /* a row is a node, too */
        g->list[i] = (cli_run_graph){.name = cJSON_GetStringValue(cJSON_GetObjectItem(g->rows[i], "name")),
                                     .row = g->rows[i],
                                     .nodes = &g->nodes[i],
                                     .count = 1};
    }
}

/* expected: for each graph of the first run its index in the second, or "-". */
static void expect_pairs(const char *const *first, const char *const *second, const char *expected)
{
    graphs a, b;
    char found[MOST + 1] = "";

    make_graphs(&a, first);
    make_graphs(&b, second);
    cli_run_pair_graphs(&a.run, &b.run);
    for (size_t i = 0; i < a.run.count; i++) {
        found[i] = a.list[i].pair < 0 ? '-' : (char)('0' + a.list[i].pair);
        if (a.list[i].pair >= 0)
            assert_int_equal(b.list[a.list[i].pair].pair, (long)i);
    }
    assert_string_equal(found, expected);
    for (int i = 0; i < MOST; i++) {
        cJSON_Delete(a.rows[i]);
        cJSON_Delete(b.rows[i]);
    }
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
TEST(test_pairs)
{
    expect_pairs(LIST("graph#0 here add", "graph#1 here add"), LIST("graph#0 here add", "graph#1 here add"), "01");
    /* threads change the order of two places; and other work has another shape */
    expect_pairs(LIST("graph#0 here add", "graph#1 there add"), LIST("graph#0 there add", "graph#1 here add"), "10");
    expect_pairs(LIST("graph#0 here add", "graph#1 here mul"), LIST("graph#0 here mul", "graph#1 here add"), "10");
    expect_pairs(LIST("graph#0 here add"), LIST("graph#0 here mul"), "0");
    /* one that is left at another place */
    expect_pairs(LIST("graph#0 here add", "graph#1 there mul"), LIST("graph#0 here add", "graph#1 elsewhere mul"),
                 "01");
    /* which is which is not known, unless they have names */
    expect_pairs(LIST("graph#0 here add", "graph#1 here add"), LIST("graph#0 here add"), "--");
    expect_pairs(LIST("small here add", "large here add"), LIST("large here add"), "-0");
}

/* A run of two workers, each with a graph that holds these. */
static void make_workers(cli_run_values *run, cJSON *rows[2], const char *first, const char *second)
{
    const char *const values[] = {first, second};

    *run = (cli_run_values){.processes = calloc(2, sizeof *run->processes), .process_count = 2};
    run->graphs = calloc(2, sizeof *run->graphs);
    assert_non_null(run->processes);
    assert_non_null(run->graphs);
    for (size_t i = 0; i < 2; i++) {
        char row[200];
        snprintf(row, sizeof row, "{\"kind\": \"kernel\", \"values\": [%s]}", values[i]);
        rows[i] = cJSON_Parse(row);
        assert_non_null(rows[i]);
        run->processes[i] = (cli_run_process){.rank = -1, .group = "python3 "};
        snprintf(run->processes[i].key, sizeof run->processes[i].key, "python3 %zu", i);
        run->graphs[run->count++] = (cli_run_graph){
            .process = i, .name = "graph#0", .nodes = (const cJSON **)&rows[i], .row = rows[i], .count = 1};
    }
}

/* expected: of each worker of the first run, which one of the second is its pair. */
static void expect_workers(const char *const first[2], const char *const second[2], const char *expected)
{
    cJSON *rows[2][2];
    cli_run_values runs[2];
    char found[3] = "";

    make_workers(&runs[0], rows[0], first[0], first[1]);
    make_workers(&runs[1], rows[1], second[0], second[1]);
    cli_run_pair_processes(&runs[0], &runs[1]);
    cli_run_pair_graphs(&runs[0], &runs[1]);
    for (int i = 0; i < 2; i++)
        found[i] = (char)('0' + runs[0].graphs[i].pair);
    assert_string_equal(found, expected);
    for (int i = 0; i < 2; i++) {
        free(runs[i].processes);
        free(runs[i].graphs);
        for (int k = 0; k < 2; k++)
            cJSON_Delete(rows[i][k]);
    }
}

TEST(test_workers)
{
    /* the number of the worker, and a factor */
    expect_workers(LIST("\"00\", \"0000003f\"", "\"01\", \"0000003f\""),
                   LIST("\"00\", \"0000803e\"", "\"01\", \"0000803e\""), "01");
    expect_workers(LIST("\"00\", \"0000003f\"", "\"01\", \"0000003f\""),
                   LIST("\"01\", \"0000803e\"", "\"00\", \"0000803e\""), "10");
    /* nothing tells */
    expect_workers(LIST("\"00\"", "\"00\""), LIST("\"01\"", "\"01\""), "01");
    /* a graph that only one of them has, wherever its parameters lie */
    expect_workers(LIST("\"0000000000100000@0:0+0\"", "\"07\", \"07\""),
                   LIST("\"07\", \"07\"", "\"0000000000200000@0:0+0\""), "10");
}
