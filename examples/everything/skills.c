/* skills.c - the extension io.modelcontextprotocol/skills: instructions for a model, in files.
 *
 * A skill is a directory with a file SKILL.md, and every file of it is a resource. Methods of the
 * extension tell which skills there are and what is in a directory. All of it is constant; the
 * handlers run inline. */
#include "everything.h"

#include <stdio.h>
#include <string.h>

#define SCHEME "skill://"

enum { PAGE_SKILLS = 2, INVALID_PARAMS = -32602 };

/* Sorted by path, so that what is in one directory stands together. */
static const struct file {
    const char *path;   /* after the scheme */
    const char *digest; /* SHA-256 of the text; a test computes it anew */
    const char *text;   /* NULL: a directory with nothing in it */
} files[] = {
    {"ask-the-user/SKILL.md",
     "sha256:b5ff6c115cb36afdfefac228998a0a96cccda8e6b70bfb6e5459813d712ba9f5",
     "---\n"
     "name: ask-the-user\n"
     "description: Try out how a client answers the questions of a server.\n"
     "---\n"
     "\n"
     "Call the tools below one by one. After each, tell the user what was asked and what came "
     "back.\n"
     "\n"
     "1. `test_elicitation` asks the user for a name and an address.\n"
     "2. `test_sampling` asks the model of the client.\n"
     "3. `test_input_required_result_multi_round` asks twice in a row.\n"
     "\n"
     "A client that cannot be asked is told so: that is a result, not a fault. What the tools\n"
     "expect is in references/questions.md.\n"},
    {"ask-the-user/notes", "", NULL},
    {"ask-the-user/references/questions.md",
     "sha256:788199fcf34527b58cb9d82dc1fdd2a3bbf67488db0c6f89df6eeb81d0365bc0",
     "# What is asked\n"
     "\n"
     "| tool | question | needs the capability |\n"
     "|---|---|---|\n"
     "| `test_elicitation` | a form with `username` and `email` | `elicitation` |\n"
     "| `test_sampling` | the text of its argument `prompt` | `sampling` |\n"
     "| `test_input_required_result_list_roots` | the roots | `roots` |\n"},
    {"first-steps/SKILL.md",
     "sha256:513746cca1fec3cb1db2432b4fa76492809672f1d7f400233d472669614c7cee",
     "---\n"
     "name: first-steps\n"
     "description: Find out in a minute whether a client and this server understand each other.\n"
     "---\n"
     "\n"
     "Call `echo` with a message and compare. Call `test_multiple_content_types` and count: one "
     "text,\n"
     "one image, one resource. Read the resource `test://static-text`. Then say what went well.\n"},
    {"testing/long-calls/SKILL.md",
     "sha256:06364b82c54bb0313776b5d1814b8128437185c750b6b6db93bd9792c304cb95",
     "---\n"
     "name: long-calls\n"
     "description: Try out progress, cancellation and deadlines.\n"
     "---\n"
     "\n"
     "`test_tool_with_progress` reports three steps. `test_sleep` sleeps for `ms` milliseconds "
     "and\n"
     "gives up when it is cancelled. `test_timeout` always takes longer than it may.\n"},
    {"testing/stray-output/SKILL.md",
     "sha256:cfcff5cf969e342bbd0f40459b17bbb00a6ad84164c3f3330f735d8a057488f3",
     "---\n"
     "name: stray-output\n"
     "description: See that what a tool prints does not break the protocol on stdio.\n"
     "---\n"
     "\n"
     "Start the server with `--stdio`, call `test_stray_output`, then call `echo`. Both must "
     "answer.\n"},
};

/* A server need not list every skill that it has. */
static const struct skill {
    const char *path;
    bool unlisted;
} skills[] = {
    {"ask-the-user", false},
    {"first-steps", false},
    {"testing/long-calls", false},
    {"testing/stray-output", true},
};

static bool is_in(const char *path, const char *directory)
{
    size_t n = strlen(directory);
    return strncmp(path, directory, n) == 0 && path[n] == '/';
}

/* What a file is called in a list: by the first lines of a SKILL.md, or by its name. */
struct label {
    char name[65];
    char description[256];
};

static struct label label_of(const struct file *f)
{
    struct label l = {"", ""};
    const char *slash = strrchr(f->path, '/');
    if (f->text == NULL || sscanf(f->text, "---\nname: %64[^\n]\ndescription: %255[^\n]\n---\n",
                                  l.name, l.description) != 2)
        snprintf(l.name, sizeof(l.name), "%s", slash + 1);
    return l;
}

