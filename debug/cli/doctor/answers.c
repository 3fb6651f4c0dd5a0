#include "answers.h"

#include <breakgraph/breakgraph.h>
#include <stdarg.h>
#include <stdio.h>

#include "debug/cli/output/exits.h"
#include "debug/cli/output/cli_json.h"

enum { DOCTOR_VERSION = 1 };

static cJSON *answers; /* NULL: each answer is printed at once */
static bool any_broken;
static const char *const health_names[] = {"works", "missing", "broken", "told"};

void cli_answers_open(bool json)
{
    answers = json ? cJSON_CreateArray() : NULL;
}

void cli_answers_heading(const char *text)
{
    if (answers == NULL)
        printf("\n%s%s%s\n", cli_color_on(CLI_BOLD), text, cli_color_off());
}

void cli_answers_add(const char *what, cli_health health, const char *format, ...)
{
    static const char *const marks[] = {"✓", "–", "✗", " "};
    static const cli_color colors[] = {CLI_GREEN, CLI_YELLOW, CLI_RED, CLI_BOLD};
    char text[1024];
    va_list arguments;
    cJSON *item;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    any_broken = any_broken || health == CLI_BROKEN;
    if (answers == NULL) {
        printf("%s%s%s ", cli_color_on(colors[health]), marks[health], cli_color_off());
        cli_print(stdout, "%-24s %s", what, text);
        fputs("\n", stdout);
        return;
    }
    item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "what", what);
    cJSON_AddStringToObject(item, "health", health_names[health]);
    cJSON_AddStringToObject(item, "text", text);
    cJSON_AddItemToArray(answers, item);
}

static void print_json(void)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "breakgraph", bg_version());
    cJSON_AddNumberToObject(root, "doctor_version", DOCTOR_VERSION);
    cJSON_AddBoolToObject(root, "healthy", !any_broken);
    cJSON_AddItemReferenceToObject(root, "answers", answers);
    cli_json_print(root);
    cJSON_Delete(root);
}

bool cli_answers_close(void)
{
    if (answers != NULL)
        print_json();
    cJSON_Delete(answers);
    answers = NULL;
    return !any_broken;
}
