#include "base/variables.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define PATTERNS                                                                                                       \
    "names of ops, paths like attention#0/rope#1, '*' for any characters, '!' before a name to capture it, commas "    \
    "between"
#define A_DIRECTORY "directories that exist and can be written into"

/* In the order of the help text; the rows of a group are adjacent. */
const bg__variable bg__variables[] = {
    {"BG_DEBUG", "capture", BG__FORM_CHOICE, "off|forward|ops|sync|step", .fallback = "off",
     .text = "forward: the pass is one eager call; ops: all ops are eager; sync: checks after each segment and "
             "eager call; step: after each node"},
    {"BG_EAGER_OPS", "capture", BG__FORM_PATTERNS, "PATTERNS", .fallback = "",
     .allowed = PATTERNS "; or @FILE, a readable file of such patterns",
     .text = "run these ops eagerly: \"attention,moe_*,rope#3,!sample_*\"; @FILE reads patterns from a file"},
    {"BG_BREAKABLE", "capture", BG__FORM_CHOICE, "0|1", .fallback = "1",
     .text = "0 captures every op, also those that are declared eager"},
    {"BG_FOREIGN_INLINE", "capture", BG__FORM_CHOICE, "0|1", .fallback = "0",
     .text = "1 lets an eager op run in a capture that breakgraph did not begin, which then contains its work; 0: "
             "an error"},

    {"BG_COMPILE", "compile", BG__FORM_CHOICE, "0|1|2|3|none|as-is|once|piecewise", .fallback = "0",
     .text = "replace runs of op calls by the ops of rules; 1: only list where; 2: rules for any shape; 3: also "
             "rules for some shapes"},
    {"BG_COMPILE_OPS", "compile", BG__FORM_PATTERNS, "PATTERNS", .fallback = "",
     .allowed =
         "names of rules' ops like add_rms_norm, or add_rms_norm#3, '*' for any characters, '!' before a name to "
         "leave it out, commas between; or @FILE, a readable file of such patterns",
     .text = "with BG_COMPILE: use only these rules, or only in these places: \"add_*,!rope_append#3\""},
    {"BG_COMPILE_PROVE", "compile", BG__FORM_CHOICE, "once|always|off", .fallback = "once",
     .text = "with BG_COMPILE: compare the result of each rule with that of its calls, once for each shape, in each "
             "capture, or never"},
    {"BG_COMPILE_PRINT", "compile", BG__FORM_CHOICE, "0|1", .fallback = "0",
     .text = "with BG_COMPILE: 1 prints the calls of each segment, before and after rules are used"},

    {"BG_CHECK", "check", BG__FORM_CHOICES, "off|graph|replay|recapture|poison|orders|padding|inputs",
     .fallback = "off",
     .allowed = "off, or some of graph, replay, recapture, poison, orders, padding, inputs with commas between",
     .text = "graph: bg_check; replay: addresses; recapture: two captures; poison: unwritten memory; padding: rows; "
             "orders, inputs: --attach"},
    {"BG_SHADOW", "check", BG__FORM_CHOICE, "0|1|calls", .fallback = "0",
     .text =
         "1 compares the outputs of each replay with those of an eager pass; the value calls also compares each op call"},
    {"BG_TOLERANCE", "check", BG__FORM_TOLERANCES, "SPEC", .fallback = "",
     .allowed = "items separated by ';', each LIMIT,LIMIT... or NAME:LIMIT,LIMIT...; LIMIT: abs=X, rel=X or ulp=N; "
                "NAME: a dtype or a pattern of op calls",
     .text = "differences that comparisons accept, by dtype and op: \"f16:ulp=4; attention:rel=1e-3,abs=1e-6\""},
    {"BG_STEP_STOP", "check", BG__FORM_TEXT, "CALL", .fallback = "", .allowed = "an op call (rope#3) or a number",
     .text = "with BG_DEBUG=step: stop replays after this op call (rope#3), or after the node, eager call, copy or "
             "event of this index, from 0"},
    {"BG_STEP_FROM", "check", BG__FORM_TEXT, "CALL", .fallback = "", .allowed = "an op call (rope#3) or a number",
     .text = "with BG_DEBUG=step: step the first replay from this op call (rope#3) or index on; the steps before it "
             "run as in a replay"},
    {"BG_STEP_DUMP", "check", BG__FORM_DUMP, "DIR", .fallback = "",
     .allowed =
         "a directory that can be made or written, without an index.json: dumps are not overwritten, but a stopped "
         "one is continued",
     .text = "with BG_DEBUG=step: write tensors of op calls (with --attach: what nodes wrote) at the first replay "
             "into this directory, as .npy"},
    {"BG_STEP_GRAPHS", "check", BG__FORM_PATTERNS, "PATTERNS", .fallback = "",
     .allowed = "names of graphs like graph#0, '*' for any characters, '!' before a name to leave it out, commas "
                "between",
     .text = "with BG_DEBUG=step: step only these graphs: \"graph#0\", \"decode*\""},
    {"BG_STEP_REPLAYS", "check", BG__FORM_RANGE, "N-M", .fallback = "",
     .allowed = "a number from 0 on, or two with '-' between, such as 0-3, or one with '-' behind, such as 3-",
     .text = "with BG_DEBUG=step: step only these replays of each graph, counted from 0: \"5\", \"0-3\""},
    {"BG_HANG", "check", BG__FORM_CHOICE, "0|1", .fallback = "0",
     .text = "with BG_REPORT: 1 follows the nodes of graphs, to name the one that hangs (check and step with "
             "--timeout)"},

    {"BG_REPORT", "files", BG__FORM_DIRECTORY, "DIR", .fallback = "", .allowed = A_DIRECTORY,
     .text = "write reports of graphs and tools into this directory, as JSON"},
    {"BG_TRACE", "files", BG__FORM_FILE, "FILE", .fallback = "",
     .allowed = "files that can be written, in directories that exist",
     .text = "write a timeline of the first replay into this file, for Perfetto"},
    {"BG_DOT", "files", BG__FORM_DIRECTORY, "DIR", .fallback = "", .allowed = A_DIRECTORY,
     .text = "write each segment of each graph into this directory, as DOT"},
    {"BG_NVTX", "files", BG__FORM_CHOICE, "0|1", .fallback = "1 under a profiler",
     .text = "1 marks segments, breaks and ops as NVTX ranges, which profilers show"},

    {"BG_ATTACH_DRIVER", "attach", BG__FORM_FILE, "FILE", .fallback = "", .allowed = "the path of a CUDA driver",
     .text = "the driver that the shim of --attach stands in front of; the command sets it"},
    {"BG_ATTACH_TOOLS", "attach", BG__FORM_FILE, "FILE", .fallback = "",
     .allowed = "the path of libbreakgraph_tools.so",
     .text = "the library that the shim of --attach loads; the command sets it"},
    {"BG_ATTACH_FATAL", "attach", BG__FORM_CHOICE, "0|1", .fallback = "0",
     .text = "with --attach: 1 ends the program at the first fault that a check finds (check --fatal)"},
    {"BG_ATTACH_RUN", "attach", BG__FORM_CHOICE, "1|2", .fallback = "1",
     .text = "which of its two values breakgraph.vary returns; check --attach --what=recapture sets it"},
    {"BG_ATTACH_ORDERS", "attach", BG__FORM_INTEGER, "N", 0, 1000, .fallback = "0",
     .text = "with BG_CHECK=orders: how many orders to compare; 0: one for each branch, and two random ones"},
    {"BG_ATTACH_PROBE", "attach", BG__FORM_NODES, "PATTERNS", .fallback = "", .allowed = "nodes as in BG_ATTACH_BREAK",
     .text = "with --attach: count NaN in what these nodes write, within the graph (run --probe)"},
    {"BG_ATTACH_SHADOW", "attach", BG__FORM_CHOICE, "0|1", .fallback = "0",
     .text = "with --attach: 1 compares each launch of a graph with its nodes, one after the other (run --shadow)"},
    {"BG_ATTACH_SNAPSHOT_LIMIT", "attach", BG__FORM_INTEGER, "MIB", 0, 1 << 24, .fallback = "0",
     .text = "with --attach: a graph that may write more MiB of memory than this is not run again; 0: half of the "
             "device's free memory"},
    {"BG_ATTACH_BREAK", "attach", BG__FORM_NODES, "PATTERNS", .fallback = "",
     .allowed =
         "nodes like flash_*, graph#0/scale#3, graph#0/[12-55] or model.py:31, '!' before a pattern to leave it in "
         "the graph, '^' to launch it before all nodes that it does not depend on, commas between; or @FILE, a "
         "readable file of such patterns",
     .text = "with --attach: launch these nodes outside of their graphs (run --break): \"flash_*\", \"graph#0/[12]\""},

    {"BG_RUNNER_MODE", "runner", BG__FORM_CHOICE, "none|piecewise|full|full_decode_only|full_and_piecewise",
     .fallback = "piecewise", .text = "how a runner runs its batches: as segments, as full graphs, or without a graph"},
    {"BG_RUNNER_SCHEDULE", "runner", BG__FORM_SIZES, "SIZES", .fallback = "powers",
     .allowed = "sglang, atom, vllm, powers, or ascending positive numbers with commas between, such as \"1,2,4,8\"",
     .text = "the batch sizes to capture: the name of a schedule, or a list"},
    {"BG_RUNNER_MAX_TOKENS", "runner", BG__FORM_INTEGER, "N", 1, BG__TOKENS_MAX, .fallback = "512",
     .text = "tokens of the largest batch that runs as a graph"},
    {"BG_RUNNER_MAX_QUERY_LEN", "runner", BG__FORM_SIZES, "N", .fallback = "1",
     .allowed = "ascending positive numbers with commas between, such as \"1,4\"",
     .text = "tokens of each request in a decode batch; a list captures graphs for each number"},
    {"BG_RUNNER_WARMUPS", "runner", BG__FORM_INTEGER, "N", 0, 100, .fallback = "1",
     .text = "passes that run before each capture"},
    {"BG_RUNNER_MAX_PADDING", "runner", BG__FORM_RATIO, "RATIO", 1, HUGE_VAL, .fallback = "0",
     .allowed = "0, for no limit, and ratios of 1 or more, such as 1.5",
     .text = "run a batch eagerly where captured size / tokens is above this ratio"},
    {"BG_RUNNER_EAGER_OPS", "runner", BG__FORM_PATTERNS, "PATTERNS", .fallback = "", .allowed = PATTERNS,
     .text = "ops that runners run eagerly; the patterns of BG_EAGER_OPS are applied after these"},
    {"BG_RUNNER_LAZY", "runner", BG__FORM_CHOICE, "no|on-demand|background|false|true|0|1", .fallback = "no",
     .text = "when sizes are captured: at the start, by the first batch that needs one, or between batches"},
    {"BG_RUNNER_COPY_INPUTS", "runner", BG__FORM_CHOICE, "true|false|1|0", .fallback = "true",
     .text = "false: the program writes into the static input buffers itself"},
    {"BG_RUNNER_MEMORY_LIMIT", "runner", BG__FORM_BYTES, "BYTES", .fallback = "0",
     .allowed = "bytes, 0 for no limit; K, M or G may follow the number",
     .text = "most device memory that the pool of a runner may take, such as 2G"},
    {"BG_RUNNER_DEBUG", "runner", BG__FORM_CHOICE, "env|off|forward|ops|sync|step", .fallback = "env",
     .text = "BG_DEBUG for runners only; env uses the value of BG_DEBUG"},
    {"BG_RUNNER_WORKER_THREADS", "runner", BG__FORM_INTEGER, "N", 0, 64, .fallback = "0",
     .text = "threads that instantiate graphs; 0: the capturing thread does"},
    {"BG_RUNNER_VARIANTS", "runner", BG__FORM_INTEGER, "N", 0, 64, .fallback = "0",
     .text = "number of variants that are captured; 0 means 1"},
    {"BG_RUNNER_MEMORY_FRACTION", "runner", BG__FORM_RATIO, "PART", 0, 1, .fallback = "0",
     .allowed = "0, for no limit, and numbers up to 1, such as 0.2",
     .text = "largest part of the device's memory that the pool of a runner may take"},
    {"BG_RUNNER_LEVEL", "runner", BG__FORM_CHOICE, "env|0|1|2|3|none|as-is|once|piecewise", .fallback = "env",
     .text = "BG_COMPILE for runners only; env uses the value of BG_COMPILE"},
    {"BG_RUNNER_COMPILE_SIZES", "runner", BG__FORM_SIZES, "SIZES", .fallback = "schedule",
     .allowed = "schedule, or ascending positive numbers with commas between, such as \"1,2,4\"",
     .text = "with level 3: the sizes that may use rules that are specialised for shapes"},

    {"BG_RANKS_SOCKET", "ranks", BG__FORM_TEXT, "PATH", .fallback = "", .allowed = "paths of up to 107 bytes",
     .text = "a Unix-domain socket where ranks of one machine meet, instead of at MASTER_ADDR and MASTER_PORT"},
    {"BG_RANKS_TOKEN", "ranks", BG__FORM_SECRET, "TEXT", .fallback = "", .allowed = "text of up to 255 bytes",
     .text = "a secret of the job: only ranks that know it may join"},
    {"BG_RANKS_BIND", "ranks", BG__FORM_ADDRESS, "ADDRESS", .fallback = "127.0.0.1",
     .allowed = "names and addresses that this machine can resolve",
     .text = "the address on which rank 0 listens; one that is not loopback needs BG_RANKS_TOKEN"},
    {"BG_RANKS_TIMEOUT", "ranks", BG__FORM_SECONDS, "SECONDS", 0, BG__SECONDS_MAX, .fallback = "60",
     .allowed = "seconds, above 0 and up to 1000000", .text = "seconds that a rank waits for the others"},
    {"BG_RANKS_WATCHDOG", "ranks", BG__FORM_SECONDS, "SECONDS", -HUGE_VAL, BG__SECONDS_MAX,
     .fallback = "BG_RANKS_TIMEOUT", .allowed = "seconds, above 0 and up to 1000000, or a number below 0 for never",
     .text = "end a replay on all ranks after this many seconds without progress; below 0: never"},
    {"BG_RANKS_COMPARE", "ranks", BG__FORM_CHOICE, "0|1", .fallback = "0",
     .text = "1 checks before each replay, and each batch of a runner, that all ranks run the same"},

    {"HOSTCUDA_DEVICES", "host", BG__FORM_INTEGER, "N", 1, 64, .fallback = "1",
     .text = "number of devices that the host device has"},
    {"HOSTCUDA_SEED", "host", BG__FORM_HOST, "N", .fallback = "0",
     .allowed = "0 (order of issue) to 18446744073709551606",
     .text = "selects the order of work that no stream, event or graph edge orders; 0: order of issue"},
    {"HOSTCUDA_MEMORY", "host", BG__FORM_HOST, "KINDS", .fallback = "",
     .allowed = "poison, fence, reuse, never, with commas between; not reuse and never together",
     .text = "makes memory errors visible: poison, fence, and reuse or never, with commas"},
    {"HOSTCUDA_FAIL", "host", BG__FORM_HOST, "NAME@N=CODE", .fallback = "",
     .allowed = "NAME@N=CODE and NAME@N~CODE with commas between; NAME: a function of CUDA, cuBLAS or NCCL, or *; "
                "CODE: an error of it, by name or number",
     .text = "the N-th call of the function NAME returns CODE; NAME@N~CODE: the device fails with it"},
    {"HOSTCUDA_THROUGH_DRIVER", "host", BG__FORM_CHOICE, "0|1", .fallback = "0",
     .text = "1: runtime calls go through libcuda.so.1, which must lead to the same libhostcuda.so"},
    {"HOSTCUDA_PROGRESS", "host", BG__FORM_HOST, "MS", .fallback = "200, with a seed 1000",
     .allowed = "0 (off) to 60000",
     .text = "milliseconds without a call of the program after which queued work goes on; 0: only calls run work"},
    {"HOSTCUDA_NCCL_TIMEOUT", "host", BG__FORM_INTEGER, "SECONDS", 1, 1000000, .fallback = "120",
     .text = "seconds that a rank on the host device waits without progress"},
};
const size_t bg__variables_count = sizeof bg__variables / sizeof *bg__variables;

