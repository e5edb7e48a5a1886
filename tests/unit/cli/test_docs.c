/* The documents that come from the descriptors, without memory and as a whole. */
#include "base/alloc.h"
#include "cli/docs.h"
#include "cli/help.h"
#include "support/test.h"

extern const struct owl_command owl_command_schema_validate;

static void man_of_all(struct owl_buf *b)
{
    for (size_t i = 0; owl_commands[i]; i++)
        owl_docs_man(b, owl_commands[i]);
}

TEST(every_form_names_every_command, "OR-12.8")
{
    static void (*const forms[])(struct owl_buf *) = {man_of_all, owl_docs_bash, owl_docs_zsh,
                                                      owl_docs_fish, owl_docs_markdown};
    for (size_t i = 0; i < OWL_COUNT(forms); i++) {
        struct owl_buf b;
        owl_buf_init(&b, 1 << 20);
        forms[i](&b);
        assert_int_equal(b.rc, 0);
        owl_buf_putc(&b, '\0');
        for (size_t c = 1; owl_commands[c]; c++)
            assert_non_null(strstr(b.p, owl_command_name(owl_commands[c])));
        owl_buf_done(&b);
        for (unsigned long n = 1; n < 40; n++) {
            owl_buf_init(&b, 1 << 20);
            owl_alloc_fail_at(n);
            forms[i](&b);
            owl_alloc_fail_at(0);
            owl_buf_done(&b);
        }
    }
}

TEST(exit_codes_are_told_once, "")
{
    int seen[128] = {0};
    const struct owl_command *c = &owl_command_schema_validate;
    const struct owl_command_exit *e;
    for (size_t i = 0; (e = owl_help_exit(c, i)) != NULL; i++)
        seen[e->code]++;
    static const int all[] = {OWL_EXIT_OK, OWL_EXIT_BAD, OWL_EXIT_USAGE, OWL_EXIT_INNER,
                              OWL_EXIT_OUTPUT};
    for (size_t i = 0; i < OWL_COUNT(all); i++)
        assert_int_equal(seen[all[i]], 1);
    assert_string_equal(owl_help_exit(c, 0)->meaning, "the document is valid");
}

TEST(help_survives_without_memory, "")
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    struct owl_print p;
    owl_print_init(&p, f, OWL_COLOUR_NEVER);
    owl_alloc_fail_at(1);
    owl_help(&p, &owl_command_schema_validate);
    owl_alloc_fail_at(0);
    fclose(f);
    assert_non_null(strstr(text, "Check a JSON document"));
    free(text);
}

/* ---- descriptors ---------------------------------------------------------------------------- */

static void check_options(const struct owl_command *c)
{
    for (const struct owl_command_option *o = c->options; o && o->name; o++) {
        assert_non_null(o->help);
        assert_true(strlen(o->help) <= 72);
        assert_true(o->value || (!o->choices && !o->file && !o->repeated));
        for (const struct owl_command_option *p = owl_command_program.options;
             c != &owl_command_program && p->name; p++)
            assert_true(strcmp(o->name, p->name) != 0 && (!o->letter || o->letter != p->letter));
    }
}

static void check_arguments(const struct owl_command *c)
{
    bool optional = false;
    for (const struct owl_command_argument *a = c->arguments; a && a->name; a++) {
        assert_non_null(a->help);
        assert_true(a->optional || !optional);
        assert_true(!a->repeated || !a[1].name);
        optional = a->optional;
    }
}

TEST(every_descriptor_is_complete, "OR-12.8")
{
    assert_ptr_equal(owl_commands[0], &owl_command_program);
    for (size_t i = 0; owl_commands[i]; i++) {
        const struct owl_command *c = owl_commands[i];
        size_t n = strlen(c->summary);
        assert_true(n > 0 && n <= 72 && c->summary[n - 1] != '.');
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(owl_commands[k]->words, c->words);
        check_options(c);
        check_arguments(c);
        for (const struct owl_command_example *e = c->examples; e && e->line; e++)
            assert_true(strlen(e->line) <= 74 && strncmp(e->text, "", 1) != 0);
        if (i == 0)
            continue;
        bool has_group = false; /* before it */
        for (size_t k = 0; k < i; k++)
            has_group = has_group || (!owl_commands[k]->run && owl_command_in(c, owl_commands[k]));
        assert_true(has_group);
    }
}
