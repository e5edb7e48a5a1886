/* tbl/methods.h - the requests that a server answers: one row a descriptor owl_method_<symbol>, each in a file of its own in
 * server/. Include with OWL_METHOD_ROW(symbol) defined. */
OWL_METHOD_ROW(initialize)
OWL_METHOD_ROW(ping)
OWL_METHOD_ROW(server_discover)
OWL_METHOD_ROW(tools_list)
OWL_METHOD_ROW(tools_call)
OWL_METHOD_ROW(resources_list)
OWL_METHOD_ROW(resources_templates_list)
OWL_METHOD_ROW(resources_read)
OWL_METHOD_ROW(resources_subscribe)
OWL_METHOD_ROW(resources_unsubscribe)
OWL_METHOD_ROW(prompts_list)
OWL_METHOD_ROW(prompts_get)
OWL_METHOD_ROW(completion_complete)
OWL_METHOD_ROW(logging_set_level)
OWL_METHOD_ROW(subscriptions_listen)
#undef OWL_METHOD_ROW
