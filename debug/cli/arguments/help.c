#include "help.h"

#include <string.h>

#include "debug/cli/output/exits.h"
#include "base/variables.h"

enum { WIDTH = 110 };

/* Prints text from this column on, in lines of at most WIDTH columns; keeps the newlines of text. */
static void print_wrapped(FILE *out, const char *text, int column)
{
    int at = column;
    while (*text != '\0') {
        int length = (int)strcspn(text, " \n");
        if (at + length > WIDTH && at > column) {
            fprintf(out, "\n%*s", column, "");
            at = column;
        }
        fprintf(out, "%s%.*s", at > column ? " " : "", length, text);
        at += length + (at > column);
        text += length + (text[length] == ' ');
        if (*text == '\n') {
            fprintf(out, "\n%*s", column, "");
            at = column;
            text++;
        }
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
    const char *value = cli_flag_value_syntax(flag);
    bool optional = value != NULL && flag->without != NULL;
    snprintf(left, sizeof left, "%s%s%s%s%s", flag->name, optional ? "[" : "", cli_flag_separator(flag),
             value != NULL ? value : "", optional ? "]" : "");
    if (flag->variable == NULL)
        snprintf(text, sizeof text, "%s", flag->text);
    else
        snprintf(text, sizeof text, "%s: %s", flag->variable, bg__variable_find(flag->variable)->text);
    print_entry(out, left, text, 32);
}

static void print_usage(FILE *out, const char *lead, const cli_command *c)
{
    fprintf(out, "%sbreakgraph %s%s%s%s\n", lead, c->name, cli_command_flag(c, 0) != NULL ? " [FLAG...]" : "",
            c->arguments[0] != '\0' ? " " : "", c->arguments);
}

void cli_help_print(const cli_command *command, FILE *out)
{
    const cli_flag *flag = cli_command_flag(command, 0);
    print_usage(out, "usage: ", command);
    fprintf(out, "%s\n", command->text);
    if (command->more != NULL) {
        fputc('\n', out);
        print_wrapped(out, command->more, 0);
    }
    if (flag != NULL)
        fprintf(out, "\nFlags\n");
    for (size_t i = 0; (flag = cli_command_flag(command, i)) != NULL; i++)
        print_flag(out, flag);
}

static void print_commands(const cli_command *const *commands, size_t count, FILE *out)
{
    fprintf(out, "usage: breakgraph COMMAND [FLAG...] [-- PROGRAM ARG...]\n");
    for (size_t i = 0; i < count; i++)
        print_entry(out, commands[i]->name, commands[i]->text, 16);
}

void cli_help_print_short(FILE *out)
{
    fprintf(
        out,
        "Finds what is wrong with the CUDA graphs of a program: wrong addresses, wrong values, faults, NaN, hangs.\n\n"
        "  breakgraph check --attach -- PROGRAM ARG...     what makes its graphs wrong\n"
        "  breakgraph step --attach -- PROGRAM ARG...      the node that faults, or where NaN first appears\n"
        "  breakgraph bisect --attach -- PROGRAM ARG...    which nodes must leave their graph for a fault to vanish\n"
        "  breakgraph report --attach -- PROGRAM ARG...    which graphs there are, as text, JSON or a page\n"
        "  breakgraph doctor                               what this machine has, and what works\n\n"
        "Without --attach they look at the op calls of a program that uses libbreakgraph, and 'breakgraph run' tells\n"
        "whether its captures or its model are at fault. 'breakgraph help COMMAND' lists the flags of a command,\n"
        "'breakgraph --help' all commands, the environment variables and the exit statuses.\n");
}

void cli_help_print_all(const cli_command *const *commands, size_t count, FILE *out)
{
    char left[16];
    print_commands(commands, count, out);
    fprintf(out, "'breakgraph help COMMAND' and 'breakgraph COMMAND --help' list its flags.\n\n"
                 "Environment of a program that links the library\n");
    for (size_t i = 0; i < bg__variables_count; i++) {
        const bg__variable *v = &bg__variables[i];
        char name[128];
        snprintf(name, sizeof name, "%s=%s", v->name, v->values);
        print_entry(out, name, v->text, 32);
    }
    fprintf(out, "\nExit status\n");
    for (size_t i = 0; i < cli_exits_count; i++) {
        snprintf(left, sizeof left, "%d", cli_exits[i].number);
        print_entry(out, left, cli_exits[i].text, 8);
    }
}
