#include "columns.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "debug/files/json.h"

/* Objects with more different members are not written as columns. */
enum { MOST_COLUMNS = 64 };

/* ---- texts ---- */

typedef struct known_text {
    const char *text;
    size_t place;
} known_text;

typedef struct column_writer {
    FILE *out;
    void *known;        /* a tree of known_text (tsearch) */
    const char **texts; /* by their places */
    size_t count, capacity;
} column_writer;

static bg_status columns_out_of_memory(void)
{
    return bg__fail(BG_ERROR_OUT_OF_MEMORY, "bg_report_write: out of host memory for the page's data");
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(((const known_text *)a)->text, ((const known_text *)b)->text);
}

static bg_status find_text_place(column_writer *w, const char *text, size_t *place)
{
    known_text *fresh = malloc(sizeof *fresh), **found;
    bg_status status = BG_OK;

    if (fresh == NULL)
        return columns_out_of_memory();
    *fresh = (known_text){text, w->count};
    found = tsearch(fresh, &w->known, compare_texts);
    if (found == NULL || *found != fresh)
        free(fresh);
    if (found == NULL)
        return columns_out_of_memory();
    *place = (*found)->place;
    if (*found == fresh) {
        BG__TRY(BG__ARRAY_GROW(w->texts, w->count, w->capacity, "texts of a page"));
        w->texts[w->count++] = text;
    }
done:
    return status;
}

/* ---- values ---- */

/* In a script element '<' could end the element or begin a comment, and some parsers read U+2028 and U+2029 as
 * newlines. */
static void write_escaped(const char *json, FILE *out)
{
    for (const char *at = json; *at != '\0'; at++) {
        if (*at == '<') {
            fputs("\\u003c", out);
        } else if (strncmp(at, "\xe2\x80\xa8", 3) == 0 || strncmp(at, "\xe2\x80\xa9", 3) == 0) {
            fputs(at[2] == '\xa8' ? "\\u2028" : "\\u2029", out);
            at += 2;
        } else {
            fputc(*at, out);
        }
    }
}

static bg_status write_json_value(const cJSON *value, FILE *out)
{
    char *text;

    if (cJSON_IsNumber(value) && value->valuedouble == value->valueint) {
        fprintf(out, "%d", value->valueint);
        return BG_OK;
    }
    text = bg__json_text(value, false);
    if (text == NULL)
        return columns_out_of_memory();
    write_escaped(text, out);
    cJSON_free(text);
    return BG_OK;
}

static bg_status write_text(const char *text, FILE *out)
{
    cJSON *string = cJSON_CreateStringReference(text);
    bg_status status = string != NULL ? write_json_value(string, out) : columns_out_of_memory();
    cJSON_Delete(string);
    return status;
}

static bg_status write_value(column_writer *w, const cJSON *value);

/* Writes the elements of a list or the members of an object, without brackets. */
static bg_status write_items(column_writer *w, const cJSON *value)
{
    bg_status status = BG_OK;
    const cJSON *item;

    cJSON_ArrayForEach(item, value)
    {
        if (item != value->child)
            fputc(',', w->out);
        if (cJSON_IsObject(value)) {
            BG__TRY(write_text(item->string, w->out));
            fputc(':', w->out);
        }
        BG__TRY(write_value(w, item));
    }
done:
    return status;
}

/* ---- columns ---- */

typedef struct column {
    const char *name;
    const cJSON **cells; /* a cell for each row; NULL: the row has none */
    bool is_text;
} column;

typedef struct table {
    column columns[MOST_COLUMNS];
    size_t count, rows;
} table;

/* Finds the column of that name, or adds it. Most rows have their members in the same order, so the search begins at
 * index `near`. */
static column *find_column(table *t, const char *name, size_t near)
{
    for (size_t i = 0; i < t->count; i++) {
        column *c = &t->columns[(near + i) % t->count];
        if (strcmp(c->name, name) == 0)
            return c;
    }
    return NULL;
}

static bg_status add_column(table *t, const char *name, column **c)
{
    const cJSON **cells = calloc(t->rows, sizeof(const cJSON *));
    if (cells == NULL)
        return columns_out_of_memory();
    *c = &t->columns[t->count++];
    **c = (column){name, cells, true};
    return BG_OK;
}

