/* options.c - the command line of everything-server, table by table. */
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "everything.h"

static const char usage[] =
    "usage: %s [--help] [--stdio | --port N] [--listen ADDRESS]... [--limit NAME=N]...\n"
    "       [--revisions LIST] [--reactors N] [--page-items N] [--trusted-proxies LIST]\n"
    "       [--cors ORIGINS] [--allow-hosts LIST] [--tls-cert FILE --tls-key FILE\n"
    "       [--tls-client-ca FILE]]\n";

#define AT(member) offsetof(struct options, member)

static const struct {
    const char *name;
    size_t at; /* of a const char * */
} texts[] = {
    {"--revisions", AT(server.revisions)},     {"--trusted-proxies", AT(server.trusted_proxies)},
    {"--cors", AT(server.cors_origins)},       {"--tls-cert", AT(tls.cert_file)},
    {"--tls-key", AT(tls.key_file)},           {"--tls-client-ca", AT(tls.client_ca_file)},
    {"--allow-hosts", AT(server.allow_hosts)},
};

static const struct {
    const char *name;
    size_t at; /* of an unsigned */
} numbers[] = {
    {"--reactors", AT(server.reactors)},
    {"--page-items", AT(server.page_items)},
};

#define LIMIT(name) \
    { \
#name, offsetof(owl_limits, name) \
    }
static const struct {
    const char *name;
    size_t at; /* of a size_t */
} limits[] = {
    LIMIT(body_bytes),
    LIMIT(line_bytes),
    LIMIT(url_bytes),
    LIMIT(headers),
    LIMIT(header_bytes),
    LIMIT(depth),
    LIMIT(id_bytes),
    LIMIT(batch),
    LIMIT(result_bytes),
    LIMIT(header_ms),
    LIMIT(body_ms),
    LIMIT(idle_ms),
    LIMIT(keepalive_ms),
    LIMIT(handshake_ms),
    LIMIT(handshakes),
    LIMIT(connections),
    LIMIT(connections_per_peer),
    LIMIT(queue_bytes),
    LIMIT(queue_total_bytes),
    LIMIT(input_total_bytes),
    LIMIT(streams),
    LIMIT(listens),
    LIMIT(sessions),
    LIMIT(session_idle_ms),
    LIMIT(session_calls),
    LIMIT(subscription_bytes),
    LIMIT(replay_events),
    LIMIT(replay_bytes),
    LIMIT(replay_total_bytes),
    LIMIT(replay_streams),
    LIMIT(replay_ms),
    LIMIT(questions),
    LIMIT(question_ms),
    LIMIT(parked),
    LIMIT(tasks),
    LIMIT(task_bytes),
    LIMIT(task_ms),
};

static bool parse_number(const char *text, size_t max, size_t *ret)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value > max)
        return false;
    *ret = (size_t)value;
    return true;
}

/* "connections_per_peer=4" */
static bool parse_limit(const char *text, owl_limits *l)
{
    const char *equals = strchr(text, '=');
    for (size_t i = 0; equals != NULL && i < COUNT_OF(limits); i++) {
        size_t n = (size_t)(equals - text);
        if (strncmp(text, limits[i].name, n) == 0 && limits[i].name[n] == '\0')
            return parse_number(equals + 1, SIZE_MAX, (size_t *)(void *)((char *)l + limits[i].at));
    }
    return false;
}

static bool parse_address(const char *name, const char *value, struct options *o)
{
    size_t port;
    if (o->n_addresses == MAX_ADDRESSES ||
        (strcmp(name, "--port") == 0 && !parse_number(value, 65535, &port)))
        return false;
    o->addresses[o->n_addresses++] = value;
    return true;
}

static bool parse_option(const char *name, const char *value, struct options *o)
{
    size_t number;
    if (strcmp(name, "--port") == 0 || strcmp(name, "--listen") == 0)
        return parse_address(name, value, o);
    if (strcmp(name, "--limit") == 0)
        return parse_limit(value, &o->limits);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (strcmp(name, texts[i].name) == 0) {
            *(const char **)(void *)((char *)o + texts[i].at) = value;
            return true;
        }
    }
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        if (strcmp(name, numbers[i].name) == 0 && parse_number(value, UINT_MAX, &number)) {
            *(unsigned *)(void *)((char *)o + numbers[i].at) = (unsigned)number;
            return true;
        }
    }
    return false;
}

bool options_parse(char **argv, struct options *ret)
{
    *ret = (struct options){.server = OWL_SERVER_OPTIONS("everything-server", owl_version()),
                            .limits = OWL_LIMITS,
                            .tls = OWL_TLS_OPTIONS(NULL, NULL)};
    for (char **args = argv + 1; *args != NULL; args++) {
        if (strcmp(*args, "--help") == 0) {
            ret->help = true;
            printf(usage, argv[0]);
            return true;
        } else if (strcmp(*args, "--stdio") == 0) {
            ret->stdio = true;
        } else if (args[1] != NULL && parse_option(args[0], args[1], ret)) {
            args++;
        } else {
            fprintf(stderr, "%s: %s makes no sense here\n", argv[0], *args);
            fprintf(stderr, usage, argv[0]);
            return false;
        }
    }
    if (ret->n_addresses == 0)
        ret->addresses[ret->n_addresses++] = "8080";
    ret->server.limits = &ret->limits;
    return true;
}

bool options_want_tls(const struct options *o)
{
    return !o->stdio && (o->tls.cert_file || o->tls.key_file || o->tls.client_ca_file);
}
