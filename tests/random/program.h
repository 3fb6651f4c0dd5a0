/* Random programs of op calls, forks, joins and breaks, as data: what the generator makes, the model judges, the runner
 * runs and the shrinker makes smaller. Memory cells hold whole numbers, so that results compare bit for bit. */
#ifndef RANDOM_PROGRAM_H
#define RANDOM_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <breakgraph/breakgraph.h>

enum {
    BUFFERS = 6, /* of the program's own memory */
    SLOTS = 4,   /* variables that hold outputs without memory of the caller's */
    CELLS = BUFFERS + SLOTS,
    STREAMS = 4,  /* 0 is the origin */
    EVENTS = 3,   /* of each kind: those that breakgraph sees, and those that it does not */
    LENGTH = 48,  /* instructions at most */
    OUTPUTS = 3,  /* of an op at most */
    ELEMENTS = 8, /* of a tensor */
    ROWS_LEFT = 5,
    REPLAYS = 10,
    PASSES = 1 + REPLAYS, /* the first is the capture */
    PATTERNS = 3,
    HELPER_LINE = 1000
};

typedef enum op_kind {
    OP_MIX,
    OP_BUMP,
    OP_PAIR,
    OP_SPLIT,
    OP_NEST,
    OP_ASIDE,
    OP_AMBIENT,
    OP_INSPECT,
    OP_LISTEN,
    OP_TELL,
    OP_KINDS
} op_kind;

/* What a nest op calls in its body. */
enum { NEST_EAGER = 1, NEST_OPEN = 2, NEST_SCRATCH = 4, NEST_FAILS = 8, NEST_VARIANTS = 16 };

typedef enum instruction_kind {
    CALL,        /* an op */
    WAIT,        /* bg_stream_wait_stream(stream, on) */
    BREAK,       /* bg_break(stream) */
    KERNEL,      /* plain CUDA */
    COPY,        /* plain CUDA */
    FILL,        /* plain CUDA */
    RECORD,      /* bg_event_record(event, stream) */
    WAIT_EVENT,  /* bg_stream_wait_event(stream, event) */
    RECORD_BARE, /* cudaEventRecord(bare event, stream) */
    WAIT_BARE,   /* cudaStreamWaitEvent(stream, bare event) */
    TAKE,        /* bg_pool_alloc for the slot out[0], which stream then fills */
    RELEASE      /* bg_pool_release of the slot out[0] */
} instruction_kind;

/* Where a body leaves an output. What changes does so from pass to pass. */
typedef enum place {
    PLACE_HERE,    /* where it is expected */
    PLACE_SCRATCH, /* in bg_scratch */
    PLACE_OWN,     /* in one of two buffers of its own, in turn */
    PLACE_SOME,    /* here and in scratch, in turn */
    PLACE_ROUND,   /* here, in scratch, in its own, in turn */
    PLACES
} place;

/* When a body leaves outputs of ROWS_LEFT elements. */
typedef enum shorter { SHORTER_NEVER, SHORTER_ALWAYS, SHORTER_SOME } shorter;

/* In which passes a body fails: in every third, of which the capture is one, or the first replay. */
typedef enum failing { FAILING_NEVER, FAILING_AT_CAPTURE, FAILING_LATER } failing;

/* What the program does about bodies that fail.
 *   NONE:     none does
 *   HANDLED:  calls fail inside eager bodies alone, which go on
 *   RETURNED: others, too, and the pass returns their status at once
 *   IGNORED:  others, too, and the pass goes on and returns BG_OK */
typedef enum faults { FAULTS_NONE, FAULTS_HANDLED, FAULTS_RETURNED, FAULTS_IGNORED } faults;

/* What the caller gives for an output. */
typedef enum given { GIVEN_MEMORY, GIVEN_SHAPE, GIVEN_NOTHING } given;

/* Cells: 0 to BUFFERS - 1 are buffers, BUFFERS to CELLS - 1 slots. */
typedef struct instruction {
    instruction_kind kind;
    int id;   /* stays when others are taken away */
    int line; /* of the call's site; HELPER_LINE: that of all calls of the op which do not have their id there */
    int stream, on, event;
    op_kind op;
    bool eager; /* as declared */
    int in[2], out[OUTPUTS];
    given given[OUTPUTS]; /* other than MEMORY: out is a slot, which takes the bridge buffer */
    place place;
    shorter shorter;
    failing failing;
    uint32_t k;
    int variant;       /* of a nest op */
    bool change_value; /* k is another one in each replay, by bg_graph_args */
    int change_input;  /* in every other replay in[0], a buffer, is this one, by bg_graph_args; -1: never */
} instruction;