/* ---- writing answers ---- */

static void put_member(owl_json_writer *w, const char *key, const char *value)
{
    owl_json_key(w, key);
    owl_json_put_str(w, value);
}

static void put_uri(owl_json_writer *w, const char *path, size_t len)
{
    char uri[128];
    snprintf(uri, sizeof(uri), SCHEME "%.*s", (int)len, path);
    put_member(w, "uri", uri);
}

static void put_frontmatter(owl_json_writer *w, const struct file *f)
{
    struct label l = label_of(f);
    put_uri(w, f->path, strlen(f->path));
    owl_json_key(w, "frontmatter");
    owl_json_begin_object(w);
    put_member(w, "name", l.name);
    put_member(w, "description", l.description);
    owl_json_end(w);
}

static void put_entry(owl_json_writer *w, const struct skill *s)
{
    owl_json_begin_object(w);
    for (size_t i = 0; i < COUNT_OF(files); i++)
        if (is_in(files[i].path, s->path) &&
            strcmp(files[i].path + strlen(s->path), "/SKILL.md") == 0)
            put_frontmatter(w, &files[i]);
    owl_json_key(w, "resources");
    owl_json_begin_array(w);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        const struct file *f = &files[i];
        if (f->text == NULL || !is_in(f->path, s->path))
            continue;
        owl_json_begin_object(w);
        put_uri(w, f->path, strlen(f->path));
        put_member(w, "digest", f->digest);
        owl_json_key(w, "size");
        owl_json_put_int(w, (int64_t)strlen(f->text));
        owl_json_end(w);
    }
    owl_json_end(w);
    owl_json_end(w);
}

/* Answers with what was written, and frees the writer. */
static int answer(owl_call *call, owl_json_writer *w)
{
    const char *text;
    size_t len;
    int rc = owl_json_writer_text(w, &text, &len);
    if (rc == 0)
        rc = owl_result_raw(call, text, len);
    owl_json_writer_free(w);
    return rc;
}

/* ---- the methods ---- */

/* The first skill of a page; beyond the last one if the cursor is none of ours. */
static size_t page_of(const owl_json *cursor)
{
    size_t at = 0;
    if (cursor == NULL)
        return 0;
    while (at < COUNT_OF(skills) &&
           (skills[at].unlisted || strcmp(skills[at].path, owl_json_str(cursor, "")) != 0))
        at++;
    return at;
}

static int skills_list(owl_call *call, void *data)
{
    (void)data;
    size_t at = page_of(owl_json_get(owl_call_params(call), "cursor"));
    if (at == COUNT_OF(skills))
        return owl_call_error(call, INVALID_PARAMS, NULL,
                              "the cursor is not one of skills/list; begin without a cursor");
    owl_json_writer *w = owl_json_writer_new();
    if (w == NULL)
        return -OWL_ENOMEM;
    owl_json_begin_object(w);
    owl_json_key(w, "skills");
    owl_json_begin_array(w);
    for (unsigned n = 0; at < COUNT_OF(skills) && (n < PAGE_SKILLS || skills[at].unlisted); at++) {
        if (skills[at].unlisted)
            continue;
        put_entry(w, &skills[at]);
        n++;
    }
    owl_json_end(w);
    if (at < COUNT_OF(skills))
        put_member(w, "nextCursor", skills[at].path);
    owl_json_end(w);
    return answer(call, w);
}

/* The path in params.uri; NULL after an error was told. */
static const char *path_of(owl_call *call)
{
    const owl_json *value = owl_json_get(owl_call_params(call), "uri");
    const char *uri = owl_json_str(value, "");
    if (strncmp(uri, SCHEME, strlen(SCHEME)) == 0 && strlen(uri) == owl_json_len(value))
        return uri + strlen(SCHEME);
    owl_call_error(call, INVALID_PARAMS, NULL, "params.uri must be a URI that begins with " SCHEME);
    return NULL;
}

