/* ajv as a judge: a line {"schema": …, "instances": […]} is answered by a line with a verdict for
 * each instance: "valid", "invalid", or "none: " and why. */
"use strict";

const Ajv = require(process.env.OWLCLAW_AJV + "/node_modules/ajv/dist/2020").default;

/* The last two make it right more often. */
const ajv = new Ajv({ strict: false, logger: false, validateFormats: false, allErrors: true,
                      ownProperties: true });

function verdict(validate, instance) {
  try {
    return validate(instance) ? "valid" : "invalid";
  } catch (error) {
    return `none: ${error.message}`.slice(0, 200);
  }
}

function verdicts({ schema, instances }) {
  try {
    const validate = ajv.compile(schema);
    return instances.map((instance) => verdict(validate, instance));
  } catch (error) {
    return instances.map(() => `none: ${error.message}`.slice(0, 200));
  } finally {
    ajv.removeSchema(); /* all but the metaschemas */
  }
}

require("node:readline")
  .createInterface({ input: process.stdin })
  .on("line", (line) => process.stdout.write(JSON.stringify(verdicts(JSON.parse(line))) + "\n"));
