/** A run that needs nobody: outside work, a fork, a loop of 50, and a child that only its boundary timer ends. */
export const ORDER = '5d8f3a52-1f0e-4b7e-9a0e-3b1d9f6c2a01';
/** A run that waits for a person. */
export const ASK = '5d8f3a52-1f0e-4b7e-9a0e-3b1d9f6c2a02';
/** A run that waits for two messages of the same name, one after the other. */
export const PAID = '5d8f3a52-1f0e-4b7e-9a0e-3b1d9f6c2a03';
/** A run that a webhook starts. */
export const HOOK = '5d8f3a52-1f0e-4b7e-9a0e-3b1d9f6c2a04';

/** Where each run of a flow calls out; the nodes are entered once. */
export const CALLS: Readonly<Record<string, readonly string[]>> = {
  [ORDER]: ['first', 'branch', 'last'],
  [ASK]: ['tell'],
  [PAID]: ['between'],
  [HOOK]: [],
};

const call = (next: string): string =>
  `{ type: serviceTask, service: http, request: { method: POST, url: "{sink}" }, next: ${next} }`;

/** The flow file of `id`; another `edition` is another version. */
export function flowFile(id: string, edition: number): string {
  const triggers = id === HOOK ? 'triggers: [{ type: webhook, registration: crash }]\n' : '';
  return `id: ${id}\nname: Crash ${id.slice(-1)}\ndescription: Edition ${edition}\n${triggers}nodes:${NODES[id]}`;
}

const NODES: Readonly<Record<string, string>> = {
  [ORDER]: `
  start: { type: startEvent, next: first }
  first: ${call('fork')}
  fork: { type: parallelGateway, next: [branch, other] }
  branch: ${call('join')}
  other: { type: setVariable, set: { mark: "{number}" }, next: join }
  join: { type: parallelGateway, next: fifty }
  fifty: { type: loopNode, times: 50, nodes: { s: { type: setVariable, set: { count: "{loop.index}" } } }, next: child }
  child:
    type: subProcess
    nodes:
      inner: { type: startEvent, next: never }
      never: { type: intermediateCatchEvent, message: never, correlationKey: "{number}" }
    next: unreached
  due: { type: boundaryEvent, attachedTo: child, timer: PT0.3S, next: last }
  unreached: { type: setVariable, set: { result: wrong } }
  last: ${call('keep')}
  keep: { type: setVariable, set: { result: "{number}" }, next: end }
  end: { type: endEvent }
`,
  [ASK]: `
  start: { type: startEvent, next: ask }
  ask: { type: inputNode, inputType: textbox, next: tell }
  tell: ${call('keep')}
  keep: { type: setVariable, set: { result: "{inputValue}" }, next: end }
  end: { type: endEvent }
`,
  [PAID]: `
  start: { type: startEvent, next: one }
  one: { type: intermediateCatchEvent, message: paid, correlationKey: "{number}", result: one, next: between }
  between: ${call('two')}
  two: { type: intermediateCatchEvent, message: paid, correlationKey: "{number}", result: two, next: keep }
  keep: { type: setVariable, set: { result: "{number}" }, next: end }
  end: { type: endEvent }
`,
  [HOOK]: `
  start: { type: startEvent, next: keep }
  keep: { type: setVariable, set: { result: "{webhookPayload.id}" }, next: end }
  end: { type: endEvent }
`,
};
