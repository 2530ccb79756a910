// Says whether a file is a valid OpenAPI document, and of which version.
import { readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";

const validator = new Validator();
const { valid, errors } = await validator.validate(JSON.parse(readFileSync(process.argv[2], "utf8")));
console.log(JSON.stringify({ valid, version: validator.version ?? "", errors: errors ?? [] }));
