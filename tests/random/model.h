/* What a program means, by the rules of the public headers alone: which instructions are legal, which calls are eager,
 * which features occur. A program is legal where each access to a cell is ordered after those that conflict with it,
 * so that its result is the same on every device and under every schedule. */
#ifndef RANDOM_MODEL_H
#define RANDOM_MODEL_H

#include "program.h"

/* name, what it is */
#define FEATURES(X)                                                                                                    \
    X(CAPTURED_OP, "captured op")                                                                                      \
    X(EAGER_OP, "eager op")                                                                                            \
    X(IN_PLACE, "in place")                                                                                            \
    X(OUT_OF_PLACE, "out of place")                                                                                    \
    X(SEVERAL_OUTPUTS, "several outputs")                                                                              \
    X(OUTS, "BG_OUTS array")                                                                                           \
    X(BRIDGE, "output without memory")                                                                                 \
    X(OPEN, "output of unknown shape")                                                                                 \
    X(BRIDGE_CROSSES, "bridge buffer read by a later segment")                                                         \
    X(SCRATCH, "eager result left in scratch")                                                                         \
    X(OWN, "eager result left in memory of the body's")                                                                \
    X(IN_TURN, "eager result here and elsewhere in turn")                                                              \
    X(CAPTURED_ELSEWHERE, "captured result left elsewhere")                                                            \
    X(SHORTER, "output shorter than expected")                                                                         \
    X(SHORTER_SOMETIMES, "eager output shorter and not in turn")                                                       \
    X(ZEROED, "rows beyond a shorter output zeroed")                                                                   \
    X(CHANGED_VALUE, "value changed by bg_graph_args")                                                                 \
    X(CHANGED_INPUT, "input changed by bg_graph_args")                                                                 \
    X(FORK, "fork")                                                                                                    \
    X(FORK_OF_FORK, "fork of a fork")                                                                                  \
    X(FORK_AGAIN, "fork again")                                                                                        \
    X(JOIN, "join")                                                                                                    \
    X(JOIN_FORKS, "fork joined to a fork")                                                                             \
    X(BARE_BREAK, "bare break")                                                                                        \
    X(BREAK_ON_FORK, "bare break on a fork")                                                                           \
    X(EAGER_ON_FORK, "eager op on a fork")                                                                             \
    X(OPEN_FORK_AT_BREAK, "break with unjoined work on a fork")                                                        \
    X(USED_AFTER_BREAK, "fork used after a break without a new fork")                                                  \
    X(CALL_BESIDE_CALL, "eager call right after another")                                                              \
    X(EAGER_LAST, "eager call at the end")                                                                             \
    X(NESTED, "nested calls")                                                                                          \
    X(NESTED_BREAK, "break inside a captured body")                                                                    \
    X(BODY_FORKS, "body with a stream of its own")                                                                     \
    X(AMBIENT, "eager op that reads the host's state")                                                                 \
    X(INSPECT, "eager op that waits and looks at data")                                                                \
    X(PLAIN_CUDA, "plain kernel, copy or fill")                                                                        \
    X(PLAIN_EVENT, "plain event recorded and waited on")                                                               \
    X(EVENT, "event recorded and waited on")                                                                           \
    X(EVENT_FORKS, "fork by an event")                                                                                 \
    X(EVENT_CROSSES, "event waited on after a break")                                                                  \
    X(EVENT_FORKS_LATER, "event from before a break waited on by a new stream")                                        \
    X(EVENT_AGAIN, "event recorded again")                                                                             \
    X(BODY_WAITS, "event of a segment waited on in a body")                                                            \
    X(BODY_RECORDS, "event of a body waited on in a segment")                                                          \
    X(MADE_EAGER, "made eager by a pattern")                                                                           \
    X(MADE_CAPTURED, "made captured by a pattern")                                                                     \
    X(PATTERN_ENVIRONMENT, "patterns from BG_EAGER_OPS")                                                               \
    X(NOT_BREAKABLE, "BG_BREAKABLE=0")                                                                                 \
    X(DEBUG_FORWARD, "debug mode forward")                                                                             \
    X(DEBUG_OPS, "debug mode ops")                                                                                     \
    X(DEBUG_SYNC, "debug mode sync")                                                                                   \
    X(BARRIERS, "ordered by breaks alone")                                                                             \
    X(NO_LAUNCH, "launch_segments false")                                                                              \
    X(STATE, "options.state")                                                                                          \
    X(WORKERS, "instantiated by worker threads")                                                                       \
    X(UPLOAD, "uploaded before the first replay")                                                                      \
    X(JOIN_AT_END, "unjoined work at the end, join_at_end")                                                            \
    X(WHOLE, "bg_capture_forward")                                                                                     \
    X(OTHER_MODE, "capture mode global or relaxed")                                                                    \
    X(MOVES, "replays on several streams")                                                                             \
    X(QUEUED, "replays queued without waiting")                                                                        \
    X(CHURN, "memory allocated and freed between replays")                                                             \
    X(HELPER, "outputs without memory of one line's calls")                                                            \
    X(POOL, "options.pool")                                                                                            \
    X(TAKEN, "block of the pool")                                                                                      \
    X(RELEASED, "block released in the pass")                                                                          \
    X(RELEASED_IN_USE, "block released while a fork uses it")                                                          \
    X(TAKEN_AGAIN, "block taken after another was released")                                                           \
    X(FAULT_HANDLED, "nested call fails, its eager body goes on")                                                      \
    X(FAULT_AT_CAPTURE, "call fails in the first pass")                                                                \
    X(FAULT_LATER, "call fails in a later pass alone")                                                                 \
    X(FAULT_RETURNED, "failure returned by the pass")                                                                  \
    X(FAULT_IGNORED, "failure ignored by the pass")

