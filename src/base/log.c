/* base/log.c - one line of text for a log.
 * Threads: any.
 *
 * Invariant: a line is UTF-8 and holds nothing that owl_text_unsafe() names, whatever its arguments
 * were: a peer cannot forge a second line, drive somebody's terminal or hide text. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/visible.h"

enum { LINE = 1024 };

static const char *const names[] = {
    [OWL_LEVEL_DEBUG] = "debug",   [OWL_LEVEL_INFO] = "info",
    [OWL_LEVEL_NOTICE] = "notice", [OWL_LEVEL_WARNING] = "warning",
    [OWL_LEVEL_ERROR] = "error",   [OWL_LEVEL_CRITICAL] = "critical",
    [OWL_LEVEL_ALERT] = "alert",   [OWL_LEVEL_EMERGENCY] = "emergency",
};

void owl_log_write(const struct owl_log *log, owl_level level, const char *category,
                   const char *fmt, ...)
{
    char line[LINE];
    int head = snprintf(line, sizeof line, "%.64s: ", category);
    if (head < 0)
        return;
    va_list args;
    va_start(args, fmt);
    int text = vsnprintf(line + head, sizeof line - (size_t)head, fmt, args);
    va_end(args);
    if (text < 0)
        return;
    bool cut = (size_t)head + (size_t)text >= sizeof line;
    size_t most = sizeof line - sizeof "...";
    size_t n = owl_text_tame(line, cut ? most : (size_t)head + (size_t)text, cut);
    memcpy(line + n, cut ? "..." : "", cut ? sizeof "..." : 1);
    log->fn(log->data, level, line);
}

const char *owl_level_name(owl_level level)
{
    return level >= OWL_LEVEL_DEBUG && level <= OWL_LEVEL_EMERGENCY ? names[level] : "unknown";
}

int owl_level_parse(owl_str s)
{
    for (size_t i = OWL_LEVEL_DEBUG; i < OWL_COUNT(names); i++) {
        if (owl_str_is(s, names[i]))
            return (int)i;
    }
    return -1;
}
