/* Prints words of a command line, quoted for a shell. */
#ifndef BG_CLI_SHELL_LINE_H
#define BG_CLI_SHELL_LINE_H

#include <stdio.h>

/* Prints a word, quoted if a shell needs that. */
void cli_print_shell_word(FILE *out, const char *word);
/* Prints words, ended by NULL, separated by blanks. */
void cli_print_shell_words(FILE *out, char *const *words);

#endif
