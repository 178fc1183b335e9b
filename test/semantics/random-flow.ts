import fc from 'fast-check';

/** A node before it has an id: numbers stand for other nodes of its body, counted round. */
interface Spec {
  readonly kind: Kind;
  readonly next: readonly number[];
  readonly pick: number;
  readonly error: number | null;
  readonly edges: readonly Edge[];
  readonly inner: readonly Spec[];
}

interface Edge {
  readonly kind: 'timer' | 'cron' | 'error' | 'all' | 'message' | 'signal';
  readonly interrupts: boolean;
  readonly next: number;
}

const PLAIN = ['task', 'set', 'output', 'throwMessage', 'throwSignal', 'ifElse', 'call'] as const;
const GATES = ['exclusive', 'inclusive', 'parallel'] as const;
const WAITS = ['work', 'ask', 'input', 'catchMessage', 'catchSignal', 'catchTimer', 'sub'] as const;
const NESTS = ['each', 'times', 'while', 'inline'] as const;
const ENDS = ['end', 'terminate', 'throwError'] as const;
type Kind = (typeof PLAIN | typeof GATES | typeof WAITS | typeof NESTS | typeof ENDS)[number];

const CODES = ['BROKEN', 'NO_STOCK'];
const CONDITIONS = [
  '${c > 1}',
  '${c % 2 == 0}',
  '${c < 3 && c != 1}',
  '${c == 1}',
  '${c != 2}',
  '${c <= 2}',
  '${false}',
  '${true}',
  '${loop.index > 0}',
];
const NAMES = ['m', 'n'];

const edge: fc.Arbitrary<Edge> = fc.record({
  kind: fc.constantFrom('timer', 'cron', 'error', 'all', 'message', 'signal'),
  interrupts: fc.boolean(),
  next: fc.nat(20),
});

function specs(depth: number): fc.Arbitrary<readonly Spec[]> {
  const kinds: fc.WeightedArbitrary<Kind>[] = [
    { weight: 4, arbitrary: fc.constantFrom<Kind>(...PLAIN) },
    { weight: 5, arbitrary: fc.constantFrom<Kind>(...GATES) },
    { weight: 6, arbitrary: fc.constantFrom<Kind>(...WAITS) },
    { weight: 1, arbitrary: fc.constantFrom<Kind>(...ENDS) },
  ];
  if (depth > 0) kinds.push({ weight: 4, arbitrary: fc.constantFrom<Kind>(...NESTS) });
  const spec = fc.record({
    kind: fc.oneof(...kinds),
    next: fc.array(fc.nat(20), { maxLength: 3 }),
    pick: fc.nat(1000),
    error: fc.option(fc.nat(20), { freq: 3 }),
    edges: fc.array(edge, { maxLength: 2 }),
    inner: depth > 0 ? specs(depth - 1) : fc.constant([]),
  });
  return fc.array(spec, { minLength: 1, maxLength: depth > 0 ? 9 : 4 });
}

/** Nodes of a flow, as its file has them: any graph that compiles. `other` is a flow that it may start. */
export const randomNodes = (other: string): fc.Arbitrary<object> => specs(2).map((body) => nodesOf(body, 'n', other));

function nodesOf(body: readonly Spec[], prefix: string, other: string): object {
  const id = (index: number): string => `${prefix}${index % body.length}`;
  const first = body[0]?.next.length === 3 ? [id(0), id(1), id(2)] : [id(0), id(1)];
  const nodes: Record<string, object> = { [`${prefix}s`]: { type: 'startEvent', next: first } };
  for (const [index, spec] of body.entries()) {
    nodes[id(index)] = nodeOf(spec, id, `${id(index)}_`, other);
    if (!watched(spec.kind)) continue;
    const codes = new Set<string>();
    for (const [at, one] of spec.edges.entries()) {
      const event = edgeOf(one, id, spec.pick);
      if ('error' in event && codes.has(event.error as string)) continue;
      if ('error' in event) codes.add(event.error as string);
      nodes[`${id(index)}_e${at}`] = { type: 'boundaryEvent', attachedTo: id(index), ...event };
    }
  }
  return nodes;
}

const watched = (kind: Kind): boolean =>
  (WAITS as readonly string[]).includes(kind) || (NESTS as readonly string[]).includes(kind);

function edgeOf({ kind, interrupts, next }: Edge, id: (index: number) => string, pick: number): object {
  const to = next % 3 === 0 ? [] : [id(next)];
  const name = NAMES[pick % NAMES.length];
  switch (kind) {
    case 'timer':
      return { timer: 'PT1H', cancelActivity: interrupts, next: to };
    case 'cron':
      return { timer: '*/30 * * * *', cancelActivity: interrupts, next: to };
    case 'error':
      return { error: CODES[pick % CODES.length], next: to };
    case 'all':
      return { error: '*', next: to };
    default:
      return { [kind]: name, cancelActivity: interrupts, next: to };
  }
}

