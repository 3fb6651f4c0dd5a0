/* breakgraph completion: scripts for shells, from the tables. */
#include "debug/cli/cli.h"

#include <string.h>

static void print_words(const char *choices)
{
    for (; *choices != '\0'; choices++)
        putchar(*choices == '|' ? ' ' : *choices);
}

static bool has_choices(const cli_flag *flag)
{
    return flag->value != NULL && strchr(flag->value, '|') != NULL;
}

/* ---- bash ---- */

/* "--flag", and "--flag=" where it takes a value. */
static void print_flags(const cli_command *command)
{
    for (size_t i = 0; i < command->flag_count; i++)
        printf(" %s%s", command->flags[i].name, command->flags[i].value != NULL ? "=" : "");
    printf(" --help");
}

static void print_bash_values(const cli_command *command)
{
    for (size_t i = 0; i < command->flag_count; i++)
        if (has_choices(&command->flags[i])) {
            printf("    %s:%s) words=\"", command->name, command->flags[i].name);
            print_words(command->flags[i].value);
            printf("\" ;;\n");
        }
}

/* Behind "--" stands a program, which the shell completes itself. In bash "=" ends a word. */
static void print_bash(void)
{
    printf("# breakgraph completion bash\n"
           "_breakgraph()\n{\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} flag= words= i\n"
           "    COMPREPLY=()\n"
           "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
           "        [ \"${COMP_WORDS[i]}\" = -- ] && { compopt -o default; return; }\n"
           "    done\n"
           "    if [ \"$word\" = = ]; then flag=${COMP_WORDS[COMP_CWORD - 1]} word=; fi\n"
           "    if [ \"${COMP_WORDS[COMP_CWORD - 1]}\" = = ]; then flag=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
           "    if [ \"$COMP_CWORD\" = 1 ]; then words=\"");
    for (size_t i = 0; i < cli_commands_count; i++)
        printf("%s ", cli_commands[i].name);
    printf("--help --version\"\n    elif [ -n \"$flag\" ]; then case $command:$flag in\n");
    for (size_t i = 0; i < cli_commands_count; i++)
        print_bash_values(&cli_commands[i]);
    printf("    *) compopt -o default; return ;;\n    esac\n    else case $command in\n");
    for (size_t i = 0; i < cli_commands_count; i++) {
        printf("    %s) words=\"", cli_commands[i].name);
        if (strchr(cli_commands[i].arguments, '|') != NULL && cli_commands[i].flag_count == 0)
            print_words(cli_commands[i].arguments);
        print_flags(&cli_commands[i]);
        printf("%s\" ;;\n", strncmp(cli_commands[i].arguments, "--", 2) == 0 ? " --" : "");
    }
    printf("    esac\n    fi\n"
           "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
           "    if [[ ${COMPREPLY[0]-} == *= ]]; then compopt -o nospace; fi\n"
           "}\n"
           "complete -F _breakgraph breakgraph\n");
}

/* ---- zsh, fish ---- */

/* Without the characters that the shells would want escaped. */
static void print_plain(const char *text)
{
    for (; *text != '\0'; text++)
        putchar(strchr("'[]:\\\"", *text) != NULL ? ' ' : *text);
}

static void print_zsh_flag(const cli_flag *flag)
{
    printf("        '%s%s[", flag->name, flag->value != NULL ? "=" : "");
    print_plain(flag->text);
    printf("]");
    if (has_choices(flag)) {
        printf(":value:(");
        print_words(flag->value);
        printf(")");
    } else if (flag->value != NULL) {
        printf(":%s:_files", flag->value);
    }
    printf("' \\\n");
}

static void print_zsh(void)
{
    printf("#compdef breakgraph\n_breakgraph()\n{\n    if (( CURRENT == 2 )); then\n        local -a commands=(\n");
    for (size_t i = 0; i < cli_commands_count; i++) {
        printf("            '%s:", cli_commands[i].name);
        print_plain(cli_commands[i].text);
        printf("'\n");
    }
    printf("        )\n        _describe command commands\n        return\n    fi\n"
           "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $command in\n");
    for (size_t i = 0; i < cli_commands_count; i++) {
        const cli_command *command = &cli_commands[i];
        printf("    %s) _arguments \\\n", command->name);
        for (size_t k = 0; k < command->flag_count; k++)
            print_zsh_flag(&command->flags[k]);
        printf("        '--help[show the flags]' ");
        if (strchr(command->arguments, '|') != NULL && command->flag_count == 0) {
            printf("'1:shell:(");
            print_words(command->arguments);
            printf(")' ");
        }
        printf("'*::program:_normal' ;;\n");
    }
    printf("    esac\n}\ncompdef _breakgraph breakgraph\n");
}

static void print_fish_flag(const cli_command *command, const cli_flag *flag)
{
    printf("complete -c breakgraph -n '__fish_seen_subcommand_from %s' -l %s", command->name, flag->name + 2);
    if (has_choices(flag)) {
        printf(" -x -a '");
        print_words(flag->value);
        printf("'");
    } else if (flag->value != NULL) {
        printf(" -r");
    }
    printf(" -d '");
    print_plain(flag->text);
    printf("'\n");
}

static void print_fish(void)
{
    for (size_t i = 0; i < cli_commands_count; i++) {
        const cli_command *command = &cli_commands[i];
        printf("complete -c breakgraph -n __fish_use_subcommand -x -a %s -d '", command->name);
        print_plain(command->text);
        printf("'\n");
        if (strchr(command->arguments, '|') != NULL && command->flag_count == 0) {
            printf("complete -c breakgraph -n '__fish_seen_subcommand_from %s' -x -a '", command->name);
            print_words(command->arguments);
            printf("'\n");
        }
        for (size_t k = 0; k < command->flag_count; k++)
            print_fish_flag(command, &command->flags[k]);
    }
}

static int print(const cli_arguments *arguments)
{
    const char *shell = arguments->rest_count == 1 ? arguments->rest[0] : "";
    if (strcmp(shell, "bash") == 0)
        print_bash();
    else if (strcmp(shell, "zsh") == 0)
        print_zsh();
    else if (strcmp(shell, "fish") == 0)
        print_fish();
    else
        return cli_say(CLI_USAGE, "give one shell: bash, zsh or fish");
    return CLI_OK;
}

int cli_completion(int argc, char **argv)
{
    return cli_with_arguments(argc, argv, print);
}