const bg__variable *bg__variable_find(const char *name)
{
    for (size_t i = 0; i < bg__variables_count; i++)
        if (strcmp(bg__variables[i].name, name) == 0)
            return &bg__variables[i];
    return NULL;
}

static bool find_choice(const bg__variable *variable, const char *value, size_t length, int *index)
{
    const char *choice = variable->values;
    for (int i = 0;; i++) {
        size_t bytes = strcspn(choice, "|");
        if (bytes == length && memcmp(choice, value, length) == 0) {
            *index = i;
            return true;
        }
        if (choice[bytes] == '\0')
            return false;
        choice += bytes + 1;
    }
}

/* "off|ops" as "off, ops". */
static void format_values(const char *values, char text[BG__ALLOWED_BYTES])
{
    size_t used = 0;
    for (const char *c = values; *c != '\0' && used + 3 < BG__ALLOWED_BYTES; c++) {
        text[used++] = (char)(*c == '|' ? ',' : *c);
        if (*c == '|')
            text[used++] = ' ';
    }
    text[used] = '\0';
}

/* Suggests a choice for the first part of value that is not a choice. */
static const char *suggest_choice(const bg__variable *variable, const char *value, char hint[BG__HINT_BYTES])
{
    const char *ends = variable->form == BG__FORM_CHOICES ? "," : "";
    size_t length = strcspn(value, ends);
    bg__nearest nearest;
    int index;

    while (value[length] != '\0' && find_choice(variable, value, length, &index)) {
        value += length + 1;
        length = strcspn(value, ends);
    }
    nearest = bg__nearest_begin(value, length);
    for (const char *choice = variable->values;; choice++) {
        size_t bytes = strcspn(choice, "|");
        bg__nearest_add(&nearest, choice, bytes);
        choice += bytes;
        if (*choice == '\0')
            return bg__nearest_hint(&nearest, "", hint);
    }
}

