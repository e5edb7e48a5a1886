/* tbl/commands.h - every command and group, in the order of help: owl_command_<symbol>, which a file of src/cli defines
 * (groups: commands.c). A group stands before its commands.
 * Include with OWL_COMMAND_ROW(symbol) defined. */
OWL_COMMAND_ROW(program)
OWL_COMMAND_ROW(mcp_server)
OWL_COMMAND_ROW(config)
OWL_COMMAND_ROW(config_validate)
OWL_COMMAND_ROW(config_show)
OWL_COMMAND_ROW(config_schema)
OWL_COMMAND_ROW(config_import)
OWL_COMMAND_ROW(trust)
OWL_COMMAND_ROW(schema)
OWL_COMMAND_ROW(schema_validate)
OWL_COMMAND_ROW(docs)
#undef OWL_COMMAND_ROW
