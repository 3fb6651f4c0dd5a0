/* Writes the table of environment variables into pages: copies standard input to standard output, but for the lines
 * between one that holds "variables: BLOCK" and one that holds "end of variables", which it makes anew.
 * BLOCK: a group of the table, for docs/environment.md; man, or bash, bash-values, zsh, fish for completions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/variables.h"

/* text, where each character of `which` becomes the text that stands for it. */
static void put(const char *text, const char *which, const char *const *become)
{
    for (; *text != '\0'; text++) {
        const char *found = strchr(which, *text);
        if (found != NULL)
            fputs(become[found - which], stdout);
        else
            putchar(*text);
    }
}

/* ---- docs/environment.md ---- */

static void put_values(const bg__variable *v)
{
    char allowed[BG__ALLOWED_BYTES];
    if (v->form != BG__FORM_CHOICE) {
        put(bg__variable_describe_allowed(v, NULL, allowed), "|*", (const char *const[]){"\\|", "\\*"});
        return;
    }
    putchar('`');
    put(v->values, "|", (const char *const[]){"`, `"});
    putchar('`');
}

static void put_group(const char *group)
{
    puts("| variable | allowed | default | what it does |\n|---|---|---|---|");
    for (size_t i = 0; i < bg__variables_count; i++) {
        const bg__variable *v = &bg__variables[i];
        const char *quote = v->fallback[0] != '\0' ? "`" : "";
        if (strcmp(v->group, group) != 0)
            continue;
        printf("| `%s` | ", v->name);
        put_values(v);
        printf(" | %s%s%s | ", quote, v->fallback, quote);
        put(v->text, "|*", (const char *const[]){"\\|", "\\*"});
        puts(" |");
    }
}

/* ---- the manual page ---- */

static void put_manual(void)
{
    static const char *const become[] = {"\\-", "\\(aq", "\\e"};
    for (size_t i = 0; i < bg__variables_count; i++) {
        const bg__variable *v = &bg__variables[i];
        const char *lead = v->fallback[0] != '\0' ? " Default: " : "";
        printf(".TP\n\\fB%s=%s\\fR\n", v->name, v->values);
        put(v->text, "-'\\", become);
        putchar('.');
        fputs(lead, stdout);
        put(v->fallback, "-'\\", become);
        puts(lead[0] != '\0' ? "." : "");
    }
}

/* ---- completions ---- */

static void put_words(const bg__variable *v)
{
    put(v->values, "|", (const char *const[]){" "});
}

static void put_bash(void)
{
    printf("    local variables=\"");
    for (size_t i = 0; i < bg__variables_count; i++)
        printf("%s%s=", i > 0 ? " " : "", bg__variables[i].name);
    puts("\"");
}

static void put_bash_values(void)
{
    for (size_t i = 0; i < bg__variables_count; i++) {
        if (bg__variables[i].form != BG__FORM_CHOICE && bg__variables[i].form != BG__FORM_CHOICES)
            continue;
        printf("    *:%s) words=\"", bg__variables[i].name);
        put_words(&bg__variables[i]);
        puts("\" ;;");
    }
}

static void put_zsh(void)
{
    for (size_t i = 0; i < bg__variables_count; i++) {
        printf("        '%s:", bg__variables[i].name);
        put(bg__variables[i].text, "':", (const char *const[]){" ", " "});
        puts("'");
    }
}

static void put_fish(void)
{
    for (size_t i = 0; i < bg__variables_count; i++) {
        printf(
            "complete -c breakgraph -n '__fish_seen_subcommand_from run check step bisect report' -s e -x -a %s= -d '",
            bg__variables[i].name);
        put(bg__variables[i].text, "'", (const char *const[]){" "});
        puts("'");
    }
}

/* ---- all of them ---- */

static void put_block(const char *name)
{
    static const struct {
        const char *name;
        void (*put)(void);
    } blocks[] = {{"man", put_manual},
                  {"bash", put_bash},
                  {"bash-values", put_bash_values},
                  {"zsh", put_zsh},
                  {"fish", put_fish}};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        if (strcmp(blocks[i].name, name) == 0) {
            blocks[i].put();
            return;
        }
    }
    put_group(name);
}

int main(void)
{
    char *line = NULL, name[32];
    size_t room = 0;
    bool inside = false;

    while (getline(&line, &room, stdin) > 0) {
        const char *begin = strstr(line, " variables: ");
        if (strstr(line, " end of variables") != NULL)
            inside = false;
        if (!inside)
            fputs(line, stdout);
        if (begin != NULL && sscanf(begin, " variables: %31s", name) == 1) {
            put_block(name);
            inside = true;
        }
    }
    free(line);
    return ferror(stdin) != 0 || fflush(stdout) != 0;
}
