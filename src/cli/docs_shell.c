/* cli/docs_shell.c - completions for bash, zsh and fish.
 * Threads: pure.
 *
 * All three walk the words before the cursor into a path such as "/schema/validate" and offer what
 * can follow there: values of the option before the cursor, options, commands, files. */
#include "cli/docs.h"

/* ---- pieces --------------------------------------------------------------------------------- */

/* "/mcp-server/config" */
static void put_path(struct owl_buf *b, const struct owl_command *c)
{
    owl_buf_putz(b, *c->words ? "/" : "");
    for (const char *p = c->words; *p; p++)
        owl_buf_putc(b, *p == ' ' ? '/' : *p);
}

/* The inside of '…'; @p quote is how the shell writes a quote there. zsh wants colons escaped. */
static void put_quoted(struct owl_buf *b, const char *text, const char *quote, bool colons)
{
    for (; *text; text++) {
        if (*text == '\'')
            owl_buf_putz(b, quote);
        else if (*text == ':' && colons)
            owl_buf_putz(b, "\\:");
        else
            owl_buf_putc(b, *text);
    }
}

static bool takes_files(const struct owl_command *c)
{
    for (const struct owl_command_argument *a = c->arguments; a && a->name; a++) {
        if (a->file)
            return true;
    }
    return false;
}

static bool is_program(const struct owl_command *c)
{
    return c == &owl_command_program;
}

/* The patterns of all commands below the program, for a case of the shell. */
static void put_paths(struct owl_buf *b, const char *join)
{
    bool first = true;
    for (size_t i = 0; owl_commands[i]; i++) {
        if (owl_commands[i]->hidden || is_program(owl_commands[i]))
            continue;
        owl_buf_putz(b, first ? "" : join);
        put_path(b, owl_commands[i]);
        first = false;
    }
}

/* Rows of a case that lead from the short form of a group or command to its path:
 * "/config" to "/mcp-server/config". */
static void put_short_paths(struct owl_buf *b, const char *before, const char *between,
                            const char *behind)
{
    for (size_t i = 0; owl_commands[i]; i++) {
        const struct owl_command *c = owl_commands[i];
        if (c->hidden || !owl_command_short(c) || !owl_command_in(c, &owl_command_program))
            continue;
        owl_buf_printf(b, "%s/%s%s", before, owl_command_short(c), between);
        put_path(b, c);
        owl_buf_putz(b, behind);
    }
}

/* ---- bash and zsh --------------------------------------------------------------------------- */

/* "path --map|path -m" as patterns of a case; options of the program fit everywhere. */
static void put_option_pattern(struct owl_buf *b, const struct owl_command *c,
                               const struct owl_command_option *o)
{
    owl_buf_putc(b, is_program(c) ? '*' : '"');
    put_path(b, c);
    owl_buf_printf(b, is_program(c) ? "\" --%s\"" : " --%s\"", o->name);
    if (!o->letter)
        return;
    owl_buf_putz(b, is_program(c) ? "|*\"" : "|\"");
    put_path(b, c);
    owl_buf_printf(b, " -%c\"", o->letter);
}

/* Rows of a case for the values of options; @p words and @p files are the shell's commands. */
static void put_values(struct owl_buf *b, const char *words, const char *files)
{
    for (size_t i = 0; owl_commands[i]; i++) {
        const struct owl_command *c = owl_commands[i];
        for (const struct owl_command_option *o = c->options; !c->hidden && o && o->name; o++) {
            if (!o->value)
                continue;
            owl_buf_putz(b, "    ");
            put_option_pattern(b, c, o);
            owl_buf_printf(b, ") %s", o->choices ? words : o->file ? files : ":");
            for (const char *const *choice = o->choices; choice && *choice; choice++)
                owl_buf_printf(b, " %s", *choice);
            owl_buf_putz(b, "; return ;;\n");
        }
    }
}

static void put_bash_options(struct owl_buf *b, const struct owl_command_option *o)
{
    for (; o && o->name; o++)
        owl_buf_printf(b, " --%s", o->name);
}

