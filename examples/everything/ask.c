/* ask.c - tools that ask the client: for a form to be filled in, for a sample, for its roots.
 *
 * Each handler is run from its start again when the answers are there; none does anything that must
 * not happen twice. How a question travels is the library's affair. */
#include "everything.h"

#include <string.h>

int ask_form(owl_call *call, const char *key, const char *message, const char *schema,
             const owl_json **ret_answer)
{
    owl_question question = {.size = sizeof(question), .kind = OWL_ASK_FORM};
    question.message = message;
    question.schema = schema;
    return owl_ask(call, key, &question, ret_answer);
}

static int ask_sample(owl_call *call, const char *key, const char *text,
                      const owl_json **ret_answer)
{
    owl_question question = {.size = sizeof(question), .kind = OWL_ASK_SAMPLING};
    question.message = text;
    question.max_tokens = 100;
    return owl_ask(call, key, &question, ret_answer);
}

static int ask_roots(owl_call *call, const char *key, const owl_json **ret_answer)
{
    owl_question question = {.size = sizeof(question), .kind = OWL_ASK_ROOTS};
    return owl_ask(call, key, &question, ret_answer);
}

/* Adds @p label and the answer as JSON to the result. */
static int show_answer(owl_call *call, const char *label, const owl_json *answer)
{
    const char *text = "";
    size_t len = 0;
    owl_json_writer *w = owl_json_writer_new();
    if (w == NULL)
        return -OWL_ENOMEM;
    owl_json_put_value(w, answer);
    int rc = owl_json_writer_text(w, &text, &len);
    if (rc == 0)
        rc = owl_result_textf(call, "%s%.*s", label, (int)len, text);
    owl_json_writer_free(w);
    return rc;
}

static int sampling(owl_call *call, void *data)
{
    (void)data;
    const owl_json *answer;
    const char *prompt = owl_json_get_str(owl_call_args(call), "prompt", "Say something.");
    int rc = ask_sample(call, "sample", prompt, &answer);
    if (rc != 0)
        return rc;
    const char *text = owl_json_get_str(owl_json_get(answer, "content"), "text", "(no text)");
    return owl_result_textf(call, "LLM response: %s", text);
}

static int elicitation(owl_call *call, void *data)
{
    (void)data;
    const owl_json *answer;
    const char *message = owl_json_get_str(owl_call_args(call), "message", "Who are you?");
    int rc = ask_form(call, "user", message,
                      "{\"type\":\"object\",\"properties\":{\"username\":{\"type\":\"string\"},"
                      "\"email\":{\"type\":\"string\"}},\"required\":[\"username\",\"email\"]}",
                      &answer);
    return rc != 0 ? rc : show_answer(call, "User response: ", answer);
}

static int elicitation_defaults(owl_call *call, void *data)
{
    (void)data;
    static const char schema[] =
        "{\"type\":\"object\",\"properties\":{"
        "\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
        "\"age\":{\"type\":\"integer\",\"default\":30},"
        "\"score\":{\"type\":\"number\",\"default\":95.5},"
        "\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\",\"pending\"],"
        "\"default\":\"active\"},"
        "\"verified\":{\"type\":\"boolean\",\"default\":true}},\"required\":[]}";
    const owl_json *answer;
    int rc = ask_form(call, "defaults", "Please check these defaults.", schema, &answer);
    return rc != 0 ? rc : show_answer(call, "Elicitation completed: ", answer);
}

