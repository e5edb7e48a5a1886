/* everything.h - the parts of everything-server, each of which adds what it has to the server. */
#ifndef EVERYTHING_H
#define EVERYTHING_H

#include <owlclaw/owlclaw.h>

int add_content_tools(owl_server *server, owl_error *reterr);
int add_runtime_tools(owl_server *server, owl_error *reterr);
int add_task_tools(owl_server *server, owl_error *reterr);
int add_asking_tools(owl_server *server, owl_error *reterr);
int add_resources(owl_server *server, owl_error *reterr);
int add_prompts(owl_server *server, owl_error *reterr);
int add_skills(owl_server *server, owl_error *reterr);

int add_tools(owl_server *server, const owl_tool *tools, size_t n, owl_error *reterr);

/* Asks for a form to be filled in; as owl_ask(). */
int ask_form(owl_call *call, const char *key, const char *message, const char *schema,
             const owl_json **ret_answer);
#define NAME_SCHEMA \
    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}},\"required\":[\"name\"]" \
    "}"

/* A small picture and a small sound. */
extern const unsigned char test_png[];
extern const size_t test_png_len;
extern const unsigned char test_wav[];
extern const size_t test_wav_len;

#define NO_ARGUMENTS NULL
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
