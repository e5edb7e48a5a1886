/* config/summary.h - a configuration in a few lines, for people.
 * Layer: config. Threads: pure. */
#ifndef OWL_CONFIG_SUMMARY_H
#define OWL_CONFIG_SUMMARY_H

#include "config/config.h"

/* Appends a line for each thing that an operator wants to see before a start: how clients reach the
 * server, what it serves, what it connects to, what it allows; and what is checked only. No secrets. */
void owl_config_summary(struct owl_buf *b, const struct owl_config *c);

#endif
