/* All ops of the program, in a list that constructors fill. */
#include "op/op.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bg_op *first;

static bg_op *find_op_locked(const char *name)
{
    bg_op *op = first;
    while (op != NULL && strcmp(op->name, name) != 0)
        op = op->next_;
    return op;
}

/* Calls read twin_ without the lock, also while libraries are loaded and while the process exits, so this does not
 * write an unchanged value. */
static void set_twin(bg_op *op, const bg_op *twin)
{
    if (op->twin_ != twin)
        op->twin_ = twin;
}

/* If several ops have that name, each gets another one of them as its twin. */
static void update_twins_locked(const char *name)
{
    bg_op *last = NULL, *any = NULL;
    for (bg_op *op = first; op != NULL; op = op->next_) {
        if (strcmp(op->name, name) != 0)
            continue;
        if (any != NULL)
            set_twin(op, last);
        any = any ? any : op;
        last = op;
    }
    if (any != NULL)
        set_twin(any, any != last ? last : NULL);
}

static void add_op_locked(bg_op *op)
{
    bg__op_flatten_structs(op);
    op->next_ = first;
    first = op;
    update_twins_locked(op->name);
}

void bg_op_register(bg_op *op)
{
    pthread_mutex_lock(&mutex);
    add_op_locked(op);
    pthread_mutex_unlock(&mutex);
}

const bg_op *bg__op_register_once(bg_op *op)
{
    const bg_op *known;
    pthread_mutex_lock(&mutex);
    known = find_op_locked(op->name);
    if (known == NULL)
        add_op_locked(op);
    pthread_mutex_unlock(&mutex);
    return known != NULL ? known : op;
}

void bg_op_unregister(bg_op *op)
{
    bg_op **link = &first;
    pthread_mutex_lock(&mutex);
    while (*link != NULL && *link != op)
        link = &(*link)->next_;
    if (*link != NULL)
        *link = op->next_;
    set_twin(op, NULL);
    update_twins_locked(op->name);
    pthread_mutex_unlock(&mutex);
}

const bg_op *bg_op_find(const char *name)
{
    const bg_op *op = NULL;
    if (name == NULL)
        return NULL;
    pthread_mutex_lock(&mutex);
    op = find_op_locked(name);
    pthread_mutex_unlock(&mutex);
    return op;
}

static bg_status refuse_unknown(const char *function, const char *name)
{
    bg__nearest nearest = bg__nearest_begin(name, strlen(name));
    char hint[BG__HINT_BYTES];
    bg__nearest_add_ops(&nearest);
    return bg__fail(BG_ERROR_NOT_FOUND, "%s: there is no op \"%s\"%s; link the source file that defines it", function,
                    name, bg__nearest_hint(&nearest, "", hint));
}

const int *bg__op_row_limits(const bg_op *op)
{
    static const int none[BG_ROW_LIMITS];
    return op->struct_size >= offsetof(bg_op, attributes_.row_limits) + sizeof none ? op->attributes_.row_limits : none;
}

static bg_status check_attributes(const bg_op_attributes *attributes)
{
    static const char function[] = "bg_op_set_attributes";
    const int *limits = attributes->row_limits;

    if ((int)attributes->graph_support < BG_SUPPORT_ALWAYS || attributes->graph_support > BG_SUPPORT_NEVER)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s: graph_support is %d, which is not a bg_support", function,
                        (int)attributes->graph_support);
    for (int i = 0; i < BG_ROW_LIMITS; i++)
        if (limits[i] < 0 || (i > 0 && limits[i] != 0 && (limits[i - 1] == 0 || limits[i] <= limits[i - 1])))
            return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                            "%s: row_limits[%d] is %d; allowed are positive numbers, each above the one before, and "
                            "zeros behind them",
                            function, i, limits[i]);
    return BG_OK;
}

/* The op may be compiled with an older header, whose attributes are shorter. */
static bg_status set_attributes_locked(bg_op *op, const bg_op_attributes *attributes)
{
    const size_t room =
        op->struct_size < sizeof *op ? op->struct_size - offsetof(bg_op, attributes_) : sizeof *attributes;

    if (room < sizeof *attributes && attributes->row_limits[0] != 0)
        return bg__fail(BG_ERROR_UNSUPPORTED,
                        "bg_op_set_attributes: op \"%s\" was compiled with an older header, which has no "
                        "row_limits; compile its source again",
                        op->name);
    memcpy(&op->attributes_, attributes, room);
    return BG_OK;
}

bg_status bg_op_set_attributes(const char *name, const bg_op_attributes *attributes)
{
    bg_op_attributes taken = BG_OP_ATTRIBUTES_INIT;
    bg_status status = BG_OK;
    bg_op *op;

    if (name == NULL)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s: name is NULL", __func__);
    if (attributes != NULL)
        status = bg__struct_copy_in(&taken, attributes, sizeof taken, offsetof(bg_op_attributes, row_limits),
                                    "attributes", "BG_OP_ATTRIBUTES_INIT");
    if (status == BG_OK)
        status = check_attributes(&taken);
    if (status != BG_OK)
        return status;
    pthread_mutex_lock(&mutex);
    op = find_op_locked(name);
    if (op != NULL)
        status = set_attributes_locked(op, &taken);
    pthread_mutex_unlock(&mutex);
    return op != NULL ? status : refuse_unknown(__func__, name);
}

bg_op_body bg__op_capture_body(const bg_op *op)
{
    return op->attributes_.capture_stub != NULL ? op->attributes_.capture_stub : op->body;
}

bool bg__op_any_matches(const char *pattern, size_t length)
{
    bool matches = false;
    pthread_mutex_lock(&mutex);
    for (const bg_op *op = first; op != NULL && !matches; op = op->next_)
        matches = bg__glob_matches(pattern, length, op->name);
    pthread_mutex_unlock(&mutex);
    return matches;
}

void bg__nearest_add_ops(bg__nearest *nearest)
{
    pthread_mutex_lock(&mutex);
    for (const bg_op *op = first; op != NULL; op = op->next_)
        bg__nearest_add(nearest, op->name, strlen(op->name));
    pthread_mutex_unlock(&mutex);
}