static int skills_get(owl_call *call, void *data)
{
    (void)data;
    const char *path = path_of(call);
    const struct skill *found = NULL;
    if (path == NULL)
        return -OWL_ETOOL;
    for (size_t i = 0; i < COUNT_OF(skills); i++)
        if (is_in(path, skills[i].path) && strcmp(path + strlen(skills[i].path), "/SKILL.md") == 0)
            found = &skills[i];
    if (found == NULL)
        return owl_call_error(call, INVALID_PARAMS, NULL,
                              "no such skill: give the URI of its SKILL.md, as in skills/list");
    owl_json_writer *w = owl_json_writer_new();
    if (w == NULL)
        return -OWL_ENOMEM;
    owl_json_begin_object(w);
    owl_json_key(w, "skill");
    put_entry(w, found);
    owl_json_end(w);
    return answer(call, w);
}

/* One entry of a directory, whose path has @p len bytes. */
static void put_child(owl_json_writer *w, const struct file *f, size_t len)
{
    bool is_file = f->text != NULL && f->path[len] == '\0';
    struct label l = label_of(f);
    const char *name = f->path + len;
    while (name[-1] != '/')
        name--;
    owl_json_begin_object(w);
    put_uri(w, f->path, len);
    owl_json_key(w, "name");
    if (is_file)
        owl_json_put_str(w, l.name);
    else
        owl_json_put_strn(w, name, (size_t)(f->path + len - name));
    if (is_file && *l.description != '\0')
        put_member(w, "description", l.description);
    put_member(w, "mimeType", is_file ? "text/markdown" : "inode/directory");
    owl_json_end(w);
}

/* Writes each file and directory that is right in @p directory; false if it is no directory. */
static bool put_children(owl_json_writer *w, const char *directory)
{
    bool found = false;
    const char *last = "";
    size_t last_len = 0;
    owl_json_begin_array(w);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        const struct file *f = &files[i];
        found = found || (f->text == NULL && strcmp(f->path, directory) == 0);
        if (!is_in(f->path, directory))
            continue;
        size_t len = strlen(directory) + 1;
        len += strcspn(f->path + len, "/");
        if (len != last_len || strncmp(f->path, last, len) != 0)
            put_child(w, f, len);
        last = f->path;
        last_len = len;
        found = true;
    }
    owl_json_end(w);
    return found;
}

static int directory_read(owl_call *call, void *data)
{
    (void)data;
    const char *path = path_of(call);
    if (path == NULL)
        return -OWL_ETOOL;
    if (owl_json_get(owl_call_params(call), "cursor") != NULL)
        return owl_call_error(call, INVALID_PARAMS, NULL,
                              "directories have one page here; leave the cursor out");
    owl_json_writer *w = owl_json_writer_new();
    if (w == NULL)
        return -OWL_ENOMEM;
    owl_json_begin_object(w);
    owl_json_key(w, "resources");
    bool found = put_children(w, path);
    owl_json_end(w);
    if (found)
        return answer(call, w);
    owl_json_writer_free(w);
    return owl_call_error(call, INVALID_PARAMS, NULL, "no such directory: " SCHEME "%s", path);
}

/* ---- setting up ---- */

static int add_file(owl_server *server, const struct file *f, owl_error *reterr)
{
    char uri[128];
    struct label l = label_of(f);
    snprintf(uri, sizeof(uri), SCHEME "%s", f->path);
    owl_resource resource = {
        .size = sizeof(resource),
        .uri = uri,
        .name = l.name,
        .description = *l.description != '\0' ? l.description : NULL,
        .mime_type = "text/markdown",
        .text = f->text,
        .bytes = (int64_t)strlen(f->text),
    };
    return owl_server_add_resource(server, &resource, reterr);
}

int add_skills(owl_server *server, owl_error *reterr)
{
    static const owl_method_def methods[] = {
        {sizeof(owl_method_def), "skills/list", skills_list, NULL, OWL_INLINE | OWL_CACHEABLE, 0,
         NULL},
        {sizeof(owl_method_def), "skills/get", skills_get, NULL, OWL_INLINE | OWL_CACHEABLE, 0,
         NULL},
        {sizeof(owl_method_def), "resources/directory/read", directory_read, NULL, OWL_INLINE, 0,
         NULL},
    };
    int rc = owl_server_add_extension(server, "io.modelcontextprotocol/skills",
                                      "{\"directoryRead\":true}", reterr);
    for (size_t i = 0; rc == 0 && i < COUNT_OF(methods); i++)
        rc = owl_server_add_method(server, &methods[i], reterr);
    for (size_t i = 0; rc == 0 && i < COUNT_OF(files); i++)
        rc = files[i].text != NULL ? add_file(server, &files[i], reterr) : 0;
    return rc;
}
