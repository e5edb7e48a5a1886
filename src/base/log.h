/* base/log.h - the front of the log: a level, a category and one line of text.
 * Layer: base. Threads: any.
 *
 * There is no global log: who may log holds a struct owl_log, which belongs to its server. */
#ifndef OWL_BASE_LOG_H
#define OWL_BASE_LOG_H

#include "base/base.h"

struct owl_log {
    owl_log_fn fn; /* NULL: nothing is logged */
    void *data;
    owl_level level;
};

/* The level is tested before the arguments are evaluated. Lines read "category: text". */
#define OWL_LOG(log, lvl, category, ...) \
    do { \
        const struct owl_log *owl_log_ = (log); \
        if (owl_log_->fn && (lvl) >= owl_log_->level) \
            owl_log_write(owl_log_, (lvl), (category), __VA_ARGS__); \
    } while (0)
void owl_log_write(const struct owl_log *log, owl_level level, const char *category,
                   const char *fmt, ...) OWL_PRINTF(4, 5);

/* "debug" … "emergency", as MCP spells them; parsing: -1 for anything else. */
const char *owl_level_name(owl_level level);
int owl_level_parse(owl_str s);

#endif
