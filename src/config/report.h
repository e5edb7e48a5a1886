/* config/report.h - faults for people and for programs.
 * Layer: config. Threads: pure. */
#ifndef OWL_CONFIG_REPORT_H
#define OWL_CONFIG_REPORT_H

#include "config/config.h"

/* Appends
 *     mcp-server.yaml:4:9: error: `prot` is no key of `http`
 *         prot: 8080
 *         ^~~~
 *       hint: ...
 * with colours if asked. Secrets that a line of the file shows are blotted out. */
void owl_report_fault(struct owl_buf *b, const struct owl_config *c, const struct owl_fault *f,
                      bool colours);
/* {"file":…,"line":…,"column":…,"severity":"error","message":…,"hint":…}; a fault that is in no file
 * names its "source" instead. */
void owl_report_fault_json(struct owl_buf *b, const struct owl_config *c,
                           const struct owl_fault *f);

#endif
