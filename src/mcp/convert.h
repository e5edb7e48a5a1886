/* mcp/convert.h - results in the newest revision's format, for clients of older ones.
 * Layer: mcp. Threads: pure.
 *
 * Results are built and relayed in the newest format, and converted once, when they are sent. What
 * an older revision has no word for is replaced by text that says the same, or left out; members
 * that a client may ignore stay. Whatever does not change is copied as it stands. */
#ifndef OWL_MCP_CONVERT_H
#define OWL_MCP_CONVERT_H

#include "mcp/model.h"

/* Where content blocks are. */
enum owl_mcp_form {
    OWL_FORM_OTHER,  /* nowhere: only what belongs to an era is left out */
    OWL_FORM_TOOL,   /* content[], beside structuredContent */
    OWL_FORM_PROMPT, /* messages[].content */
};

/* Revisions that take a content block of this type, or structuredContent (proved text), as it is:
 * a set of OWL_REV_BIT. */
unsigned owl_mcp_block_revs(owl_str type_literal);
unsigned owl_mcp_structured_revs(owl_str value);

/* Append the members of a result object, without braces, for clients of @p to. The members that the
 * codec writes itself (resultType, ttlMs, cacheScope, _meta) are left out; the value of _meta is in
 * *@p ret_meta, or absent (may be NULL). @p object is proved text. Errors are in b->rc. */
void owl_mcp_convert(struct owl_buf *b, enum owl_rev to, enum owl_mcp_form form, owl_str object,
                     owl_str *ret_meta);

/* Append the members of a result's _meta object that travel on, without braces: all but those that
 * belong to one hop (serverInfo, related-task, subscriptionId), and, unless @p trusted, owlclaw/…. */
void owl_mcp_convert_meta(struct owl_buf *b, owl_str meta, bool trusted);

#endif
