import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { parse } from 'yaml';
import { NODE_TYPES } from '../../src/engine/flow.ts';
import { compile } from '../../src/engine/parse.ts';
import { flowSchema } from '../../src/engine/schema.ts';
import { flowOf, nodeOf } from './flows.ts';

const schema = flowSchema();
const accepts = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true }).compile(schema);

/** Both the schema and the compiler take the text, or both refuse it. */
function agree(t: Tap, text: string, verdict: boolean) {
  const compiles = compile(text).flow !== undefined;
  t.equal(compiles, verdict, `${text}\n${JSON.stringify(compile(text).problems)}`);
  t.equal(accepts(parse(text)), verdict, `${text}\n${JSON.stringify(accepts.errors)}`);
}
type Tap = { equal: (found: unknown, wanted: unknown, message: string) => boolean };

/** A right node of each type. */
const GOOD: Readonly<Record<(typeof NODE_TYPES)[number], readonly string[]>> = {
  startEvent: [],
  endEvent: ['', ', terminate: true', ', error: OUT_OF_STOCK'],
  task: [', name: Something, next: done', ', next: [done, done], errorFlow: done'],
  setVariable: [', set: { a: 1, b.c: { d: "{e}" } }'],
  scriptTask: [
    ', script: "return 1", result: a.b, timeout: PT1S, timeoutFlow: done, retry: { attempts: 3, maxBackoff: PT1M }',
  ],
  serviceTask: [
    ', service: http, request: { url: "{env.URL}/x", headers: { a: b }, query: { n: 1 }, body: [1] }, result: r',
    ', service: command, command: [ls, -l, 1], cwd: /tmp, environment: { A: 1 }, stdin: ""',
    ', service: email, message: { to: a@b.c, cc: [d@e.f], subject: Hi, text: There }',
  ],
  domainTask: [', handler: price, input: { a: "{b}" }, result: r'],
  userTask: [
    ', title: Do it, assignee: "{who}", candidates: ann, dueIn: P1D, form: { title: T, fields: { a: { type: date } } }',
  ],
  inputNode: [
    ', inputType: number, default: 3, required: false',
    ', inputType: radio, options: [a, 1, { value: { x: 1 }, label: X }]',
    ', inputType: checkbox, options: "{choices}"',
    ', inputType: form, fields: [a, { name: b, type: select, options: [x] }]',
  ],
  outputNode: [', output: { a: 1, "b c": "{d}" }', ', value: [1]'],
  exclusiveGateway: [', next: [{ to: done, condition: "${a}" }, { to: done, default: true }]', ', next: done', ''],
  inclusiveGateway: [', next: [{ to: done, condition: "${a}" }, done]'],
  parallelGateway: [', next: [done, done]'],
  ifElse: [', condition: "${a > 1}", then: done', ', condition: "${a}", then: done, else: done, errorFlow: done'],
  loopNode: [
    ', condition: "${a}", maxIterations: 5, nodes: { x: { type: task } }, result: all',
    ', items: [1, 2], as: item, concurrency: 10, nodes: { x: { type: task } }',
    ', times: "{n}", nodes: { x: { type: loopNode, times: 2, nodes: { y: { type: task } } } }',
  ],
  subProcess: [
    ', nodes: { x: { type: startEvent } }, data: { a: 1 }',
    ', processId: 7c9e6679-7425-40de-944b-e07fc1f90ae7, result: r',
  ],
  callProcess: [', processId: "{other}", data: { a: "{b}" }, result: id'],
  intermediateCatchEvent: [
    ', message: paid, correlationKey: "{id}"',
    ', signal: go',
    ', timer: PT1S',
    ', timer: "0 9 * * 1"',
  ],
  intermediateThrowEvent: [', message: paid, correlationKey: "{id}", data: { a: 1 }', ', signal: go'],
  boundaryEvent: [],
  aiTask: [
    ', prompt: "Say {x}", schema: { type: object }, temperature: 0.5, maxTokens: 100, provider: p, model: m, result: r',
  ],
  voiceTask: [', action: speak, text: Hello, voice: v, result: r', ', action: transcribe, file: "{f}"'],
  memoryAction: [
    ', action: get, key: k, result: r',
    ', action: set, key: k, value: { a: 1 }, scope: organization',
    ', action: search, query: q, limit: 3',
  ],
  callAgent: [
    ', goal: Win, maxSteps: 3, tools: [{ flow: 7c9e6679-7425-40de-944b-e07fc1f90ae7 }, { http: { url: "https://x" }, name: t }, { mcp: { command: [mcp] } }]',
  ],
};

