/* tbl/steps.h - the steps of a call, in their order: symbol, what it does.
 * Include with OWL_STEP_ROW(symbol, text) defined. */
OWL_STEP_ROW(route, "is the method served to this client now?")
OWL_STEP_ROW(resolve, "find the tool, resource or prompt")
OWL_STEP_ROW(admit, "ask the policy")
OWL_STEP_ROW(arguments, "do the arguments fit the tool's schema?")
OWL_STEP_ROW(task, "answer with a task where the client takes one, and go on")
OWL_STEP_ROW(invoke, "run the method or start its handler")
OWL_STEP_ROW(await, "a handler works; its end, a deadline or a cancellation resumes")
OWL_STEP_ROW(ask, "questions go to the client; its answers lead back to invoke")
OWL_STEP_ROW(settle, "tell the policy how it ended")
OWL_STEP_ROW(reply, "answer in the words of the client's revision")
OWL_STEP_ROW(end, "let go")
#undef OWL_STEP_ROW