static int elicitation_enums(owl_call *call, void *data)
{
    (void)data;
    static const char schema[] =
        "{\"type\":\"object\",\"properties\":{"
        "\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\",\"option3\"]},"
        "\"titledSingle\":{\"type\":\"string\",\"oneOf\":["
        "{\"const\":\"value1\",\"title\":\"First Option\"},"
        "{\"const\":\"value2\",\"title\":\"Second Option\"}]},"
        "\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\"],"
        "\"enumNames\":[\"Option One\",\"Option Two\"]},"
        "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\","
        "\"enum\":[\"option1\",\"option2\",\"option3\"]}},"
        "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":["
        "{\"const\":\"value1\",\"title\":\"First Choice\"},"
        "{\"const\":\"value2\",\"title\":\"Second Choice\"}]}}},\"required\":[]}";
    const owl_json *answer;
    int rc = ask_form(call, "enums", "Please choose.", schema, &answer);
    return rc != 0 ? rc : show_answer(call, "Elicitation completed: ", answer);
}

static int greet_user(owl_call *call, void *data)
{
    (void)data;
    const owl_json *answer;
    int rc = ask_form(call, "user_name", "What is your name?", NAME_SCHEMA, &answer);
    if (rc != 0)
        return rc;
    const char *name = owl_json_get_str(owl_json_get(answer, "content"), "name", NULL);
    if (name == NULL)
        return owl_result_text(call, "Hello, whoever you are!");
    return owl_result_textf(call, "Hello, %s!", name);
}

static int capital(owl_call *call, void *data)
{
    (void)data;
    const owl_json *answer;
    int rc = ask_sample(call, "capital_question", "What is the capital of France?", &answer);
    return rc != 0 ? rc : show_answer(call, "LLM response: ", answer);
}

static int client_roots(owl_call *call, void *data)
{
    (void)data;
    const owl_json *answer;
    int rc = ask_roots(call, "client_roots", &answer);
    return rc != 0 ? rc : show_answer(call, "Roots: ", answer);
}

static int request_state(owl_call *call, void *data)
{
    (void)data;
    const owl_json *answer;
    int rc = ask_form(call, "confirm", "Go on?",
                      "{\"type\":\"object\",\"properties\":{\"ok\":{\"type\":\"boolean\"}},"
                      "\"required\":[\"ok\"]}",
                      &answer);
    return rc != 0 ? rc : owl_result_text(call, "state-ok");
}

/* Questions asked before returning travel together. */
static int multiple_inputs(owl_call *call, void *data)
{
    (void)data;
    const owl_json *name, *greeting, *roots;
    int rc[] = {
        ask_form(call, "user_name", "What is your name?", NAME_SCHEMA, &name),
        ask_sample(call, "greeting", "Greet somebody.", &greeting),
        ask_roots(call, "client_roots", &roots),
    };
    for (size_t i = 0; i < COUNT_OF(rc); i++)
        if (rc[i] != 0)
            return rc[i];
    show_answer(call, "Name: ", name);
    show_answer(call, "Greeting: ", greeting);
    return show_answer(call, "Roots: ", roots);
}

static int multi_round(owl_call *call, void *data)
{
    (void)data;
    const owl_json *first, *second;
    int rc = ask_form(call, "step1", "Step 1: what is your name?", NAME_SCHEMA, &first);
    if (rc == 0)
        rc = ask_form(call, "step2", "Step 2: what is your favourite color?",
                      "{\"type\":\"object\",\"properties\":{\"color\":{\"type\":\"string\"}},"
                      "\"required\":[\"color\"]}",
                      &second);
    if (rc != 0)
        return rc;
    return owl_result_textf(call, "%s likes %s",
                            owl_json_get_str(owl_json_get(first, "content"), "name", "?"),
                            owl_json_get_str(owl_json_get(second, "content"), "color", "?"));
}

/* Asks only what this client can be asked. */
static int capabilities(owl_call *call, void *data)
{
    (void)data;
    const owl_json *answer = NULL;
    int rc = 0;
    if (owl_call_client_can(call, "elicitation"))
        rc = ask_form(call, "user_name", "What is your name?", NAME_SCHEMA, &answer);
    if (rc >= 0 && owl_call_client_can(call, "sampling")) {
        int sampled = ask_sample(call, "greeting", "Greet somebody.", &answer);
        rc = sampled != 0 ? sampled : rc;
    }
    return rc != 0 ? rc : show_answer(call, "Answer: ", answer);
}

static const owl_tool tools[] = {
    OWL_TOOL("test_sampling", "Asks the client for a sample.",
             "{\"type\":\"object\",\"properties\":{\"prompt\":{\"type\":\"string\"}},"
             "\"required\":[\"prompt\"]}",
             sampling),
    OWL_TOOL("test_elicitation", "Asks the user who they are.",
             "{\"type\":\"object\",\"properties\":{\"message\":{\"type\":\"string\"}},"
             "\"required\":[\"message\"]}",
             elicitation),
    OWL_TOOL("test_elicitation_sep1034_defaults", "Asks with defaults of every kind.", NO_ARGUMENTS,
             elicitation_defaults),
    OWL_TOOL("test_elicitation_sep1330_enums", "Asks with choices of every kind.", NO_ARGUMENTS,
             elicitation_enums),
    OWL_TOOL("test_input_required_result_elicitation", "Asks for a name.", NO_ARGUMENTS,
             greet_user),
    OWL_TOOL("test_input_required_result_sampling", "Asks the model.", NO_ARGUMENTS, capital),
    OWL_TOOL("test_input_required_result_list_roots", "Asks for roots.", NO_ARGUMENTS,
             client_roots),
    OWL_TOOL("test_input_required_result_request_state", "Remembers between rounds.", NO_ARGUMENTS,
             request_state),
    OWL_TOOL("test_input_required_result_tampered_state", "Refuses a forged memory.", NO_ARGUMENTS,
             request_state),
    OWL_TOOL("test_input_required_result_multiple_inputs", "Asks three things at once.",
             NO_ARGUMENTS, multiple_inputs),
    OWL_TOOL("test_input_required_result_multi_round", "Asks twice.", NO_ARGUMENTS, multi_round),
    OWL_TOOL("test_input_required_result_capabilities", "Asks what the client can be asked.",
             NO_ARGUMENTS, capabilities),
};

static int context_prompt(owl_call *call, void *data)
{
    (void)data;
    const owl_json *answer;
    int rc = ask_form(call, "user_context", "What is the context?",
                      "{\"type\":\"object\",\"properties\":{\"context\":{\"type\":\"string\"}},"
                      "\"required\":[\"context\"]}",
                      &answer);
    if (rc != 0)
        return rc;
    return owl_result_textf(call, "Context: %s",
                            owl_json_get_str(owl_json_get(answer, "content"), "context", "none"));
}

int add_asking_tools(owl_server *server, owl_error *reterr)
{
    owl_prompt prompt = {
        .size = sizeof(prompt),
        .name = "test_input_required_result_prompt",
        .description = "Asks for its context.",
        .handler = context_prompt,
    };
    int rc = add_tools(server, tools, COUNT_OF(tools), reterr);
    return rc != 0 ? rc : owl_server_add_prompt(server, &prompt, reterr);
}