static void put_bash_rows(struct owl_buf *b)
{
    for (size_t i = 0; owl_commands[i]; i++) {
        const struct owl_command *c = owl_commands[i];
        if (c->hidden)
            continue;
        owl_buf_putz(b, "    \"");
        put_path(b, c);
        owl_buf_putz(b, "\") options=\"");
        put_bash_options(b, is_program(c) ? NULL : c->options);
        put_bash_options(b, owl_command_program.options);
        owl_buf_putz(b, "\" commands=\"");
        for (size_t k = 0; owl_commands[k]; k++) {
            if (!owl_commands[k]->hidden && owl_command_in(owl_commands[k], c))
                owl_buf_printf(b, " %s", owl_command_name(owl_commands[k]));
        }
        owl_buf_printf(b, "\" files=%s ;;\n", takes_files(c) ? "1" : "");
    }
}

void owl_docs_bash(struct owl_buf *b)
{
    owl_buf_putz(b, "# bash completion for owlclaw, written by \"owlclaw docs bash\".\n\n"
                    "_owlclaw_words() { # _owlclaw_words WORD...: those that go on with $current\n"
                    "    mapfile -t COMPREPLY < <(compgen -W \"$*\" -- \"$current\")\n"
                    "}\n"
                    "_owlclaw_files() {\n"
                    "    compopt -o filenames 2>/dev/null\n"
                    "    mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
                    "}\n"
                    "_owlclaw() {\n"
                    "    local current=${COMP_WORDS[COMP_CWORD]} path= options commands files i\n"
                    "    local before=${COMP_WORDS[COMP_CWORD-1]}\n"
                    "    COMPREPLY=()\n"
                    "    # bash cuts --name=value into three words\n"
                    "    if [[ $current == = ]]; then\n"
                    "        current=\n"
                    "    elif [[ $before == = && COMP_CWORD -gt 2 ]]; then\n"
                    "        before=${COMP_WORDS[COMP_CWORD-2]}\n"
                    "    fi\n"
                    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                    "        case \"$path/${COMP_WORDS[i]}\" in\n");
    put_short_paths(b, "        ", ") path=", " ;;\n");
    owl_buf_putz(b, "        ");
    put_paths(b, "|");
    owl_buf_putz(b, ") path+=\"/${COMP_WORDS[i]}\" ;;\n"
                    "        esac\n"
                    "    done\n"
                    "    case \"$path $before\" in\n");
    put_values(b, "_owlclaw_words", "_owlclaw_files");
    owl_buf_putz(b, "    esac\n"
                    "    case \"$path\" in\n");
    put_bash_rows(b);
    owl_buf_putz(b, "    esac\n"
                    "    if [[ $current == -* ]]; then\n"
                    "        _owlclaw_words \"$options\"\n"
                    "    elif [[ $commands ]]; then\n"
                    "        _owlclaw_words \"$commands\"\n"
                    "    elif [[ $files ]]; then\n"
                    "        _owlclaw_files\n"
                    "    fi\n"
                    "}\n"
                    "complete -F _owlclaw owlclaw\n");
}

static void put_zsh_options(struct owl_buf *b, const struct owl_command_option *o)
{
    for (; o && o->name; o++) {
        owl_buf_printf(b, " '--%s:", o->name);
        put_quoted(b, o->help, "'\\''", true);
        owl_buf_putc(b, '\'');
    }
}

static void put_zsh_rows(struct owl_buf *b)
{
    for (size_t i = 0; owl_commands[i]; i++) {
        const struct owl_command *c = owl_commands[i];
        if (c->hidden)
            continue;
        owl_buf_putz(b, "    \"");
        put_path(b, c);
        owl_buf_putz(b, "\")\n      options=(");
        put_zsh_options(b, is_program(c) ? NULL : c->options);
        put_zsh_options(b, owl_command_program.options);
        owl_buf_putz(b, ")\n      commands=(");
        for (size_t k = 0; owl_commands[k]; k++) {
            if (owl_commands[k]->hidden || !owl_command_in(owl_commands[k], c))
                continue;
            owl_buf_printf(b, " '%s:", owl_command_name(owl_commands[k]));
            put_quoted(b, owl_commands[k]->summary, "'\\''", true);
            owl_buf_putc(b, '\'');
        }
        owl_buf_printf(b, ")\n      files=%s ;;\n", takes_files(c) ? "1" : "");
    }
}

