/* All commands and flags: help and the parser read them here; a test holds manual page and completions to them. */
#include "cli.h"

#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* Of every command that starts a program. */
#define RANKS_FLAGS_                                                                                                   \
    {"--ranks",                                                                                                        \
     "N",                                                                                                              \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     "start the program N times, as the ranks of one job: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT, "    \
     "BG_RANKS_TOKEN"},                                                                                                \
    {                                                                                                                  \
        "--oversubscribe", NULL, NULL, NULL, NULL, "more ranks than there are devices"                                 \
    }

const cli_flag cli_variables[] = {
    {"--debug", "off|forward|ops|sync|step", NULL, "BG_DEBUG", NULL,
     "run eagerly: the whole pass, or every op; or wait and check after each step, or node"},
    {"--step-stop", "CALL", NULL, "BG_STEP_STOP", NULL,
     "under --debug=step, replays stop after this call (rope#3), or node by its number"},
    {"--step-dump", "DIR", NULL, "BG_STEP_DUMP", NULL,
     "under --debug=step, the first replay writes each op call's tensors there, as .npy"},
    {"--eager-ops", "PATTERNS", NULL, "BG_EAGER_OPS", NULL,
     "the ops that are eager: \"attention,moe_*,rope#3,!sample_*\"; @FILE: patterns from a file"},
    {"--no-breaks", NULL, "0", "BG_BREAKABLE", "0|1", "0 captures everything inline"},
    {"--foreign-inline", NULL, "1", "BG_FOREIGN_INLINE", "0|1",
     "1 runs eager ops inline in a capture that breakgraph did not begin"},
    {"--check", "off|replay|twice|poison", NULL, "BG_CHECK", NULL,
     "check before each replay that the addresses in the graph are what they were; or, around bg_capture_forward, what "
     "differs in a second capture, or depends on memory that nobody wrote"},
    {"--shadow", "1|calls", "1", "BG_SHADOW", "0|1|calls",
     "compare each replay with an eager pass; calls: always call by call"},
    {"--tolerance", "SPEC", NULL, "BG_TOLERANCE", NULL,
     "what a comparison lets pass, by dtype and op: \"f16:ulp=4; attention:rel=1e-3,abs=1e-6\""},
    {"--nvtx", NULL, "1", "BG_NVTX", "0|1",
     "1 shows profilers segments, breaks and ops as NVTX ranges (0 not even an attached one)"},
    {"--reports", "DIR", NULL, "BG_REPORT", NULL, "write reports of graphs and tools into this directory, as JSON"},
    {"--trace", "FILE", NULL, "BG_TRACE", NULL, "write a timeline of a replay, for Perfetto"},
    {"--dot", "DIR", NULL, "BG_DOT", NULL, "write each segment of each graph into this directory, as DOT"},
    {"--runner-mode", "none|piecewise|full|full_decode_only|full_and_piecewise", NULL, "BG_RUNNER_MODE", NULL,
     "what a runner's batches run in"},
    {"--runner-schedule", "SIZES", NULL, "BG_RUNNER_SCHEDULE", NULL, "the sizes to capture: a name, or 1,2,4,8"},
    {"--runner-max-tokens", "N", NULL, "BG_RUNNER_MAX_TOKENS", NULL, "tokens of the largest batch that is a graph"},
    {"--runner-max-query-len", "N", NULL, "BG_RUNNER_MAX_QUERY_LEN", NULL, "tokens of one request in a decode batch"},
    {"--runner-warmups", "N", NULL, "BG_RUNNER_WARMUPS", NULL, "passes before each capture"},
    {"--runner-max-padding", "RATIO", NULL, "BG_RUNNER_MAX_PADDING", NULL,
     "batches run eagerly where captured size / tokens is above it"},
    {"--runner-eager-ops", "PATTERNS", NULL, "BG_RUNNER_EAGER_OPS", NULL, "as --eager-ops, which comes after it"},
    {"--runner-lazy", "true|false", "true", "BG_RUNNER_LAZY", "true|false|1|0", "capture when a batch first needs it"},
    {"--runner-copy-inputs", "true|false", "true", "BG_RUNNER_COPY_INPUTS", "true|false|1|0",
     "false: the program writes into the input buffers itself"},
    {"--runner-memory-limit", "BYTES", NULL, "BG_RUNNER_MEMORY_LIMIT", NULL, "of the pool; K, M, G may follow"},
    {"--runner-debug", "env|off|forward|ops|sync|step", NULL, "BG_RUNNER_DEBUG", NULL, "as --debug, of runners alone"},
    {"--runner-worker-threads", "N", NULL, "BG_RUNNER_WORKER_THREADS", NULL, "threads that instantiate graphs"},
    {"--runner-variants", "N", NULL, "BG_RUNNER_VARIANTS", NULL, "how many variants are captured at the start"},
    {"--ranks-timeout", "SECONDS", NULL, "BG_RANKS_TIMEOUT", NULL, "how long a rank waits for the others (60)"},
    {"--ranks-watchdog", "SECONDS", NULL, "BG_RANKS_WATCHDOG", NULL,
     "a replay whose ranks make no progress for so long is given up (as BG_RANKS_TIMEOUT); below 0: never"},
    {"--ranks-compare", NULL, "1", "BG_RANKS_COMPARE", "0|1",
     "1 compares what the ranks run, before each replay and each batch of a runner"},
    {"--ranks-bind", "ADDRESS", NULL, "BG_RANKS_BIND", NULL,
     "where rank 0 listens, if not on loopback; needs BG_RANKS_TOKEN"},
    {"--host-devices", "N", NULL, "HOSTCUDA_DEVICES", NULL, "how many devices the host device shows"},
    {"--host-seed", "N", NULL, "HOSTCUDA_SEED", NULL, "in what order the host device runs what no event orders"},
    {"--host-memory", "KINDS", NULL, "HOSTCUDA_MEMORY", NULL,
     "hostile memory: poison, fence, reuse, never, with commas"},
    {"--host-fail", "NAME@N=CODE", NULL, "HOSTCUDA_FAIL", NULL, "the N-th call of NAME fails; ~CODE: the device does"},
    {"--host-nccl-timeout", "SECONDS", NULL, "HOSTCUDA_NCCL_TIMEOUT", NULL,
     "how long a rank on the host device may wait while nothing moves"},
    /* Those of run alone: no variables. */
    RANKS_FLAGS_,
    {"--no-prefix", NULL, NULL, NULL, NULL, "with --ranks: lines of output without \"[rank 1] \" before them"},
    {"--output-dir", "DIR", NULL, NULL, NULL,
     "with --ranks: output into files DIR/rank-N.out and DIR/rank-N.err; the directory is made"},
    {"--timeout", "SECONDS", NULL, NULL, NULL, "with --ranks: ranks that run longer are ended"},
};
enum { RUN_ALONE = 5 };
const size_t cli_variables_count = COUNT(cli_variables) - RUN_ALONE;

