/* mcp/internal.h - what the files of this layer share among themselves.
 * Layer: mcp. Threads: pure. */
#ifndef OWL_MCP_INTERNAL_H
#define OWL_MCP_INTERNAL_H

#include "mcp/model.h"

/* What a peer sent, fit to be quoted in a message: at most 40 bytes of it, anything but
 * printable ASCII as '?'. */
struct owl_mcp__shown {
    char z[48];
};
struct owl_mcp__shown owl_mcp__show(owl_str s);

/* "2025-11-25, 2026-07-28" of a set, oldest first. */
struct owl_mcp__revs {
    char z[16 * OWL_REV__MAX + 1];
};
struct owl_mcp__revs owl_mcp__revs_text(unsigned set);

#endif
