/* config/trust.h - which files that a project brings along may run something.
 * Layer: config. Threads: one at a time; several processes may change the list.
 *
 * A project's file names commands, and a start in its folder must not run what nobody has read. The list
 * holds the digest of each file that the user has looked at; a file that has changed is no longer
 * trusted. It is $XDG_STATE_HOME/owlclaw/trust (~/.local/state/owlclaw/trust): a line a file, mode
 * 0600, replaced as a whole. */
#ifndef OWL_CONFIG_TRUST_H
#define OWL_CONFIG_TRUST_H

#include "base/buf.h"

struct owl_trust {
    const char *state_dir; /* of all programs: $XDG_STATE_HOME or ~/.local/state */
};

/* Where that list is, in @p a: $XDG_STATE_HOME, which may be NULL, if it is absolute, else below the
 * home. NULL: nowhere, or without memory. */
const char *owl_trust_state_dir(struct owl_arena *a, const char *xdg_state_home, const char *home);

/* Whether this very content of the file of this absolute path is trusted. A list that cannot be
 * read trusts nothing. */
bool owl_trust_holds(const struct owl_trust *t, const char *path, owl_str content);
/* Whether any content of it is: if not this one, the file has changed. */
bool owl_trust_knows(const struct owl_trust *t, const char *path);
/* @errors OWL_EIO (which file, and why), OWL_EINVAL (a tab or newline in the path), OWL_ELIMIT (4 MiB
 * of entries), OWL_ENOMEM. */
OWL_NODISCARD int owl_trust_add(const struct owl_trust *t, const char *path, owl_str content,
                                owl_error *reterr);
/* Asks for no content: the file may be gone. @errors OWL_ENOTFOUND, OWL_EIO, OWL_ENOMEM. */
OWL_NODISCARD int owl_trust_remove(const struct owl_trust *t, const char *path, owl_error *reterr);
/* Appends the list: path, TAB, digest, newline. @errors OWL_EIO. */
OWL_NODISCARD int owl_trust_list(const struct owl_trust *t, struct owl_buf *b, owl_error *reterr);

#endif
