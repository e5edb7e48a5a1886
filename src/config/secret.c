/* config/secret.c - which names speak of secrets, and which texts carry them.
 * Threads: pure.
 *
 * Rather one value too many is hidden than one too few. */
#include "config/variables.h"

#include <strings.h>

static bool holds(owl_str s, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= s.n; i++)
        if (strncasecmp(s.p + i, word, n) == 0)
            return true;
    return false;
}

static bool ends(owl_str s, const char *word)
{
    size_t n = strlen(word);
    return s.n >= n && strncasecmp(s.p + s.n - n, word, n) == 0;
}

bool owl_secret__name(owl_str name)
{
    static const char *const telling[] = {
        "token",      "secret",      "passw",         "passphrase",  "api_key",    "api-key",
        "apikey",     "private_key", "privatekey",    "private-key", "access_key", "accesskey",
        "access-key", "credential",  "authorization", "cookie"};
    static const char *const harmless[] = {"file",   "_path", "_dir", "_url",    "_uri",   "tokens",
                                           "_limit", "_ttl",  "_env", "_header", "seconds"};
    for (size_t i = 0; i < OWL_COUNT(harmless); i++)
        if (ends(name, harmless[i]))
            return false;
    for (size_t i = 0; i < OWL_COUNT(telling); i++)
        if (holds(name, telling[i]))
            return true;
    return owl_str_ieq(name, OWL_STR("auth")) || ends(name, "_auth") || ends(name, "_pat") ||
           ends(name, "_key");
}

/* scheme://user:password@host */
static bool has_password(owl_str s)
{
    for (size_t i = 0; i + 3 <= s.n; i++) {
        if (memcmp(s.p + i, "://", 3) != 0)
            continue;
        bool colon = false;
        for (size_t at = i + 3; at < s.n && s.p[at] != '/' && s.p[at] != ' '; at++) {
            if (s.p[at] == '@')
                return colon;
            colon = colon || s.p[at] == ':';
        }
    }
    return false;
}

static bool word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

/* --token=x, ?api_key=x, "X-Api-Key: x" */
static bool has_assignment(owl_str s)
{
    for (size_t i = 1; i < s.n; i++) {
        size_t from = i;
        if (s.p[i] != '=' && s.p[i] != ':')
            continue;
        while (from > 0 && word_char(s.p[from - 1]))
            from--;
        if (owl_secret__name((owl_str){s.p + from, i - from}))
            return true;
    }
    return false;
}

bool owl_secret__text(owl_str text)
{
    static const char *const schemes[] = {"Bearer ", "Basic "};
    for (size_t i = 0; i < OWL_COUNT(schemes); i++)
        if (text.n > strlen(schemes[i]) && strncasecmp(text.p, schemes[i], strlen(schemes[i])) == 0)
            return true;
    return has_password(text) || has_assignment(text);
}
