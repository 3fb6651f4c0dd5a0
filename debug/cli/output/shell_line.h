/* Words of a command line, as a shell reads them. */
#ifndef BG_CLI_SHELL_LINE_H
#define BG_CLI_SHELL_LINE_H

#include <stdio.h>

/* Quoted where a shell needs it. */
void cli_shell_word(FILE *out, const char *word);
/* Words, ended by NULL, with blanks between. */
void cli_shell_words(FILE *out, char *const *words);

#endif
