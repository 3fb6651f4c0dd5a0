#include "shell_line.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

void cli_print_shell_word(FILE *out, const char *word)
{
    bool plain = word[0] != '\0';
    for (const char *c = word; *c != '\0' && plain; c++)
        plain = isalnum((unsigned char)*c) || strchr("-_./=:,@%+", *c) != NULL;
    if (plain) {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word != '\0'; word++)
        fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, out);
    fputc('\'', out);
}

void cli_print_shell_words(FILE *out, char *const *words)
{
    for (char *const *word = words; *word != NULL; word++) {
        fputs(word > words ? " " : "", out);
        cli_print_shell_word(out, *word);
    }
}