static const cli_flag doctor_flags[] = {
    {"--json", NULL, NULL, NULL, NULL, "the same for scripts"},
};

static const cli_flag check_flags[] = {
    RANKS_FLAGS_,
    {"--what", "replay|twice|poison", NULL, NULL, NULL,
     "which check; again for several, each of which is a start of the program; without it replay and twice"},
    {"--timeout", "SECONDS", NULL, NULL, NULL, "a start that takes longer is ended"},
    {"--json", NULL, NULL, NULL, NULL, "findings for scripts, on standard output"},
};

static const cli_flag step_flags[] = {
    RANKS_FLAGS_,
    {"--stop", "CALL", NULL, NULL, NULL, "replays stop after this call (rope#3), or node by its number"},
    {"--dump", "DIR", NULL, NULL, NULL, "the first replay writes each op call's tensors there, as .npy"},
    {"--timeout", "SECONDS", NULL, NULL, NULL, "a start that takes longer is ended"},
    {"--json", NULL, NULL, NULL, NULL, "findings for scripts, on standard output"},
};

static const cli_flag bisect_flags[] = {
    RANKS_FLAGS_,
    {"--check", "CMD", NULL, NULL, NULL,
     "a shell command judges each start: 0 good, 125 skip, else bad; the program's output is its standard input, and "
     "the file that BREAKGRAPH_OUTPUT names. Without it the program's own exit status says so"},
    {"--shadow", NULL, NULL, NULL, NULL,
     "bad is a replay that differs from the eager pass, in its outputs or in any op call's (BG_SHADOW)"},
    {"--tolerance", "SPEC", NULL, NULL, NULL, "what --shadow lets pass (BG_TOLERANCE)"},
    {"--only", "PATTERNS", NULL, NULL, NULL, "only calls that match can be culprits; as --eager-ops of run"},
    {"--count", "N", NULL, NULL, NULL, "starts for one verdict; one that is bad makes it bad"},
    {"--timeout", "SECONDS", NULL, NULL, NULL, "a start that takes longer is ended"},
    {"--state", "FILE", NULL, NULL, NULL, "where the verdicts are kept; stays at the end"},
    {"--fresh", NULL, NULL, NULL, NULL, "start over, whatever verdicts are kept"},
    {"--json", NULL, NULL, NULL, NULL, "the result for scripts, on standard output"},
    {"--html", "FILE", NULL, NULL, NULL, "culprits and trials on the pass, as one page"},
};

