/* options.h - the command line of everything-server. */
#ifndef EVERYTHING_OPTIONS_H
#define EVERYTHING_OPTIONS_H

#include <owlclaw/owlclaw.h>

enum { MAX_ADDRESSES = 8 };

struct options {
    bool help; /* was asked for and printed: there is nothing else to do */
    bool stdio;
    const char *addresses[MAX_ADDRESSES];
    size_t n_addresses;
    owl_server_options server;
    owl_limits limits;
    owl_tls_options tls; /* without a certificate: plain HTTP */
};

/* False, and the usage is printed, if the command line makes no sense. The options point into it. */
bool options_parse(char **argv, struct options *ret);
bool options_want_tls(const struct options *o);

#endif
