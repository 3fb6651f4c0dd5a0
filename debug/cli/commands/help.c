/* breakgraph help: pages from the tables. */
#include "debug/cli/cli.h"

#include <string.h>

enum { WIDTH = 110 };

/* text from column on, in lines of at most WIDTH columns. */
static void print_wrapped(FILE *out, const char *text, int column)
{
    int at = column;
    while (*text != '\0') {
        int length = (int)strcspn(text, " ");
        if (at + length > WIDTH && at > column) {
            fprintf(out, "\n%*s", column, "");
            at = column;
        }
        fprintf(out, "%s%.*s", at > column ? " " : "", length, text);
        at += length + (at > column);
        text += length + (text[length] == ' ');
    }
    fputc('\n', out);
}

static void print_entry(FILE *out, const char *left, const char *text, int column)
{
    int used = fprintf(out, "  %s", left);
    if (used + 2 > column)
        fprintf(out, "\n%*s", column, "");
    else
        fprintf(out, "%*s", column - used, "");
    print_wrapped(out, text, column);
}

static void print_flag(FILE *out, const cli_flag *flag)
{
    char left[128], text[512];
    bool optional = flag->value != NULL && flag->without != NULL;
    snprintf(left, sizeof left, "%s%s%s%s%s", flag->name, optional ? "[" : "", flag->value != NULL ? "=" : "",
             flag->value != NULL ? flag->value : "", optional ? "]" : "");
    if (flag->variable == NULL)
        snprintf(text, sizeof text, "%s", flag->text);
    else if (flag->value == NULL)
        snprintf(text, sizeof text, "%s=%s: %s", flag->variable, flag->without, flag->text);
    else
        snprintf(text, sizeof text, "%s: %s", flag->variable, flag->text);
    print_entry(out, left, text, 32);
}

static void print_usage(FILE *out, const char *lead, const cli_command *c)
{
    fprintf(out, "%sbreakgraph %s%s%s%s\n", lead, c->name, c->flag_count > 0 ? " [FLAG...]" : "",
            c->arguments[0] != '\0' ? " " : "", c->arguments);
}

static void print_command(const cli_command *command, FILE *out)
{
    print_usage(out, "usage: ", command);
    fprintf(out, "%s\n", command->text);
    if (command->more != NULL)
        fprintf(out, "\n%s", command->more);
    if (command->flag_count > 0)
        fprintf(out, "\nFlags\n");
    for (size_t i = 0; i < command->flag_count; i++)
        print_flag(out, &command->flags[i]);
}

static void print_all(FILE *out)
{
    char left[16];
    fprintf(out, "usage: breakgraph COMMAND [FLAG...] [-- PROGRAM ARG...]\n");
    for (size_t i = 0; i < cli_commands_count; i++)
        print_entry(out, cli_commands[i].name, cli_commands[i].text, 16);
    fprintf(out, "'breakgraph help COMMAND' and 'breakgraph COMMAND --help' list its flags.\n\n"
                 "Environment of a program that links the library\n");
    for (size_t i = 0; i < cli_variables_count; i++) {
        const cli_flag *v = &cli_variables[i];
        char name[128];
        snprintf(name, sizeof name, "%s=%s", v->variable, v->value == NULL ? v->allowed : v->value);
        print_entry(out, name, v->text, 32);
    }
    fprintf(out, "\nExit status\n");
    for (size_t i = 0; i < cli_exits_count; i++) {
        snprintf(left, sizeof left, "%d", cli_exits[i].number);
        print_entry(out, left, cli_exits[i].text, 8);
    }
}

void cli_help_print(const cli_command *command, FILE *out)
{
    if (command != NULL)
        print_command(command, out);
    else
        print_all(out);
}

int cli_help(int argc, char **argv)
{
    const cli_command *command = argc > 1 ? cli_command_find(argv[1]) : NULL;
    cli_say_for("help");
    if (argc > 2)
        return cli_say(CLI_USAGE, "unknown argument '%s'; it takes one command", argv[2]);
    if (argc > 1 && command == NULL && strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "-h") != 0)
        return cli_say(CLI_USAGE, "there is no command '%s'; 'breakgraph help' lists them", argv[1]);
    cli_help_print(command, stdout);
    return CLI_OK;
}
