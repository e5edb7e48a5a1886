/* cli/docs.h - descriptors, as other programs read them: man pages, completions, Markdown.
 * Layer: cli. Threads: pure. */
#ifndef OWL_CLI_DOCS_H
#define OWL_CLI_DOCS_H

#include "base/buf.h"
#include "cli/command.h"

/* The man page of a command or of the program. */
void owl_docs_man(struct owl_buf *b, const struct owl_command *c);
/* "owlclaw-schema-validate" */
void owl_docs_put_page(struct owl_buf *b, const struct owl_command *c);

void owl_docs_bash(struct owl_buf *b);
void owl_docs_zsh(struct owl_buf *b);
void owl_docs_fish(struct owl_buf *b);

/* docs/cli.md */
void owl_docs_markdown(struct owl_buf *b);

#endif