function nodeOf(spec: Spec, id: (index: number) => string, inner: string, other: string): object {
  const { kind, pick } = spec;
  const next = spec.next.map(id);
  const errorFlow = spec.error === null ? {} : { errorFlow: id(spec.error) };
  const limits = pick % 3 === 0 ? { timeout: 'PT2H', ...(pick % 2 === 0 && { timeoutFlow: id(pick) }) } : {};
  const waits = { next, ...errorFlow, ...limits };
  const body = () => nodesOf(spec.inner.length > 0 ? spec.inner : [TASK], inner, other);
  const condition = CONDITIONS[pick % CONDITIONS.length];
  const name = NAMES[pick % NAMES.length];
  switch (kind) {
    case 'task':
      return { type: 'task', next };
    case 'set':
      return { type: 'setVariable', set: SETS[pick % SETS.length], next, ...errorFlow };
    case 'output':
      return { type: 'outputNode', output: { o: '{c}' }, next };
    case 'throwMessage':
      return { type: 'intermediateThrowEvent', message: name, data: { c: pick % 5 }, next };
    case 'throwSignal':
      return { type: 'intermediateThrowEvent', signal: name, next };
    case 'ifElse':
      // biome-ignore lint/suspicious/noThenProperty: the key's name in flow files
      return { type: 'ifElse', condition, then: id(pick), ...(pick % 2 === 0 && { else: id(pick + 1) }), ...errorFlow };
    case 'call':
      return { type: 'callProcess', processId: other, data: { c: '{c}' }, next, ...errorFlow };
    case 'exclusive':
    case 'inclusive':
    case 'parallel': {
      const ways = next.map((to, index) => wayOf(to, pick + index, index === next.length - 1 && pick % 4 === 0));
      return { type: `${kind}Gateway`, next: ways, ...errorFlow };
    }
    case 'work': {
      const retry = pick % 5 === 0 ? { retry: { attempts: 2, backoff: 'PT1M' } } : {};
      return { type: 'domainTask', handler: 'it', result: 'c', ...retry, ...waits };
    }
    case 'ask':
      return { type: 'userTask', ...waits };
    case 'input':
      return { type: 'inputNode', inputType: 'number', ...waits };
    case 'catchMessage':
      return { type: 'intermediateCatchEvent', message: name, ...waits };
    case 'catchSignal':
      return { type: 'intermediateCatchEvent', signal: name, ...waits };
    case 'catchTimer':
      return { type: 'intermediateCatchEvent', timer: TIMERS[pick % TIMERS.length], ...waits };
    case 'sub':
      return { type: 'subProcess', processId: other, data: { c: '{c}' }, result: 'back', ...waits };
    case 'inline':
      return { type: 'subProcess', nodes: body(), ...waits };
    case 'each':
      return {
        type: 'loopNode',
        items: [0, 1, '{c}'],
        as: 'c',
        concurrency: 1 + (pick % 3),
        result: 'all',
        nodes: body(),
        ...waits,
      };
    case 'times':
      return {
        type: 'loopNode',
        times: pick % 4,
        concurrency: 1 + (pick % 2),
        maxIterations: 2,
        nodes: body(),
        ...waits,
      };
    case 'while':
      return { type: 'loopNode', condition: '${loop.index < 2}', result: 'rounds', nodes: body(), ...waits };
    case 'end':
      return { type: 'endEvent' };
    case 'terminate':
      return { type: 'endEvent', terminate: true };
    case 'throwError':
      return { type: 'endEvent', error: CODES[pick % CODES.length] };
  }
}

const TASK: Spec = { kind: 'task', next: [], pick: 0, error: null, edges: [], inner: [] };
const SETS = [
  { c: 0 },
  { c: 1 },
  { c: 2, d: '{c}' },
  { 'x.y': '{c}', x: '{x}' },
  { big: '{big}{big}.' },
  { 'loop.mine': 1 },
];
const TIMERS = ['PT1H', 'PT0S', '0 * * * *', 'PT3H', '2026-01-01T05:00:00Z', 'PT1M', '{nobody}'];

function wayOf(to: string, pick: number, last: boolean): object | string {
  if (last) return { to, default: true };
  return pick % 3 === 0 ? to : { to, condition: CONDITIONS[pick % CONDITIONS.length] };
}
