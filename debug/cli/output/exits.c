#include "exits.h"

#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"

const cli_exit cli_exits[] = {
#define ENTRY(name, number, text) {number, text},
    CLI_EXIT_MAP(ENTRY)
#undef ENTRY
};
const size_t cli_exits_count = sizeof cli_exits / sizeof *cli_exits;

static const char *command_name = "";

void cli_set_command_name(const char *command)
{
    command_name = command;
}

static void print_escaped(FILE *out, const char *format, va_list arguments)
{
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0)
        return;
    bg__print_escaped(out, text);
    free(text);
}

void cli_print(FILE *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_escaped(out, format, arguments);
    va_end(arguments);
}

cli_status cli_print_message(cli_status status, const char *format, ...)
{
    char *line = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&line, &bytes);
    va_list arguments;

    fprintf(out != NULL ? out : stderr, "breakgraph%s%s: ", command_name[0] != '\0' ? " " : "", command_name);
    va_start(arguments, format);
    print_escaped(out != NULL ? out : stderr, format, arguments);
    va_end(arguments);
    fputc('\n', out != NULL ? out : stderr);
    /* One write: standard output and other processes may share the file or terminal. */
    if (out != NULL && fclose(out) == 0)
        (void)fwrite(line, 1, bytes, stderr);
    free(line);
    return status;
}

/* no-color.org: set and not empty. */
bool cli_is_colored(int descriptor)
{
    const char *no_color = getenv("NO_COLOR");
    return isatty(descriptor) && (no_color == NULL || no_color[0] == '\0');
}

const char *cli_color_on(cli_color color)
{
    static const char *const codes[] = {"\033[31m", "\033[32m", "\033[33m", "\033[1m"};
    return cli_is_colored(STDOUT_FILENO) ? codes[color] : "";
}

const char *cli_color_off(void)
{
    return cli_is_colored(STDOUT_FILENO) ? "\033[0m" : "";
}
