/* Flattens fields that are structs with fields of their own (BG_STRUCT): the op gets a list of all inner fields, with
 * names like "cache.k", so that no other code handles structs. */
#include "op/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 256 }; /* longer names are cut off */

/* The fields that are written. fields NULL: only count and bytes are computed. */
typedef struct field_table {
    bg_field *fields;
    char *names;
    uint32_t count;
    size_t bytes; /* of names */
} field_table;

static void append_field(field_table *t, const bg_field *field, const char *name, uint32_t offset)
{
    const size_t bytes = strlen(name) + 1;
    if (t->fields != NULL) {
        memcpy(t->names + t->bytes, name, bytes);
        t->fields[t->count] = *field;
        t->fields[t->count].name = t->names + t->bytes;
        t->fields[t->count].offset = offset;
    }
    t->count++;
    t->bytes += bytes;
}

/* prefix: the names of the enclosing structs, "cache."; base: their offset in the arguments. */
static void append_flattened(field_table *t, const bg_field *field, const char *prefix, uint32_t base)
{
    char name[NAME_BYTES], inner_prefix[NAME_BYTES];

    snprintf(name, sizeof name, "%s%s", prefix, field->name);
    if (field->role != BG_ROLE_STRUCT) {
        append_field(t, field, name, base + field->offset);
        return;
    }
    snprintf(inner_prefix, sizeof inner_prefix, "%s%s.", prefix, field->name);
    for (const bg_field *inner = bg__struct_fields(field); inner->name[0] != '\0'; inner++)
        append_flattened(t, inner, inner_prefix, base + field->offset);
}

static field_table build_field_table(const bg_op *op, bg_field *fields, char *names)
{
    field_table t = {.fields = fields, .names = names};
    for (uint32_t i = 0; i < op->field_count; i++)
        append_flattened(&t, &op->fields[i], "", 0);
    return t;
}

static bool has_structs(const bg_op *op)
{
    for (uint32_t i = 0; i < op->field_count; i++)
        if (op->fields[i].role == BG_ROLE_STRUCT)
            return true;
    return false;
}

void bg__op_flatten_structs(bg_op *op)
{
    bg_field *made;
    field_table t;

    if (!has_structs(op))
        return;
    t = build_field_table(op, NULL, NULL);
    made = malloc(t.count * sizeof *made + t.bytes + 1); /* the names follow the fields in the same block */
    if (made == NULL) {                                  /* this runs in a constructor, which cannot return an error */
        bg__warn("out of host memory for the fields of op %s", op->name);
        abort();
    }
    (void)build_field_table(op, made, (char *)&made[t.count]);
    op->fields = made; /* never freed: calls read it without a lock, also while the process exits */
    op->field_count = t.count;
}
