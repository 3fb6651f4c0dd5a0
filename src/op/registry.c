/* All ops of the program, in a list that constructors fill. */
#include "op/op.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bg_op *first;

static bg_op *find_locked(const char *name)
{
    bg_op *op = first;
    while (op != NULL && strcmp(op->name, name) != 0)
        op = op->next_;
    return op;
}

/* Calls read it without the lock, while libraries come and go, and while the process ends: what stays is not written.
 */
static void set_twin(bg_op *op, const bg_op *twin)
{
    if (op->twin_ != twin)
        op->twin_ = twin;
}

/* If several ops have that name, each gets another one of them as its twin. */
static void find_twins(const char *name)
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

static void add_locked(bg_op *op)
{
    op->next_ = first;
    first = op;
    find_twins(op->name);
}

void bg_op_register(bg_op *op)
{
    pthread_mutex_lock(&mutex);
    add_locked(op);
    pthread_mutex_unlock(&mutex);
}

const bg_op *bg__op_register_once(bg_op *op)
{
    const bg_op *known;
    pthread_mutex_lock(&mutex);
    known = find_locked(op->name);
    if (known == NULL)
        add_locked(op);
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
    find_twins(op->name);
    pthread_mutex_unlock(&mutex);
}

const bg_op *bg_op_find(const char *name)
{
    const bg_op *op = NULL;
    if (name == NULL)
        return NULL;
    pthread_mutex_lock(&mutex);
    op = find_locked(name);
    pthread_mutex_unlock(&mutex);
    return op;
}

static bg_status refuse_unknown(const char *function, const char *name)
{
    bg__nearest nearest = bg__nearest_to(name, strlen(name));
    char hint[BG__HINT_BYTES];
    bg__op_nearest(&nearest);
    return bg__fail(BG_ERROR_NOT_FOUND, "%s: there is no op \"%s\"%s; link the source file that defines it", function,
                    name, bg__nearest_hint(&nearest, "", hint));
}

bg_status bg_op_set_attributes(const char *name, const bg_op_attributes *attributes)
{
    bg_op_attributes taken = BG_OP_ATTRIBUTES_INIT;
    bg_status status = BG_OK;
    bg_op *op;

    if (name == NULL)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s: name is NULL", __func__);
    if (attributes != NULL)
        status = bg__sized_take(&taken, attributes, sizeof taken, sizeof taken, "attributes", "BG_OP_ATTRIBUTES_INIT");
    if (status != BG_OK)
        return status;
    if ((int)taken.graph_support < BG_SUPPORT_ALWAYS || taken.graph_support > BG_SUPPORT_NEVER)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s: graph_support is %d, which is not a bg_support", __func__,
                        (int)taken.graph_support);
    pthread_mutex_lock(&mutex);
    op = find_locked(name);
    if (op != NULL)
        op->attributes_ = taken;
    pthread_mutex_unlock(&mutex);
    return op != NULL ? BG_OK : refuse_unknown(__func__, name);
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
        matches = bg__glob(pattern, length, op->name);
    pthread_mutex_unlock(&mutex);
    return matches;
}

void bg__op_nearest(bg__nearest *nearest)
{
    pthread_mutex_lock(&mutex);
    for (const bg_op *op = first; op != NULL; op = op->next_)
        bg__nearest_add(nearest, op->name, strlen(op->name));
    pthread_mutex_unlock(&mutex);
}
