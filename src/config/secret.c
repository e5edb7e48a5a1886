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

static bool begins(owl_str s, const char *word)
{
    size_t n = strlen(word);
    return s.n >= n && strncasecmp(s.p, word, n) == 0;
}

static bool is_any(owl_str s, const char *const *words, size_t n,
                   bool (*like)(owl_str s, const char *word))
{
    for (size_t i = 0; i < n; i++)
        if (like(s, words[i]))
            return true;
    return false;
}

/* The last word of a name: "Key" of authKey and X-Auth-Key. */
static owl_str last_word(owl_str name)
{
    size_t from = name.n;
    while (from > 0 && !strchr("_-. ", name.p[from - 1])) {
        from--;
        bool small = from > 0 && name.p[from - 1] >= 'a' && name.p[from - 1] <= 'z';
        if (small && name.p[from] >= 'A' && name.p[from] <= 'Z')
            break;
    }
    return (owl_str){name.p + from, name.n - from};
}

/* A name with one of these in it, wherever. */
static bool has_long_word(owl_str name)
{
    static const char *const words[] = {
        "token",      "secret",      "passw",         "passphrase",  "api_key",    "api-key",
        "apikey",     "private_key", "privatekey",    "private-key", "access_key", "accesskey",
        "access-key", "credential",  "authorization", "cookie",      "signature"};
    return is_any(name, words, OWL_COUNT(words), holds);
}

/* A name that ends with one of these, which are too short to be looked for within words. */
static bool has_short_word(owl_str name)
{
    static const char *const words[] = {"key", "auth",  "pat", "pass", "pwd", "jwt", "bearer",
                                        "dsn", "creds", "otp", "totp", "sig", "cred"};
    owl_str last = last_word(name);
    if (owl_str_is(name, "PWD")) /* the folder that a shell is in */
        return false;
    for (size_t i = 0; i < OWL_COUNT(words); i++)
        if (owl_str_ieq(last, owl_str_of(words[i])))
            return true;
    return false;
}

static bool is_harmless(owl_str name)
{
    static const char *const ends_with[] = {"file", "_path",   "_dir",   "_url",
                                            "_uri", "tokens",  "_limit", "_ttl",
                                            "_env", "_header", "seconds"};
    return is_any(name, ends_with, OWL_COUNT(ends_with), ends);
}

bool owl_secret__name(owl_str name)
{
    return !is_harmless(name) && (has_long_word(name) || has_short_word(name));
}

/* Whether there is an "@" before the next slash or blank. */
static bool has_at(owl_str s)
{
    size_t i = 0;
    while (i < s.n && s.p[i] == '/')
        i++;
    while (i < s.n && s.p[i] != '/' && s.p[i] != ' ' && s.p[i] != '@')
        i++;
    return i < s.n && s.p[i] == '@';
}

/* scheme://user:password@host, scheme://token@host, user:password@host; a sign of it may be missing.
 * Nobody can tell a user from a token. */
static bool has_userinfo(owl_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        bool slashes = i + 1 < s.n && s.p[i] == '/' && s.p[i + 1] == '/';
        if ((s.p[i] == ':' || slashes) && has_at((owl_str){s.p + i + 1, s.n - i - 1}))
            return true;
    }
    return false;
}

/* 0: neither letter nor digit. */
static int class_of(char c)
{
    if (c >= '0' && c <= '9')
        return 1;
    return c >= 'a' && c <= 'z' ? 2 : c >= 'A' && c <= 'Z' ? 3 : 0;
}

/* Whether a word looks as if drawn by lot, as keys and tokens do: digits and letters of both cases
 * take turns as they do in no word that people write. */
static bool is_random(owl_str word)
{
    enum { LEAST = 16, DIGITS = 3 };
    size_t digits = 0, letters = 0, turns = 0;
    int last = 0;
    for (size_t i = 0; i < word.n; i++) {
        int class = class_of(word.p[i]);
        digits += class == 1;
        letters += class > 1;
        turns += class && last && class != last;
        last = class ? class : last;
    }
    return digits + letters >= LEAST && digits >= DIGITS && letters >= DIGITS &&
           turns * 3 >= digits + letters;
}

/* A text may hold a token that nothing around it tells of: in a path, or behind a misspelt option. */
static bool has_token(owl_str s)
{
    static const char *const known[] = {"sk-",  "ghp_",        "gho_",   "ghs_",  "ghu_",  "ghr_",
                                        "pat-", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA"};
    enum { LEAST = 16 };
    for (size_t i = 0, to; i < s.n; i = to) {
        to = i;
        while (to < s.n && (class_of(s.p[to]) || strchr("+/_-", s.p[to])))
            to++;
        owl_str word = {s.p + i, to - i};
        if ((word.n >= LEAST && is_any(word, known, OWL_COUNT(known), begins)) || is_random(word))
            return true;
        to += to == i;
    }
    return false;
}

static bool word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

/* --token=x, ?key=x, "X-Api-Key: x". A short word may be one of a sentence ("key: value"): it is
 * that of an option, or of a query, or begins the text. */
static bool has_assignment(owl_str s)
{
    for (size_t i = 1; i < s.n; i++) {
        size_t from = i;
        if (s.p[i] != '=' && s.p[i] != ':')
            continue;
        while (from > 0 && word_char(s.p[from - 1]))
            from--;
        owl_str name = {s.p + from, i - from};
        bool alone = from == 0 || s.p[from] == '-' || strchr("?&;", s.p[from - 1]);
        if (is_harmless(name))
            continue;
        if (has_long_word(name) || (s.p[i] == '=' && alone && has_short_word(name)))
            return true;
    }
    return false;
}

/* A user and a password, of -u; not the numbers of a user and a group. */
static bool is_pair(owl_str s)
{
    size_t digits = 0;
    while (digits < s.n && strchr("0123456789:", s.p[digits]))
        digits++;
    return memchr(s.p, ':', s.n) != NULL && digits < s.n;
}

bool owl_secret__option(owl_str option, owl_str text)
{
    if (option.n < 2 || option.p[0] != '-' || memchr(option.p, '=', option.n) || text.n == 0)
        return false;
    bool user = owl_str_is(option, "-u") || owl_str_is(option, "--user");
    return user ? is_pair(text) : owl_secret__name(option);
}

/* npx x --token y */
static bool has_option(owl_str s)
{
    owl_str before = {"", 0};
    for (owl_str word; s.p && owl_str_split(&s, ' ', &word);) {
        if (word.n == 0)
            continue;
        if (owl_secret__option(before, word))
            return true;
        before = word;
    }
    return false;
}

bool owl_secret__text(owl_str text)
{
    static const char *const schemes[] = {"Bearer ", "Basic "};
    for (size_t i = 0; i < OWL_COUNT(schemes); i++)
        if (text.n > strlen(schemes[i]) && begins(text, schemes[i]))
            return true;
    return has_userinfo(text) || has_token(text) || has_assignment(text) || has_option(text);
}
