import {
  begin,
  type Context,
  DEFAULT_LIMITS,
  type Decision,
  decide,
  type Flow,
  type StartCommand,
} from '../src/engine/index.ts';
import { compile } from '../src/engine/parse.ts';
import { linearFlow } from './flows.ts';

const context: Context = { at: Date.UTC(2026, 0, 1), env: () => undefined, limits: DEFAULT_LIMITS };
const SECONDS = 2;

const forkJoin = `
id: 0b0f7c2e-4a55-4c0d-9a53-6a6d3c1a2b11
name: Fork and join
nodes:
  start: { type: startEvent, next: split }
  split: { type: parallelGateway, next: [a, b, c, d] }
  a: { type: task, next: join }
  b: { type: task, next: join }
  c: { type: task, next: join }
  d: { type: task, next: join }
  join: { type: parallelGateway, next: end }
  end: { type: endEvent }
`;

const forEach = `
id: 0b0f7c2e-4a55-4c0d-9a53-6a6d3c1a2b12
name: Ten thousand items
nodes:
  start: { type: startEvent, next: each }
  each:
    type: loopNode
    items: "{list}"
    as: it
    nodes: { add: { type: setVariable, set: { last: "{it.name}" } } }
    result: names
    next: end
  end: { type: endEvent }
`;

function compiled(text: string): Flow {
  const { flow } = compile(text);
  if (flow === undefined) throw new Error('the flow of the benchmark does not compile');
  return flow;
}

/** Runs one instance to its end; gives how many nodes it entered. */
function execute(flow: Flow, id: string, data: StartCommand['data']): number {
  const start = { id, processId: flow.id, version: '1', path: [], organizationId: 'bench', environment: 'PRODUCTION' };
  let decision: Decision = begin(flow, { ...start, trigger: { type: 'api' }, depth: 0, data }, context);
  while (decision.ok && decision.state.stateCd === 0) {
    decision = decide(flow, decision.state, { type: 'continue' }, context);
  }
  if (!decision.ok || decision.state.stateCd !== 1) throw new Error(`${flow.name} did not complete`);
  return decision.state.nextActivation - 1;
}

function measure(flow: Flow, data: StartCommand['data'] = {}): Record<string, number> {
  for (const warm = performance.now(); performance.now() - warm < 300; ) execute(flow, 'warm', data);
  let executions = 0;
  let transitions = 0;
  const began = performance.now();
  while (performance.now() - began < SECONDS * 1000) {
    transitions += execute(flow, `instance-${executions}`, data);
    executions += 1;
  }
  const seconds = (performance.now() - began) / 1000;
  return {
    'executions/s': Math.round(executions / seconds),
    'node transitions/s': Math.round(transitions / seconds),
  };
}

/** The pure engine in one process, without journal: what deciding alone costs. */
export function benchEngine(): void {
  const list = Array.from({ length: 10_000 }, (_, index) => ({ name: `item ${index}`, index }));
  console.table({
    '10-node linear flow': measure(compiled(linearFlow)),
    'fork and join of 4': measure(compiled(forkJoin)),
    'for-each of 10,000 items': measure(compiled(forEach), { list }),
  });
}

if (import.meta.url === `file://${process.argv[1]}`) benchEngine();
