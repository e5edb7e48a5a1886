/* owlclaw/init.h - the beginnings of options and definitions, in C and C++; part of server.h.
 *
 *     owl_tool tool = OWL_TOOL("echo", "Says it again.", "{\"type\":\"object\"}", echo);
 *     tool.flags = OWL_INLINE;
 *
 * In C they are initialisers and may be used for static data; in C++ they are values. */
#ifndef OWLCLAW_INIT_H
#define OWLCLAW_INIT_H

#include <owlclaw/server.h>

/* clang-format off */
#ifdef __cplusplus

#define OWL_SERVER_OPTIONS(name_, version_) \
    owl_server_options_make(name_, version_)
static inline owl_server_options owl_server_options_make(
    const char *name, const char *version)
{
    owl_server_options d = owl_server_options();
    d.size = sizeof d;
    d.name = name;
    d.version = version;
    return d;
}

#define OWL_LIMITS owl_limits_make()
static inline owl_limits owl_limits_make()
{
    owl_limits d = owl_limits();
    d.size = sizeof d;
    return d;
}

#define OWL_TLS_OPTIONS(cert_file_, key_file_) \
    owl_tls_options_make(cert_file_, key_file_)
static inline owl_tls_options owl_tls_options_make(
    const char *cert_file, const char *key_file)
{
    owl_tls_options d = owl_tls_options();
    d.size = sizeof d;
    d.cert_file = cert_file;
    d.key_file = key_file;
    return d;
}

#define OWL_TOOL(name_, description_, input_schema_, handler_) \
    owl_tool_make(name_, description_, input_schema_, handler_)
static inline owl_tool owl_tool_make(
    const char *name, const char *description, const char *input_schema, owl_handler_fn handler)
{
    owl_tool d = owl_tool();
    d.size = sizeof d;
    d.name = name;
    d.description = description;
    d.input_schema = input_schema;
    d.handler = handler;
    return d;
}

#define OWL_RESOURCE(uri_, name_, description_, mime_type_, handler_) \
    owl_resource_make(uri_, name_, description_, mime_type_, handler_)
static inline owl_resource owl_resource_make(
    const char *uri, const char *name, const char *description, const char *mime_type, owl_handler_fn handler)
{
    owl_resource d = owl_resource();
    d.size = sizeof d;
    d.uri = uri;
    d.name = name;
    d.description = description;
    d.mime_type = mime_type;
    d.handler = handler;
    return d;
}

#define OWL_PROMPT(name_, description_, arguments_, handler_) \
    owl_prompt_make(name_, description_, arguments_, handler_)
static inline owl_prompt owl_prompt_make(
    const char *name, const char *description, const char *arguments, owl_handler_fn handler)
{
    owl_prompt d = owl_prompt();
    d.size = sizeof d;
    d.name = name;
    d.description = description;
    d.arguments = arguments;
    d.handler = handler;
    return d;
}

#else

#define OWL_SERVER_OPTIONS(name_, version_) \
    { .size = sizeof(owl_server_options), \
      .name = (name_), \
      .version = (version_) }

#define OWL_LIMITS \
    { .size = sizeof(owl_limits) }

#define OWL_TLS_OPTIONS(cert_file_, key_file_) \
    { .size = sizeof(owl_tls_options), \
      .cert_file = (cert_file_), \
      .key_file = (key_file_) }

#define OWL_TOOL(name_, description_, input_schema_, handler_) \
    { .size = sizeof(owl_tool), \
      .name = (name_), \
      .description = (description_), \
      .input_schema = (input_schema_), \
      .handler = (handler_) }

#define OWL_RESOURCE(uri_, name_, description_, mime_type_, handler_) \
    { .size = sizeof(owl_resource), \
      .uri = (uri_), \
      .name = (name_), \
      .description = (description_), \
      .mime_type = (mime_type_), \
      .handler = (handler_) }

#define OWL_PROMPT(name_, description_, arguments_, handler_) \
    { .size = sizeof(owl_prompt), \
      .name = (name_), \
      .description = (description_), \
      .arguments = (arguments_), \
      .handler = (handler_) }

#endif
/* clang-format on */

#endif
