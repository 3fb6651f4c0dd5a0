/* Calls and their names. Siblings are numbered by op, "rope#3", so that making one op eager renumbers no other. */
#include "op/op.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Finds the counter of the earlier calls of op in this pass of parent's body. */
static bg_status find_op_count(bg__call *parent, const bg_op *op, bg__op_count **count)
{
    bg_status status;

    for (size_t i = 0; i < parent->count_used; i++) {
        if (parent->counts[i].op == op) {
            *count = &parent->counts[i];
            return BG_OK;
        }
    }
    BG__TRY(BG__ARRAY_GROW(parent->counts, parent->count_used, parent->count_capacity, "calls"));
    *count = &parent->counts[parent->count_used++];
    **count = (bg__op_count){.op = op};
done:
    return status;
}

static bg__call *find_child_call(bg__call *parent, const bg_op *op, unsigned index)
{
    bg__call *start = parent->cursor ? parent->cursor : parent->child;
    if (!parent->repeated)
        return NULL; /* every child has a smaller index */
    for (bg__call *call = start; call != NULL; call = call->next)
        if (call->op == op && call->index == index)
            return call;
    for (bg__call *call = parent->child; call != start; call = call->next)
        if (call->op == op && call->index == index)
            return call;
    return NULL;
}

/* Memory for the calls of one root: a capture makes thousands of calls, and frees them all at once. */
struct bg__slab {
    struct bg__slab *next;
    size_t used, bytes;
    max_align_t room[];
};

