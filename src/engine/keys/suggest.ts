import type { JsonObject } from '../json.ts';
import type { At } from './kind.ts';

/** What people write who know other products, and what it is called here. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  after: 'next',
  assign: 'set',
  assignedTo: 'assignee',
  attachedToRef: 'attachedTo',
  attachTo: 'attachedTo',
  args: 'command',
  argv: 'command',
  backoffMultiplier: 'factor',
  calledElement: 'processId',
  candidateUsers: 'candidates',
  choices: 'options',
  cmd: 'command',
  code: 'script',
  cond: 'condition',
  cwdir: 'cwd',
  cycle: 'timer',
  deadline: 'timeout',
  dueDate: 'dueIn',
  duration: 'timer',
  env: 'environment',
  errorCode: 'error',
  expression: 'condition',
  foreach: 'items',
  forEach: 'items',
  formKey: 'form',
  goto: 'next',
  http: 'request',
  if: 'condition',
  in: 'items',
  inputs: 'input',
  instructions: 'system',
  interrupting: 'cancelActivity',
  isInterrupting: 'cancelActivity',
  maxAttempts: 'attempts',
  messageRef: 'message',
  mail: 'message',
  onError: 'errorFlow',
  onFailure: 'errorFlow',
  onTimeout: 'timeoutFlow',
  otherwise: 'else',
  outgoing: 'next',
  output: 'result',
  outputs: 'output',
  parallelism: 'concurrency',
  processRef: 'processId',
  question: 'formTitle',
  resultVariable: 'result',
  retries: 'retry',
  run: 'command',
  save: 'result',
  signalRef: 'signal',
  steps: 'nodes',
  subject: 'title',
  target: 'next',
  timeoutSeconds: 'timeout',
  timerEventDefinition: 'timer',
  transition: 'next',
  vars: 'variables',
  when: 'condition',
  while: 'condition',
  workflow: 'processId',
};

/** Reports the key `name` of `map`, with the one of `known` that was probably meant. */
export function unknownKey(name: string, known: readonly string[], map: JsonObject, at: At, of: string): void {
  const free = [...new Set(known)].filter((key) => !Object.hasOwn(map, key));
  const message = `${of} has no key \`${name.slice(0, 80)}\``;
  at.key(name).error('UNKNOWN_KEY', message, { onKey: true, hint: keyHint(name, free) });
}

function keyHint(name: string, free: readonly string[]): string {
  const elsewhere = Object.hasOwn(ELSEWHERE, name) ? (ELSEWHERE[name] as string) : '';
  const meant = free.includes(elsewhere) ? elsewhere : closest(name, free);
  if (meant !== undefined) return `did you mean \`${meant}\`?`;
  return free.length === 0 ? 'leave it out' : `it may also have ${free.map((key) => `\`${key}\``).join(', ')}`;
}

/** The one of `names` that `name` is most likely a slip of, or undefined. */
export function closest(name: string, names: Iterable<string>): string | undefined {
  const plain = simplified(name);
  let best: string | undefined;
  let distance = Math.min(3, Math.floor(plain.length / 3) + 1);
  for (const candidate of names) {
    const between = distanceWithin(plain, simplified(candidate), distance);
    if (between >= distance) continue;
    best = candidate;
    distance = between;
  }
  return best;
}

const simplified = (name: string) =>
  name
    .slice(0, 128)
    .toLowerCase()
    .replace(/[-_\s]/gu, '');

/** Edit distance with transpositions (Damerau, restricted), or `limit` where it is that much or more. */
export function distanceWithin(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(
        (last[j] as number) + 1,
        (row[j - 1] as number) + 1,
        (last[j - 1] as number) + (same ? 0 : 1),
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, (before[j - 2] as number) + 1);
      row.push(cost);
    }
    if (Math.min(...row) >= limit) return limit;
    before = last;
    last = row;
  }
  return Math.min(last[b.length] as number, limit);
}