t.test('every node type is taken with all its keys, by the compiler and by the schema', async (t) => {
  for (const type of NODE_TYPES) for (const keys of GOOD[type]) agree(t, nodeOf(`type: ${type}${keys}`), true);
  const boundary = (keys: string) => nodeOf(`type: userTask }\n  b: { type: boundaryEvent, attachedTo: it, ${keys}`);
  for (const keys of [
    'timer: PT1S, cancelActivity: false, next: done',
    'timer: { duration: "{wait}" }',
    'timer: { cron: "0 9 * * 1-5" }',
    'timer: { date: 2030-01-01 }',
    'error: "*"',
    'error: 404X',
    'message: m, correlationKey: "{k}"',
    'signal: s',
  ]) {
    agree(t, boundary(keys), true);
  }
  agree(t, flowOf('  start: { type: startEvent }'), true);
});

t.test('what the compiler refuses as unknown, missing or of a wrong type the schema refuses', async (t) => {
  for (const type of NODE_TYPES) {
    for (const keys of GOOD[type]) agree(t, nodeOf(`type: ${type}${keys}, bogus: 1`), false);
  }
  const wrong = [
    'type: tasks',
    'name: x',
    'type: task, next: 5',
    'type: task, timeout: PT1S',
    'type: userTask, title: 1.10',
    'type: endEvent, next: done',
    'type: endEvent, terminate: yes',
    'type: setVariable',
    'type: setVariable, set: {}',
    'type: serviceTask, service: http',
    'type: serviceTask, service: http, request: { url: "http://x" }, command: [ls]',
    'type: serviceTask, service: ftp',
    'type: serviceTask, service: command, command: ls',
    'type: serviceTask, service: http, request: { url: "http://x", metod: GET }',
    'type: scriptTask, script: "1", retry: { attempts: 0 }',
    'type: inputNode, inputType: slider',
    'type: outputNode',
    'type: outputNode, value: 1, output: { a: 1 }',
    'type: ifElse, condition: "${a}"',
    'type: ifElse, condition: "a > 1", then: done',
    'type: loopNode, times: 3, items: [1], nodes: { x: { type: task } }',
    'type: loopNode, times: 3, as: x, nodes: { x: { type: task } }',
    'type: loopNode, times: 3, nodes: { x: { type: tasks } }',
    'type: loopNode, items: orders, nodes: { x: { type: task } }',
    'type: subProcess, processId: orders',
    'type: intermediateCatchEvent, timer: PT1S, correlationKey: x',
    'type: exclusiveGateway, next: [{ to: done, default: yes }]',
    'type: memoryAction, action: get',
    'type: callAgent, goal: x, tools: [{ name: t }]',
  ];
  for (const keys of wrong) agree(t, nodeOf(keys), false);
  const good = flowOf('  start: { type: startEvent }');
  for (const [from, to] of [
    ['name: Test', 'nam: Test'],
    ['name: Test', 'name: 5'],
    ['id: 7c', 'id: xx'],
    ['name: Test', 'name: Test\npublic: yes'],
    ['name: Test', 'name: Test\nvariables: []'],
    ['name: Test', 'name: Test\ntriggers: [{ type: cron }]'],
    ['name: Test', 'name: Test\ntriggers: [{ type: schedule }]'],
    ['name: Test', 'name: Test\ntriggers: [{ type: webhook, registration: a, cron: x }]'],
  ] as const) {
    agree(t, good.replace(from, to), false);
  }
});

t.test('every key and node type has a description', async (t) => {
  const undescribed: string[] = [];
  const visit = (at: string, value: unknown) => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      if (key === 'properties' && at.startsWith('$defs.')) {
        for (const [name, each] of Object.entries(inner as object)) {
          const known = ['type', 'service', 'action'].includes(name) || each === false;
          if (!known && typeof (each as { description?: string }).description !== 'string')
            undescribed.push(`${at}.${name}`);
        }
      }
    }
  };
  const defs = schema['$defs'] as Record<string, unknown>;
  for (const [name, value] of Object.entries(defs)) visit(`$defs.${name}`, value);
  t.strictSame(undescribed, []);
  for (const type of NODE_TYPES) t.match(defs[type], { description: /\w/ });
});

const FLOWS = existsSync('flows') ? readdirSync('flows').filter((name) => /\.ya?ml$/u.test(name)) : [];
t.test('the example flows fit', { skip: FLOWS.length > 0 ? false : 'no example flows' }, async (t) => {
  for (const name of FLOWS) agree(t, readFileSync(`flows/${name}`, 'utf8'), true);
});