static size_t align_bytes(size_t bytes)
{
    return (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
}

static __attribute__((noinline)) struct bg__slab *add_slab(bg__call *root, size_t bytes)
{
    enum { SLAB_BYTES = 1 << 14 };
    size_t capacity = bytes > SLAB_BYTES ? bytes : SLAB_BYTES;
    struct bg__slab *slab = malloc(sizeof *slab + capacity);

    if (slab == NULL)
        return NULL;
    slab->used = 0;
    slab->bytes = capacity;
    slab->next = root->slabs;
    root->slabs = slab;
    return slab;
}

/* bytes must be a result of aligned(). */
static inline void *alloc_from_slab(bg__call *root, size_t bytes)
{
    struct bg__slab *slab = root->slabs;
    void *taken;

    if (slab == NULL || bytes > slab->bytes - slab->used)
        slab = add_slab(root, bytes);
    if (slab == NULL)
        return NULL;
    taken = (char *)slab->room + slab->used;
    slab->used += bytes;
    return taken;
}

/* "rope#3" or "attention#0/rope#1"; by hand, since a capture names thousands of calls. Returns its length. */
static __attribute__((noinline)) unsigned write_name(char *name, const char *path, const bg_op *op, unsigned index)
{
    char digits[16], *digit = digits + sizeof digits, *end = stpcpy(name, path);

    if (end > name)
        *end++ = '/';
    end = stpcpy(end, op->name);
    *end++ = '#';
    do
        *--digit = (char)('0' + index % 10);
    while ((index /= 10) > 0);
    end = mempcpy(end, digit, (size_t)(digits + sizeof digits - digit));
    *end = '\0';
    return (unsigned)(end - name);
}

/* "rope#4" from "rope#3". Returns false if the number has one more digit. */
static bool write_next_name(char *name, const char *last, unsigned bytes)
{
    char *digit = name + bytes;
    memcpy(name, last, bytes + 1);
    while (*--digit == '9')
        *digit = '0';
    if (*digit == '#')
        return false;
    ++*digit;
    return true;
}

/* Makes the next call of count's op, followed in memory by its name and room for its arguments. */
static bg__call *make_call(bg__call *parent, bg__op_count *count)
{
    enum { NUMBER_BYTES = 16 };
    const char *path = parent->name ? parent->name : "";
    const bg__call *last = count->last;
    size_t name_bytes =
        last != NULL ? count->name_bytes + 2 : strlen(path) + 1 + strlen(count->op->name) + NUMBER_BYTES;
    size_t bytes = align_bytes(sizeof(bg__call) + name_bytes);
    bg__call *root = parent, *call;

    while (root->parent != NULL)
        root = root->parent;
    call = alloc_from_slab(root, bytes + align_bytes(count->op->args_size));
    if (call == NULL)
        return NULL;
    memset(call, 0, bytes); /* an assignment would clear it word by word */
    call->index = count->count;
    call->name = (char *)(call + 1);
    call->want = (char *)call + bytes;
    if (last == NULL || !write_next_name(call->name, last->name, count->name_bytes))
        count->name_bytes = write_name(call->name, path, count->op, call->index);
    return call;
}

static bg_status add_child_call(bg__call *parent, bg__op_count *count, const bg_site *site, bg__call **result)
{
    bg__call *call = make_call(parent, count);
    if (call == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a call of %s", count->op->name);
    call->op = count->op;
    call->parent = parent;
    call->memory = &call->own;
    call->recorded = true;
    call->ranges = parent->ranges;
    call->segment = call->end_segment = -1;
    call->first_node = call->end_node = -1;
    call->zero_tail = parent->zero_tail;
    if (site != NULL)
        call->site = *site;
    if (parent->last_child != NULL)
        parent->last_child->next = call;
    else
        parent->child = call;
    parent->last_child = call;
    *result = call;
    return BG_OK;
}

bg_status bg__call_find_or_add(bg__call *parent, const bg_op *op, const bg_site *site, bg__call **result)
{
    bg__op_count *count = NULL;
    bg_status status;

    BG__TRY(find_op_count(parent, op, &count));
    *result = find_child_call(parent, op, count->count);
    if (*result == NULL) {
        BG__TRY(add_child_call(parent, count, site, result));
        count->last = *result;
    } else {
        count->last = NULL; /* name_bytes belongs to another name */
        if (site != NULL)   /* this pass may make it at another place */
            (*result)->here = *site;
    }
    count->count++;
    parent->cursor = (*result)->next;
done:
    return status;
}

bg_status bg__call_add_run(bg__call *const *members, int count, const bg_op *op, const char *name, bg__call **result)
{
    bg__call *first = members[0], *root = first, *call;
    size_t list = align_bytes((size_t)count * sizeof *members), bytes = align_bytes(sizeof *call + strlen(name) + 1);

    while (root->parent != NULL)
        root = root->parent;
    call = alloc_from_slab(root, bytes + align_bytes(op->args_size) + list);
    if (call == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %s", name);
    memset(call, 0, bytes);
    *call = (bg__call){.op = op,
                       .site = first->site,
                       .parent = first->parent,
                       .memory = &call->own,
                       .recorded = true,
                       .zero_tail = first->zero_tail,
                       .ranges = first->ranges,
                       .segment = first->segment,
                       .end_segment = first->segment,
                       .first_node = -1,
                       .end_node = -1,
                       .index = UINT_MAX, /* no pass reaches it */
                       .name = memcpy(call + 1, name, strlen(name) + 1),
                       .want = (char *)call + bytes,
                       .members = (bg__call **)(void *)((char *)call + bytes + align_bytes(op->args_size)),
                       .member_count = count,
                       .next = first};
    memcpy(call->members, members, (size_t)count * sizeof *members);
    for (int i = 0; i < count; i++)
        members[i]->run = call;
    call->last_run = root->runs;
    root->runs = call;
    *result = call;
    return BG_OK;
}

static void free_call_tree(bg__call *call)
{
    for (bg__call *child = call->child; child != NULL; child = child->next)
        free_call_tree(child);
    bg__block_list_free(&call->own);
    free(call->counts);
    free(call->shaped);
}

void bg__call_clear(bg__call *root)
{
    struct bg__slab *next;
    free_call_tree(root);
    for (bg__call *run = root->runs; run != NULL; run = run->last_run)
        free_call_tree(run);
    for (struct bg__slab *slab = root->slabs; slab != NULL; slab = next) {
        next = slab->next;
        free(slab);
    }
    *root = (bg__call){0};
}

bg__call *bg__call_next(const bg__call *call)
{
    if (call->child != NULL)
        return call->child;
    while (call != NULL && call->next == NULL)
        call = call->parent;
    return call ? call->next : NULL;
}

void bg__error_add_call(const bg__call *call, bg_status status)
{
    const bg_site *site = call->here.file != NULL ? &call->here : &call->site;
    const char *file = site->file ? site->file : "unknown file";
    if (bg_last_error()[0] == '\0')
        bg__fail(status, "the body returned %s (%s)", bg_status_name(status), bg_status_text(status));
    else if (bg__error_has_location())
        return;
    if (call->name != NULL)
        bg__error_add_location("op %s, call %s at %s:%d", call->op->name, call->name, file, site->line);
    else
        bg__error_add_location("op %s, called at %s:%d", call->op->name, file, site->line);
    bg__error_set_located();
}
