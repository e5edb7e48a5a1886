/* owlclaw/owlclaw.h - all of libowlclaw. */
#ifndef OWLCLAW_OWLCLAW_H
#define OWLCLAW_OWLCLAW_H

#include <owlclaw/handler.h>
#include <owlclaw/json.h>
#include <owlclaw/server.h>
#include <owlclaw/types.h>
#include <owlclaw/version.h>

#endif
