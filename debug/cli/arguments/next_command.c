#include "next_command.h"

#include <stdlib.h>
#include <string.h>

#include "debug/cli/output/exits.h"
#include "debug/cli/output/shell_line.h"

/* Whether the next command gets this flag. It does if all commands that start a program accept the flag. A -e is left
 * out if the next command sets its variable itself. */
static bool is_kept_flag(const cli_given_flag *given, const char *command)
{
    static const char *const dropped[] = {"HOSTCUDA_SEED=", "HOSTCUDA_MEMORY=", "BG_DEBUG=", "BG_SHADOW="};
    const char *flag = given->flag->name, *value = given->value;
    char name[64];

    if (strcmp(flag, "--timeout") == 0)
        return strncmp(command, "run", 3) != 0 || strstr(command, " --") != NULL; /* such a run becomes the program */
    if (strcmp(flag, "-e") != 0)
        return strcmp(flag, "--ranks") == 0 || strcmp(flag, "--oversubscribe") == 0;
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        if (strncmp(value, dropped[i], strlen(dropped[i])) == 0)
            return false;
    snprintf(name, sizeof name, "%.*s=", (int)strcspn(value, "="), value);
    return strstr(command, name) == NULL;
}

static void print_flags(FILE *out, const cli_arguments *given, const char *command)
{
    for (size_t i = 0; i < given->count; i++) {
        const char *name = given->given[i].flag->name, *value = given->given[i].value;
        if (!is_kept_flag(&given->given[i], command))
            continue;
        fprintf(out, " %s%s", name, value[0] == '\0' ? "" : name[1] == 'e' ? " " : "=");
        if (value[0] != '\0')
            cli_print_shell_word(out, value);
    }
}

/* Variables of the command's environment are printed, too: the user may start the next command without them. */
static void print_host_variables(FILE *out, const char *command)
{
    static const char *const names[] = {"HOSTCUDA_SEED", "HOSTCUDA_MEMORY"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value == NULL || value[0] == '\0' || strstr(command, "--seeds") != NULL ||
            strstr(command, names[i]) != NULL)
            continue;
        fprintf(out, " -e %s=", names[i]);
        cli_print_shell_word(out, value);
    }
}

char *cli_make_next_command(const cli_arguments *given, const char *command)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    if (out == NULL)
        return NULL;
    fprintf(out, "breakgraph %s", command);
    print_flags(out, given, command);
    print_host_variables(out, command);
    fputs(" -- ", out);
    cli_print_shell_words(out, given->rest);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

void cli_print_next_command(FILE *out, const char *lead, const cli_arguments *given, const char *command)
{
    char *next = cli_make_next_command(given, command);
    if (next != NULL) {
        fprintf(out, "%s: ", lead);
        cli_print(out, "%s", next);
        fputc('\n', out);
    }
    free(next);
}