const char *bg__variable_describe_allowed(const bg__variable *variable, const char *value, char text[BG__ALLOWED_BYTES])
{
    bool choice = variable->form == BG__FORM_CHOICE || variable->form == BG__FORM_CHOICES;
    char hint[BG__HINT_BYTES];

    if (variable->allowed != NULL && !choice)
        return variable->allowed;
    if (variable->form == BG__FORM_INTEGER)
        snprintf(text, BG__ALLOWED_BYTES, "whole numbers from %.0f to %.0f", variable->least, variable->most);
    else if (variable->allowed != NULL)
        snprintf(text, BG__ALLOWED_BYTES, "%s", variable->allowed);
    else
        format_values(variable->values, text);
    if (choice && value != NULL)
        snprintf(text + strlen(text), BG__ALLOWED_BYTES - strlen(text), "%s", suggest_choice(variable, value, hint));
    return text;
}

bool bg__variable_parse_choice(const bg__variable *variable, const char *value, int *index)
{
    return find_choice(variable, value, strlen(value), index);
}

bool bg__variable_parse_choices(const bg__variable *variable, const char *value, unsigned *set)
{
    int index;

    *set = 0;
    if (bg__variable_parse_choice(variable, value, &index) && index == 0)
        return true;
    for (;; value++) {
        size_t length = strcspn(value, ",");
        if (!find_choice(variable, value, length, &index) || index == 0)
            return false;
        *set |= 1u << index;
        value += length;
        if (*value == '\0')
            return true;
    }
}