static const cli_flag report_flags[] = {
    RANKS_FLAGS_,
    {"--text", "FILE", "-", NULL, NULL, "findings as text; -, or no FILE: standard output"},
    {"--json", "FILE", "-", NULL, NULL, "everything as JSON"},
    {"--html", "FILE", "-", NULL, NULL, "everything as one page that needs nothing else"},
    {"--trace", "FILE", NULL, NULL, NULL, "a timeline of a replay, for Perfetto (BG_TRACE); -: standard output"},
    {"--dot", "DIR", NULL, NULL, NULL, "each segment of each graph into this directory, as DOT (BG_DOT)"},
    {"--timeout", "SECONDS", NULL, NULL, NULL, "a start that takes longer is ended"},
};

static const char run_more[] =
    "The command becomes the program, whose exit status it passes through. Each flag sets the variable behind it; "
    "the\n"
    "others stay as the environment has them. HOSTCUDA_ variables do something on the host device only.\n\n"
    "With --ranks=N the command stays, and starts N processes, which choose their device by LOCAL_RANK. Lines of "
    "output\n"
    "stay whole, behind \"[rank 1] \"; rank 0 has the standard input; but of a terminal nothing, where the command is "
    "in\n"
    "the background, as timeout starts it without --foreground. When one ends by a signal, the others are ended\n"
    "(SIGTERM, after 2 s SIGKILL), with all that they started; when one ends with another status than 0, they get 2 s\n"
    "to say why they end, too. The command ends with the status of that first one, 128 + N for a signal N. The host\n"
    "device shows N devices, unless HOSTCUDA_DEVICES is set.\n"
    "BG_TRACE and BG_STEP_DUMP get the rank into their names: trace.rank-1.json.\n";
static const char check_more[] =
    "The program is started once for each check, without standard input and BG_DEBUG; its output is shown where it\n"
    "fails. Notes alone do not count as findings. With --ranks a finding that only some ranks have names them.\n";
static const char step_more[] =
    "Replays go node by node, waiting and checking after each. Notes alone do not count as findings. With --json the\n"
    "program has no standard input, and its output is shown where it fails.\n";
static const char bisect_more[] =
    "The program is started, without standard input, as it is, then without a graph (BG_DEBUG=forward), with every op\n"
    "eager, and then with ever other ops eager (BG_EAGER_OPS), until it is known which smallest set of calls must be\n"
    "eager for the fault to vanish. Each start gets an exit status as for git bisect run: 0 is good, 125 tells "
    "nothing,\n"
    "any other is bad. For a crash write: sh -c 'PROGRAM || exit 1'.\n\n"
    "With --ranks a start is good where all ranks are; all get the same BG_EAGER_OPS. When one ends with another "
    "status\n"
    "than 0, the others get 5 s to end, too. --check sees their outputs in the order of the ranks.\n\n"
    "Verdicts are kept in .breakgraph-bisect.json until there is a result (exit status 0, 12, 13, 14, or 1 with "
    "culprits).\n"
    "After an interruption, and after what is none of the fault's (a full disk, a program that is gone, a hang), the "
    "same\n"
    "command goes on from there.\n";
static const char report_more[] =
    "The program is started, without standard input and BG_DEBUG, with BG_SHADOW=calls: every replay is compared with\n"
    "the eager pass, op call by op call. Directories and files are reports that were written before (BG_REPORT,\n"
    "--json).\n";

const cli_command cli_commands[] = {
    {"help", "[COMMAND]", "this page, or that of one command", NULL, NULL, 0, cli_help},
    {"version", "", "the library's version and the device that it is built for", NULL, NULL, 0, cli_version},
    {"doctor", "", "what this machine has and what works here; exit status 1 if something is wrong", NULL, doctor_flags,
     COUNT(doctor_flags), cli_doctor},
    {"run", "-- PROGRAM ARG...", "start a program that links the library, with its environment set", run_more,
     cli_variables, COUNT(cli_variables), cli_run},
    {"check", "-- PROGRAM ARG...", "look for addresses and values that graphs hold wrongly", check_more, check_flags,
     COUNT(check_flags), cli_check},
    {"step", "-- PROGRAM ARG...", "replay node by node: where is a fault, where is NaN born?", step_more, step_flags,
     COUNT(step_flags), cli_step},
    {"bisect", "-- PROGRAM ARG...", "which op calls must be eager for a fault to vanish?", bisect_more, bisect_flags,
     COUNT(bisect_flags), cli_bisect},
    {"report", "-- PROGRAM ARG... | DIR|FILE...", "what tools find in a program, or what reports hold, as one report",
     report_more, report_flags, COUNT(report_flags), cli_report},
};
const size_t cli_commands_count = COUNT(cli_commands);

const cli_command *cli_command_find(const char *name)
{
    for (size_t i = 0; i < cli_commands_count; i++)
        if (strcmp(cli_commands[i].name, name) == 0)
            return &cli_commands[i];
    return NULL;
}
