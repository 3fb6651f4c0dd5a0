/* Lists of patterns of op calls. The input is a list, then a line for each call, "attention#0/rope#1". The library and
 * the command agree on what it matches, and a list that was read and written is the same. */
#include "fuzz.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "debug/cli/bisect/bisect_calls.h"
#include "debug/cli/output/cli_json.h"
#include "op/op.h"

enum { DEPTH = 6, CALLS = 16 };

/* A call and those around it, the root first. */
typedef struct path {
    bg__call calls[DEPTH + 1];
    bg_op ops[DEPTH + 1];
    char *text; /* cut into the ops' names */
    const bg__call *last;
} path;

static bool is_name(const char *text)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return length > 0 && text[length] == '\0';
}

/* false: line is no call's name. */
static bool make_path(path *p, char *line)
{
    char *rest = p->text = strdup(line), *part;
    int depth = 0;
    FUZZ_EXPECT(rest != NULL);
    while ((part = strsep(&rest, "/")) != NULL) {
        char *index = strchr(part, '#'), *end = NULL;
        if (index == NULL || depth == DEPTH)
            return false;
        *index++ = '\0';
        depth++;
        p->ops[depth] = (bg_op){.struct_size = sizeof(bg_op), .name = part};
        p->calls[depth].op = &p->ops[depth];
        p->calls[depth].parent = &p->calls[depth - 1];
        p->calls[depth].index = (unsigned)strtoul(index, &end, 10);
        if (!is_name(part) || !isdigit((unsigned char)index[0]) || strlen(index) > 8 || *end != '\0' ||
            (index[0] == '0' && index[1] != '\0'))
            return false;
    }
    p->calls[depth].name = line;
    p->last = &p->calls[depth];
    return true;
}

static void add_call(cJSON *calls, const char *name)
{
    cJSON *call = cJSON_CreateObject();
    FUZZ_EXPECT(call != NULL && cJSON_AddStringToObject(call, "name", name) != NULL &&
                cJSON_AddItemToArray(calls, call));
}

/* Whether the command takes the call for one that the list means. */
static bool command_matches(const char *list, const char *name)
{
    cli_gathered gathered = {.captured = cJSON_CreateArray()};
    cJSON *report = cJSON_CreateObject(), *outline = cJSON_AddObjectToObject(report, "outline");
    cJSON *found = cJSON_CreateArray();
    cli_status status;
    bool matches;

    FUZZ_EXPECT(found != NULL && cJSON_AddItemToArray(gathered.captured, report));
    add_call(cJSON_AddArrayToObject(outline, "calls"), name);
    fuzz_hush();
    status = cli_calls_collect(&gathered, list, found);
    FUZZ_EXPECT(strlen(fuzz_unhush()) > 0 || status == CLI_OK);
    matches = cJSON_GetArraySize(found) == 1;
    FUZZ_EXPECT(status == (matches ? CLI_OK : CLI_NO_MATCH));
    FUZZ_EXPECT(!matches || strcmp(cli_json_text(cJSON_GetArrayItem(found, 0), "name"), name) == 0);
    cJSON_Delete(found);
    cJSON_Delete(gathered.captured);
    return matches;
}

static void expect_same_again(const bg__override *override, char **text)
{
    bg__override *again = NULL;
    char *second = NULL;
    FUZZ_EXPECT(bg__override_format(override, text) == BG_OK);
    FUZZ_EXPECT(bg__override_create(&again, *text) == BG_OK && bg__override_format(again, &second) == BG_OK);
    bg__override_warn_unmatched(again);
    FUZZ_EXPECT(strcmp(*text, second) == 0);
    free(second);
    bg__override_free(again);
}

static void expect_list(const char *list, char *calls)
{
    bg__override *override = NULL;
    char *text = NULL, *line;
    int count = 0;

    FUZZ_EXPECT(bg__override_create(&override, list) == BG_OK && bg_override_eager(list) == BG_OK);
    FUZZ_EXPECT(bg_override_eager(NULL) == BG_OK);
    expect_same_again(override, &text);
    while (calls != NULL && count++ < CALLS && (line = strsep(&calls, "\n")) != NULL) {
        path p = {0};
        if (make_path(&p, line)) {
            bool matches = bg__override_is_eager(override, p.last, false);
            FUZZ_EXPECT(command_matches(list, line) == matches);
            FUZZ_EXPECT(command_matches(text, line) == matches);
        }
        free(p.text);
    }
    free(text);
    bg__override_free(override);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *rest = text, *list = strsep(&rest, "\n");
    bg_status status;

    (void)unsetenv("BG_EAGER_OPS");
    (void)unsetenv("BG_BREAKABLE");
    fuzz_forget_error();
    status = bg__override_check_list(list, "fuzz");
    if (status == BG_OK) {
        expect_list(list, rest);
    } else {
        fuzz_expect_refused(status);
        FUZZ_EXPECT(strncmp(bg_last_error(), "fuzz: ", 6) == 0);
        FUZZ_EXPECT(bg_override_eager(list) == status);
    }
    free(text);
    return 0;
}