bool bg__variable_parse_number(const bg__variable *variable, const char *value, double *number)
{
    double found;
    if (!bg__parse_number(value, &found))
        return false;
    switch (variable->form) {
    case BG__FORM_INTEGER:
        if (value[strspn(value, "-0123456789")] != '\0' || found < variable->least || found > variable->most)
            return false;
        break;
    case BG__FORM_SECONDS:
        if (found == 0 || found <= variable->least || found > variable->most)
            return false;
        break;
    default: /* a ratio */
        if (!isdigit((unsigned char)value[0]) || (found != 0 && (found < variable->least || found > variable->most)))
            return false;
    }
    *number = found;
    return true;
}

static const char *parse_count(const char *text, uint64_t *count)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return NULL;
    errno = 0;
    *count = strtoull(text, &end, 10);
    return errno == 0 ? end : NULL;
}

bool bg__variable_parse_range(const char *value, uint64_t *first, uint64_t *last)
{
    const char *end;

    *first = 0;
    end = parse_count(value, first);
    *last = *first;
    if (end != NULL && strcmp(end, "-") == 0)
        end++, *last = UINT64_MAX;
    else if (end != NULL && *end == '-')
        end = parse_count(end + 1, last);
    return end != NULL && *end == '\0' && *first <= *last;
}

/* "[12]", "[12-55]" or "[12-]". */
static bool is_index_pattern(const char *text, size_t length)
{
    uint64_t first, last;
    char digits[48];

    if (length < 3 || length >= sizeof digits || text[length - 1] != ']')
        return false;
    snprintf(digits, sizeof digits, "%.*s", (int)length - 2, text + 1);
    return bg__variable_parse_range(digits, &first, &last);
}

bool bg__variable_check_nodes(const char *value)
{
    for (; *value != '\0'; value += *value == ',') {
        size_t length, slash = 0;
        const char *end;
        value += strspn(value, " \n\t\r");
        length = strcspn(value, ",\n");
        end = value + length;
        while (length > 0 && strchr(" \t\r", value[length - 1]) != NULL)
            length--;
        if (length == 1 && (*value == '!' || *value == '^'))
            return false;
        for (size_t i = 0; i < length; i++)
            if (value[i] == '/')
                slash = i + 1;
        slash += value[slash] == '!' || value[slash] == '^';
        if (slash < length && value[slash] == '[' && !is_index_pattern(value + slash, length - slash))
            return false;
        value = end + (*end == '\n');
    }
    return true;
}
