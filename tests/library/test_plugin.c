/* Plugins: shared objects that add tools, and those that do not fit. The tests compile them. */
#include "library/fixture.h"

/* The program links the library statically and exports nothing: the plugin gets what it calls, and
 * where it counts, as hexadecimal addresses in its configuration. */
static const char plugin_source[] =
    "#include <owlclaw/owlclaw.h>\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "typedef int add_fn(owl_server *, const owl_tool *, owl_error *);\n"
    "typedef int text_fn(owl_call *, const char *);\n"
    "static text_fn *text;\n"
    "static int hello(owl_call *c, void *data) { (void)data; return text(c, \"plugged in\"); }\n"
    "static int init(owl_server *s, const char *config, void **ret_data, owl_error *e)\n"
    "{\n"
    "    char *p;\n"
    "    if (!config) return 0;\n"
    "    add_fn *add = (add_fn *)strtoull(config, &p, 16);\n"
    "    text = (text_fn *)strtoull(p, &p, 16);\n"
    "    *ret_data = (void *)strtoull(p, &p, 16);\n"
    "    owl_tool t = OWL_TOOL(\"plugged\", NULL, NULL, hello);\n"
    "    int rc = add(s, &t, e);\n"
    "#ifdef FAILS\n"
    "    e->code = OWL_EDENIED;\n"
    "    strcpy(e->message, \"not today\");\n"
    "    rc = -OWL_EDENIED;\n"
    "#endif\n"
    "    return rc;\n"
    "}\n"
    "static void done(owl_server *s, void *data) { (void)s; if (data) ++*(int *)data; }\n"
    "#if defined NO_SYMBOL\n"
    "int something_else(void);\n"
    "int something_else(void) { (void)init; (void)done; return 0; }\n"
    "#elif defined OTHER_ABI\n"
    "OWL_API const owl_plugin_def owl_plugin = {99, sizeof(owl_plugin_def), \"p\", \"1\", init, "
    "done};\n"
    "#elif defined NO_INIT\n"
    "OWL_API const owl_plugin_def owl_plugin = {OWL_PLUGIN_ABI, sizeof(owl_plugin_def), \"p\", "
    "\"1\", 0, 0};\n"
    "#else\n"
    "OWL_PLUGIN(\"p\", \"1\", init, done)\n"
    "#endif\n";

static char plugin_dir[] = "/tmp/owl-plugin-XXXXXX";
static bool have_plugin_dir;

/* Compiles the plugin with @p define; its path in static memory. Skips without a compiler. */
static const char *plugin(const char *define)
{
    static char path[100];
    char command[400], source[100];
    if (access("include/owlclaw/owlclaw.h", R_OK) != 0) {
        print_message("skipped: the headers are not in the current directory\n");
        skip();
    }
    if (!have_plugin_dir && !mkdtemp(plugin_dir))
        fail_msg("no directory for the plugin");
    have_plugin_dir = true;
    snprintf(source, sizeof source, "%s/p.c", plugin_dir);
    snprintf(path, sizeof path, "%s/%s.so", plugin_dir, define);
    FILE *f = fopen(source, "w");
    assert_non_null(f);
    fputs(plugin_source, f);
    fclose(f);
    snprintf(command, sizeof command, "${CC:-cc} -shared -fPIC -Iinclude -D%s -o %s %s", define,
             path, source);
    if (system(command) != 0) {
        print_message("skipped: no compiler\n");
        skip();
    }
    unlink(source);
    return path;
}

static void plugins_done(void)
{
    static const char *const names[] = {"PLAIN", "FAILS", "NO_SYMBOL", "OTHER_ABI", "NO_INIT"};
    char path[100];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s.so", plugin_dir, names[i]);
        unlink(path);
    }
    rmdir(plugin_dir);
}

static int plugin_ended;

static const char *plugin_config(void)
{
    static char text[100];
    snprintf(text, sizeof text, "%llx %llx %llx",
             (unsigned long long)(uintptr_t)owl_server_add_tool,
             (unsigned long long)(uintptr_t)owl_result_text,
             (unsigned long long)(uintptr_t)&plugin_ended);
    return text;
}

TEST(a_plugin_adds_its_tools, "")
{
    owl_server *s = server_new(1);
    owl_error e = {0};
    const char *path = plugin("PLAIN");
    if (owl_server_load_plugin(s, path, plugin_config(), &e) != 0)
        fail_msg("%s", e.message);
    server_start(s);
    expect_str(call(s, "plugged"), "result/content/0/text", "plugged in");
    assert_int_equal(owl_server_load_plugin(s, path, NULL, &e), 0); /* while running; again */
    assert_int_equal(plugin_ended, 0);
    server_end(s);
    assert_int_equal(plugin_ended, 1);
    plugins_done();
}

TEST(a_plugin_that_does_not_fit_is_refused, "")
{
    owl_server *s = server_new(1);
    owl_error e = {0};
    assert_int_equal(owl_server_load_plugin(s, NULL, NULL, &e), -OWL_EIO);
    assert_int_equal(owl_server_load_plugin(s, "/no/such/plugin.so", NULL, &e), -OWL_EIO);
    assert_non_null(strstr(e.message, "/no/such/plugin.so"));
    assert_int_equal(owl_server_load_plugin(s, plugin("NO_SYMBOL"), NULL, &e), -OWL_EINVAL);
    assert_non_null(strstr(e.message, "owl_plugin"));
    assert_int_equal(owl_server_load_plugin(s, plugin("OTHER_ABI"), NULL, &e), -OWL_EVERSION);
    assert_non_null(strstr(e.message, "99"));
    assert_int_equal(owl_server_load_plugin(s, plugin("NO_INIT"), NULL, &e), -OWL_EINVAL);
    owl_server_free(s);
    plugins_done();
}

TEST(what_a_plugin_that_failed_has_registered_stays, "")
{
    owl_server *s = server_new(1);
    owl_error e = {0};
    assert_int_equal(owl_server_load_plugin(s, plugin("FAILS"), plugin_config(), &e), -OWL_EDENIED);
    assert_string_equal(e.message, "not today");
    server_start(s);
    expect_str(call(s, "plugged"), "result/content/0/text", "plugged in");
    server_end(s);
    assert_int_equal(plugin_ended, 0); /* it never began */
    plugins_done();
}
