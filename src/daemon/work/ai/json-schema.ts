import { createContext, Script } from 'node:vm';
import type { Ajv2020 } from 'ajv/dist/2020.js';
import type { Json, JsonObject } from '../../../engine/json.ts';

/** Says what is wrong with a value, in one line; undefined where it fits. */
export type Check = (value: Json) => string | undefined;

/** A schema and its patterns come from a flow, and values from anybody: neither may keep the daemon busy. */
const LONGEST_MS = 1000;
const MAX_PROBLEMS = 5;

const OPTIONS = { strict: false, allErrors: true, validateFormats: false, logger: false } as const;
/** Knows what a schema is, which takes it a while to learn. */
let schemas: Ajv2020 | undefined;

/** A check by a JSON Schema (draft 2020-12; formats are not checked). Throws with one sentence where the schema is wrong. */
export async function checkBy(schema: JsonObject): Promise<Check> {
  const { Ajv2020: Ajv } = await import('ajv/dist/2020.js');
  schemas ??= knowing(new Ajv(OPTIONS));
  const known = schemas;
  const ajv = new Ajv({ ...OPTIONS, validateSchema: false });
  const validate = bounded(() => {
    if (known.validateSchema(schema as object) !== true)
      throw new Error(known.errorsText(known.errors, { dataVar: 'the schema' }));
    return ajv.compile(schema as object);
  });
  return (value) => {
    if (bounded(() => validate(value))) return undefined;
    return problemsOf(validate.errors ?? []);
  };
}

function knowing(ajv: Ajv2020): Ajv2020 {
  void ajv.validateSchema({});
  return ajv;
}

type Problems = NonNullable<Ajv2020['errors']>;

function problemsOf(errors: Problems): string {
  const shown = errors.slice(0, MAX_PROBLEMS).map(({ instancePath, message, params }) => {
    const place = instancePath === '' ? 'the value' : instancePath;
    const extra = (params as { additionalProperty?: string }).additionalProperty;
    return `${place} ${message}${extra === undefined ? '' : ` ('${extra}')`}`;
  });
  const more = errors.length > MAX_PROBLEMS ? `; and ${errors.length - MAX_PROBLEMS} more` : '';
  return shown.join('; ') + more;
}

const act = new Script('act()');

/** Runs `task` for a second at most, also where it is stuck in a regular expression. */
function bounded<T>(task: () => T): T {
  let result: T | undefined;
  const context = createContext({
    act: () => {
      result = task();
    },
  });
  try {
    act.runInContext(context, { timeout: LONGEST_MS });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    throw new Error(`checking by the schema took longer than ${LONGEST_MS} ms`);
  }
  return result as T;
}