void owl_docs_zsh(struct owl_buf *b)
{
    owl_buf_putz(b, "#compdef owlclaw\n"
                    "# zsh completion for owlclaw, written by \"owlclaw docs zsh\".\n\n"
                    "_owlclaw() {\n"
                    "  local at= before=${words[CURRENT-1]} files\n"
                    "  local -a options commands\n"
                    "  local -i i\n"
                    "  if [[ $PREFIX == --*=* ]]; then\n"
                    "    before=${PREFIX%%=*}\n"
                    "    compset -P 1 '*='\n"
                    "  fi\n"
                    "  for ((i = 2; i < CURRENT; i++)); do\n"
                    "    case \"$at/${words[i]}\" in\n");
    put_short_paths(b, "    ", ") at=", " ;;\n");
    owl_buf_putz(b, "    ");
    put_paths(b, "|");
    owl_buf_putz(b, ") at+=\"/${words[i]}\" ;;\n"
                    "    esac\n"
                    "  done\n"
                    "  case \"$at $before\" in\n");
    put_values(b, "compadd --", "_files");
    owl_buf_putz(b, "  esac\n"
                    "  case \"$at\" in\n");
    put_zsh_rows(b);
    owl_buf_putz(b, "  esac\n"
                    "  if [[ $PREFIX == -* ]]; then\n"
                    "    _describe -o option options\n"
                    "  elif (( $#commands )); then\n"
                    "    _describe command commands\n"
                    "  elif [[ -n $files ]]; then\n"
                    "    _files\n"
                    "  fi\n"
                    "}\n"
                    "if [[ ${funcstack[1]} == _owlclaw ]]; then\n"
                    "  _owlclaw \"$@\"\n"
                    "else\n"
                    "  compdef _owlclaw owlclaw\n"
                    "fi\n");
}

/* ---- fish ----------------------------------------------------------------------------------- */

static void put_fish_options(struct owl_buf *b, const struct owl_command *c)
{
    for (const struct owl_command_option *o = c->options; o && o->name; o++) {
        owl_buf_putz(b, "complete -c owlclaw");
        if (!is_program(c)) {
            owl_buf_putz(b, " -n '__owlclaw_at ");
            put_path(b, c);
            owl_buf_putc(b, '\'');
        }
        owl_buf_printf(b, " -l %s", o->name);
        if (o->letter)
            owl_buf_printf(b, " -s %c", o->letter);
        owl_buf_putz(b, !o->value ? "" : o->file ? " -r -F" : " -x");
        for (const char *const *choice = o->choices; choice && *choice; choice++)
            owl_buf_printf(b, "%s%s%s", choice == o->choices ? " -a '" : " ", *choice,
                           choice[1] ? "" : "'");
        owl_buf_putz(b, " -d '");
        put_quoted(b, o->help, "\\'", false);
        owl_buf_putz(b, "'\n");
    }
}

static void put_fish_commands(struct owl_buf *b, const struct owl_command *c)
{
    for (size_t i = 0; owl_commands[i]; i++) {
        const struct owl_command *child = owl_commands[i];
        if (child->hidden || !owl_command_in(child, c))
            continue;
        owl_buf_putz(b, "complete -c owlclaw -n '__owlclaw_at \"");
        put_path(b, c);
        owl_buf_printf(b, "\"' -a %s -d '", owl_command_name(child));
        put_quoted(b, child->summary, "\\'", false);
        owl_buf_putz(b, "'\n");
    }
    if (takes_files(c)) {
        owl_buf_putz(b, "complete -c owlclaw -n '__owlclaw_at ");
        put_path(b, c);
        owl_buf_putz(b, "' -F\n");
    }
}

void owl_docs_fish(struct owl_buf *b)
{
    owl_buf_putz(b, "# fish completion for owlclaw, written by \"owlclaw docs fish\".\n\n"
                    "function __owlclaw_at\n"
                    "    set -l path ''\n"
                    "    for word in (commandline -opc)[2..-1]\n"
                    "        switch \"$path/$word\"\n");
    put_short_paths(b, "            case ", "\n                set path ", "\n");
    owl_buf_putz(b, "            case ");
    put_paths(b, " ");
    owl_buf_putz(b, "\n"
                    "                set path \"$path/$word\"\n"
                    "        end\n"
                    "    end\n"
                    "    test \"$path\" = \"$argv[1]\"\n"
                    "end\n"
                    "complete -c owlclaw -f\n");
    for (size_t i = 0; owl_commands[i]; i++) {
        if (owl_commands[i]->hidden)
            continue;
        put_fish_commands(b, owl_commands[i]);
        put_fish_options(b, owl_commands[i]);
    }
}
