/* owlclaw/version.h - the version of libowlclaw, at compile time and at run time. */
#ifndef OWLCLAW_VERSION_H
#define OWLCLAW_VERSION_H

#include <owlclaw/types.h>

#define OWL_VERSION_MAJOR 0
#define OWL_VERSION_MINOR 1
#define OWL_VERSION_PATCH 0
#define OWL_VERSION_STRING "0.1.0"

OWL_BEGIN_DECLS

/** The version of the library that is linked, e.g. "0.1.0". Static, never NULL. */
OWL_API const char *owl_version(void);

OWL_END_DECLS

#endif