typedef enum feature {
#define FEATURE_ENUM(name, text) HAS_##name,
    FEATURES(FEATURE_ENUM) FEATURE_COUNT
} feature;
extern const char *const feature_texts[FEATURE_COUNT];

/* How many instructions come before: of each stream, and last of bodies' teller. */
typedef uint8_t clock[STREAMS + 1];
/* Of a stream or an event. */
typedef struct order {
    clock plain;  /* as the program orders itself */
    clock broken; /* and as the breaks of its default capture do: of ops as declared, and bare ones */
} order;

/* Who used a cell last. */
typedef struct history {
    int writer; /* stream; -1: nobody in this pass */
    uint8_t written;
    uint8_t read[STREAMS + 1];
} history;

typedef struct model {
    const program *program;
    order orders[STREAMS + 1];
    uint8_t now[STREAMS + 1];
    bool member[STREAMS];
    bool idle[STREAMS];    /* no wait of its own since the last break */
    uint8_t work[STREAMS]; /* the last work in this segment; 0: none */
    history cells[CELLS];
    bool slot_set[SLOTS];
    bool slot_taken[SLOTS];  /* it holds a block of the pool */
    int slot_segment[SLOTS]; /* where an eager call made the bridge; -1: no eager call */
    int calls[OP_KINDS][2];  /* so far, by kind and declaration */
    int breaks, segment;
    struct {
        bool recorded;
        bool body; /* in a body; nothing waits for it but members */
        int segment;
        order order;
    } events[EVENTS], bare[EVENTS];
    bool after_eager;          /* nothing since an eager call */
    bool released;             /* a block, so far */
    bool bridged[OP_KINDS][2]; /* an output without memory, by a call of HELPER_LINE */
    bool features[FEATURE_COUNT];
} model;

void model_start(model *m, const program *p);
/* False: the instruction is illegal here, and the model as it was. */
bool model_step(model *m, const instruction *in);
/* Starts with the program and steps through it. False: instruction *at is illegal. */
bool model_run(model *m, const program *p, int *at);
/* Whether one of the first instructions calls it. */
bool model_has_op(const program *p, op_kind op, int length);
/* Whether the event of a listen op orders its inputs. */
bool model_may_listen(const model *m, const instruction *in);
/* A stream whose work the origin does not wait for; -1: none. */
int model_unjoined(const model *m);
/* An event of a body that tells of work the origin does not wait for; -1: none. */
int model_untold(const model *m);
/* After the last instruction: adds the features of the program as a whole. */
void model_end(model *m);

/* Whether it is legal as it is. */
bool model_is_legal(const program *p);
/* The program as it runs in that way; false: it is illegal there. */
bool model_way(const program *p, way w, program *result);

/* A call as patterns see it. */
typedef struct call_name {
    const char *name;
    int index;
    const char *parent; /* NULL: at the top level */
    int parent_index;
} call_name;
bool model_is_eager(const program *p, const call_name *call, bool declared);
/* The calls of a program, each at its instruction's place. */
typedef struct call_list {
    bool eager[LENGTH];
    char names[LENGTH][40]; /* as the library tells them: "mix#0" */
} call_list;
void model_list_calls(const program *p, call_list *list);
void pattern_text(const pattern *p, char *text, size_t bytes);

/* Legal again, after instructions have been taken away: without what has become illegal, and with the joins that are
 * missing at the end. False: there is no room for them. */
bool repair(program *p);

#endif