/* One pattern of an override. */
typedef struct pattern {
    bool negate, wild;       /* wild: name is the beginning of a name */
    char parent[24];         /* "": none */
    int parent_index, index; /* -1: any */
    char name[24];
} pattern;

typedef struct program {
    uint64_t seed;
    uint64_t schedule; /* seed of the host device */
    int length;
    instruction list[LENGTH];

    bool barriers; /* it relies on breaks to order its streams */
    bg_debug debug;
    bool debug_from_environment, patterns_from_environment;
    bool whole;  /* bg_capture_forward */
    bool launch; /* options.launch_segments */
    bool state;  /* options.state */
    bool join_at_end;
    bool breakable; /* BG_BREAKABLE */
    bool queued;    /* replays are not waited for one by one */
    int workers;    /* options.worker_threads */
    bool upload;    /* options.upload */
    bool zero_tail; /* options.zero_tail */
    bool churn;     /* memory is allocated and freed between replays */
    int move;       /* replays move between so many streams */
    int replays;
    bool pool;         /* options.pool */
    bool helper;       /* most calls are of one op, and from one line */
    bool inline_eager; /* options.inline_eager */
    faults faults;
    unsigned ways; /* bits: in which other ways it runs, where it is legal there */
    enum cudaStreamCaptureMode mode;
    pattern patterns[PATTERNS];
    int pattern_count;
} program;

/* Of lists of names and texts. */
#define TEXT_OF(name, text) text,

/* name, what it is: how else than captured as its own options say the program runs */
#define WAYS(X)                                                                                                        \
    X(FORWARD_RUN, "bg_forward_run")                                                                                   \
    X(RUNNER, "runner: warm-up, replays, eager runs of larger batches")                                                \
    X(RUNNER_FULL, "runner of mode full")                                                                              \
    X(RUNNER_NONE, "runner of mode none")                                                                              \
    X(RUNNER_FORWARD, "runner, debug mode forward")                                                                    \
    X(DEBUG_FORWARD, "debug mode forward")                                                                             \
    X(DEBUG_OPS, "debug mode ops")                                                                                     \
    X(DEBUG_SYNC, "debug mode sync")                                                                                   \
    X(DEBUG_STEP, "debug mode step")                                                                                   \
    X(UNBREAKABLE, "BG_BREAKABLE=0")                                                                                   \
    X(INLINE, "options.inline_eager")                                                                                  \
    X(OVERRIDE, "other patterns")                                                                                      \
    X(SHADOWED, "BG_SHADOW=1")                                                                                         \
    X(SHADOW, "bg_shadow")

typedef enum way {
#define WAY_ENUM(name, text) WAY_##name,
    WAYS(WAY_ENUM) WAY_COUNT,
    WAY_OWN = WAY_COUNT /* as its own options say */
} way;
extern const char *const way_texts[WAY_COUNT + 1];

/* Number of operands. */
typedef struct op_shape {
    const char *name;
    int in, out;
    bool in_place;   /* the outputs are inputs, too */
    bool only_eager; /* it makes no sense in a graph */
    bool keeps_out;  /* outputs may not be inputs */
} op_shape;
extern const op_shape op_shapes[OP_KINDS];

/* "mix", "eager_mix" */
const char *op_name(op_kind op, bool eager, char *name, size_t bytes);

/* ---- random numbers (random.c) ---- */

typedef struct dice {
    uint64_t state;
} dice;
uint64_t dice_roll(dice *d);
int dice_below(dice *d, int n);
bool dice_percent(dice *d, int percent);
/* One number from another, for data. */
uint32_t scramble(uint64_t x);

/* ---- making, printing, shrinking ---- */

/* The program of a seed: always the same one. */
void generate(program *p, uint64_t seed);
/* Patterns of overrides by chance; p has room for PATTERNS. */
void throw_patterns(dice *d, program *p);
/* As pseudo-code. */
void print_program(FILE *file, const program *p);

/* Whether an event is recorded, and waited for, with CUDA's flags for external events. A record of such a one is a
 * node. */
static inline bool is_external(int event)
{
    return event % 2 == 1;
}

#endif
