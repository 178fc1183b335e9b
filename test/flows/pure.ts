import type { Flow } from '../../src/engine/flow.ts';
import type { JsonObject } from '../../src/engine/json.ts';
import { compile } from '../../src/engine/parse.ts';
import { type Run, World } from '../semantics/engine.ts';
import { flowText } from './service.ts';

/** A run of an example flow in the pure engine, whose clock and outside the test moves. */
export function pure(name: string, data: JsonObject = {}): { world: World; run: Run; flow: Flow } {
  const { flow } = compile(flowText(name));
  if (flow === undefined) throw new Error(`${name} does not compile`);
  const world = new World();
  return { world, run: world.start(flow, { data }), flow };
}
