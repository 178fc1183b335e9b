import { isObject, type Json } from '../../engine/json.ts';
import { type Service, WorkError, type WorkSettings } from './executor.ts';
import { createScriptPool } from './script-pool.ts';

/** Milliseconds; measured on the clock, on a thread that does nothing else meanwhile. */
const DEFAULT_TIME_LIMIT = 10_000;

/**
 * Script tasks: `{script, variables}`. JavaScript in a sandbox on a thread of its own, without files, network, processes
 * or timers; see sandbox.ts for values, errors and bounds. Variables whose names are no identifiers are left out, and what
 * a script does to variables stays in it. `console` writes to the instance's log.
 */
export function createScript(settings: WorkSettings): Service {
  const pool = createScriptPool(settings.scriptTimeLimit ?? DEFAULT_TIME_LIMIT);
  return {
    async execute(input, context) {
      const { script, variables } = input;
      const name = `node '${context.nodeId}'`;
      if (typeof script !== 'string') throw new WorkError('SCRIPT_ERROR', `${name}: its script is no text`);
      const json = JSON.stringify(isObject(variables) ? variables : {});
      const answer = await pool.evaluate({ script, variables: json }, context.signal);
      for (const { level, line } of answer.logs) context.log(level, line);
      if (!answer.ok) throw new WorkError(answer.code, answer.message);
      return JSON.parse(answer.json) as Json;
    },
    close: () => pool.close(),
  };
}