static bg_status add_table_row(table *t, const cJSON *object, size_t row, bool *fits)
{
    bg_status status = BG_OK;
    const cJSON *item;
    size_t near = 0;

    cJSON_ArrayForEach(item, object)
    {
        column *c = find_column(t, item->string, near);
        *fits = c != NULL || t->count < MOST_COLUMNS;
        if (!*fits)
            break;
        if (c == NULL)
            BG__TRY(add_column(t, item->string, &c));
        near = (size_t)(c - t->columns) + 1;
        if (c->cells[row] == NULL) { /* if two members have the same name, the first one counts */
            c->cells[row] = item;
            c->is_text = c->is_text && cJSON_IsString(item);
        }
    }
done:
    return status;
}

/* *fits: all elements are objects, with at least one member and not too many different ones. */
static bg_status fill_table(table *t, const cJSON *list, bool *fits)
{
    bg_status status = BG_OK;
    const cJSON *item;
    size_t row = 0;

    t->rows = (size_t)cJSON_GetArraySize(list);
    *fits = true;
    cJSON_ArrayForEach(item, list)
    {
        *fits = cJSON_IsObject(item);
        if (*fits)
            BG__TRY(add_table_row(t, item, row++, fits));
        if (!*fits)
            break;
    }
    *fits = *fits && t->count > 0;
done:
    return status;
}

static bg_status write_cell(column_writer *w, const column *c, const cJSON *cell)
{
    size_t place = 0;
    bg_status status = BG_OK;

    if (cell == NULL) {
        fputs(c->is_text ? "-1" : "{}", w->out);
    } else if (c->is_text) {
        BG__TRY(find_text_place(w, cell->valuestring, &place));
        fprintf(w->out, "%zu", place);
    } else {
        BG__TRY(write_value(w, cell));
    }
done:
    return status;
}

static bg_status write_columns(column_writer *w, const table *t, bool texts)
{
    const char *before = "";
    bg_status status = BG_OK;

    for (size_t i = 0; i < t->count; i++) {
        const column *c = &t->columns[i];
        if (c->is_text != texts)
            continue;
        fputs(before, w->out);
        before = ",";
        BG__TRY(write_text(c->name, w->out));
        for (size_t row = 0; row < t->rows; row++) {
            fputs(row == 0 ? ":[" : ",", w->out);
            BG__TRY(write_cell(w, c, c->cells[row]));
        }
        fputc(']', w->out);
    }
done:
    return status;
}

static bg_status write_table(column_writer *w, const table *t)
{
    bg_status status;

    fputs("{\"texts\":{", w->out);
    BG__TRY(write_columns(w, t, true));
    fputs("},\"values\":{", w->out);
    BG__TRY(write_columns(w, t, false));
    fputs("}}", w->out);
done:
    return status;
}

static bool is_list_of_texts(const cJSON *list)
{
    bool good = list->child != NULL;
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        good = good && cJSON_IsString(item);
    }
    return good;
}

static bg_status write_places(column_writer *w, const cJSON *list)
{
    bg_status status = BG_OK;
    const cJSON *item;
    size_t place = 0;

    fputs("{\"places\":[", w->out);
    cJSON_ArrayForEach(item, list)
    {
        BG__TRY(find_text_place(w, item->valuestring, &place));
        fprintf(w->out, item == list->child ? "%zu" : ",%zu", place);
    }
    fputs("]}", w->out);
done:
    return status;
}

static bg_status write_list(column_writer *w, const cJSON *list)
{
    table t = {.count = 0};
    bool fits;
    bg_status status;

    if (is_list_of_texts(list))
        return write_places(w, list);
    BG__TRY(fill_table(&t, list, &fits));
    if (fits) {
        BG__TRY(write_table(w, &t));
    } else {
        fputc('[', w->out);
        BG__TRY(write_items(w, list));
        fputc(']', w->out);
    }
done:
    for (size_t i = 0; i < t.count; i++)
        free(t.columns[i].cells);
    return status;
}

static bg_status write_value(column_writer *w, const cJSON *value)
{
    bg_status status;

    if (cJSON_IsArray(value))
        return write_list(w, value);
    if (!cJSON_IsObject(value))
        return write_json_value(value, w->out);
    fputc('{', w->out);
    BG__TRY(write_items(w, value));
    fputc('}', w->out);
done:
    return status;
}

bg_status bg__columns_write(const cJSON *root, FILE *out)
{
    column_writer w = {.out = out};
    bg_status status;

    fputc('{', out);
    BG__TRY(write_items(&w, root));
    fputs(root->child != NULL ? ",\n\"strings\":[" : "\"strings\":[", out);
    for (size_t i = 0; i < w.count; i++) {
        if (i > 0)
            fputc(',', out);
        BG__TRY(write_text(w.texts[i], out));
    }
    fputs("]}\n", out);
done:
    tdestroy(w.known, free);
    free(w.texts);
    return status;
}
