import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { stringify } from 'yaml';
import { Problems } from '../../src/engine/parse/problems.ts';
import { readSource } from '../../src/engine/parse/source.ts';
import { compile } from '../../src/engine/parse.ts';
import { codes, compiled, errors, flowOf, lines, nodeOf, warnings } from './flows.ts';

const CONFORMANCE = process.env['WFX_CONFORMANCE_DIR'] ?? '../shared/conformance';

const ORDER = `id: 7C9E6679-7425-40de-944b-e07fc1f90ae7
name: Order approval
variables: { currency: EUR }
triggers:
  - { type: webhook, registration: shop, eventType: order.created }
  - { type: schedule, cron: "0 9 * * 1-5", timezone: Europe/Berlin }
  - { type: on-demand }
nodes:
  start:    { type: startEvent, next: review }
  review:
    type: inputNode
    name: Review order
    formTitle: "Approve order {order.id} over {order.total} {currency}?"
    inputType: radio
    options: [approve, reject]
    timeout: PT2H
    next: decide
    errorFlow: rejected
    timeoutFlow: rejected
  decide:   { type: ifElse, condition: "\${inputValue == 'approve' && order.total < 1000}", then: ship, else: rejected }
  ship:
    type: serviceTask
    service: http
    request: { method: post, url: "{env.SHOP_URL}/ship", body: { order: "{order.id}" } }
    timeout: PT10S
    retry: { attempts: 5, backoff: PT0.2S, factor: 2 }
    result: shipment
    next: [done, rejected]
  rejected: { type: setVariable, set: { outcome.state: rejected }, next: done }
  done:     { type: endEvent }
`;

t.test('a flow file compiles to its nodes and connections', async (t) => {
  const flow = compiled(ORDER);
  t.equal(flow.id, '7c9e6679-7425-40de-944b-e07fc1f90ae7', 'the id in lower case');
  t.strictSame(flow.triggers, [
    { type: 'webhook', registration: 'shop', eventType: 'order.created' },
    { type: 'schedule', cron: '0 9 * * 1-5', timezone: 'Europe/Berlin', catchUp: false, overlap: 'allow' },
    { type: 'onDemand' },
  ]);
  t.equal(flow.body.start, 'start');
  t.match(flow.body.nodes.get('review'), {
    name: 'Review order',
    next: [{ id: 'review.next', from: 'review', to: 'decide' }],
    errorFlow: { id: 'review.errorFlow', to: 'rejected' },
    keys: { inputType: 'radio', required: true, options: { kind: 'constant', value: ['approve', 'reject'] } },
  });
  const decide = flow.body.nodes.get('decide');
  t.match(decide, { name: 'decide', next: [] });
  t.match(decide?.keys['then'], { id: 'decide.then', to: 'ship' });
  t.match(flow.body.nodes.get('ship'), {
    next: [{ id: 'ship.next.0' }, { id: 'ship.next.1' }],
    retry: { attempts: 5, backoffMs: 200, factor: 2, maxBackoffMs: 300_000 },
    keys: { service: 'http', request: { method: { source: 'POST' } }, result: ['shipment'] },
  });
  t.match(flow.body.nodes.get('rejected')?.keys, { set: [{ path: ['outcome', 'state'] }] });
  t.strictSame(
    flow.body.incoming.get('rejected')?.map(({ id }) => id),
    ['review.errorFlow', 'review.timeoutFlow', 'decide.else', 'ship.next.1'],
  );
  t.notOk(flow.body.incoming.has('start'));
});

t.test('JSON is read as well, with tabs, and CRLF, lone CR and a byte order mark', async (t) => {
  const json = { id: '7c9e6679-7425-40de-944b-e07fc1f90ae7', name: 'x', nodes: { s: { type: 'startEvent' } } };
  for (const text of [JSON.stringify(json), JSON.stringify(json, null, '\t'), stringify(json)]) {
    t.ok(compile(text).flow, text);
    t.ok(compile(`\ufeff${text.replaceAll('\n', '\r\n')}`).flow);
  }
  t.ok(compile(stringify(json).replaceAll('\n', '\r')).flow);
  t.match(errors(`\ufeffid: 1\r\nname: x\r\nnodez: 1\r\n`), [
    { code: 'MISSING_KEY' },
    { line: 1, column: 5 },
    { line: 3, column: 1 },
  ]);
});

t.test('nested bodies, ways, boundary events and forms compile', async (t) => {
  const flow = compiled(
    flowOf(`  start: { type: startEvent, next: each }
  each:
    type: loopNode
    items: "{orders}"
    as: order
    concurrency: 3
    nodes: { work: { type: task } }
    next: ask
  late: { type: boundaryEvent, attachedTo: each, timer: PT1H, next: done }
  ask:
    type: userTask
    candidates: [ann, "{boss}"]
    form: [{ name: sum, type: number, required: true }, note]
    next: choose
  choose:
    type: exclusiveGateway
    next:
      - { to: child, condition: "\${sum > 1}" }
      - { to: done, default: true }
  child:
    type: subProcess
    nodes:
      begin: { type: startEvent, next: end }
      end: { type: endEvent, error: OOPS }
    next: done
  done: { type: endEvent, terminate: true }`),
  );
  t.match(flow.body.nodes.get('each')?.keys, {
    as: 'order',
    concurrency: 3,
    maxIterations: 10_000,
    nodes: { start: 'work' },
  });
  t.strictSame(
    flow.body.boundaries.get('each')?.map(({ id }) => id),
    ['late'],
  );
  t.match(flow.body.nodes.get('late')?.keys, { attachedTo: 'each', cancelActivity: true, timer: { source: 'PT1H' } });
  t.match(flow.body.nodes.get('ask')?.keys, {
    candidates: [{ source: 'ann' }, { source: '{boss}' }],
    form: {
      fields: [
        { name: 'sum', type: 'number', required: true },
        { name: 'note', type: 'textbox', required: false },
      ],
    },
  });
  const choose = flow.body.nodes.get('choose');
  t.match(choose?.next, [
    { id: 'choose.next.0', to: 'child', default: false, condition: { text: '${sum > 1}' } },
    { id: 'choose.next.1', to: 'done', default: true },
  ]);
  t.equal(choose?.keys['ways'], choose?.next);
  t.match(flow.body.nodes.get('child')?.keys, { nodes: { start: 'begin' } });
});

t.test('all problems are told at once, in the order of the lines', async (t) => {
  const text = `id: 12\nname: {name}\npublick: yes
triggers: [{ type: schedule, cron: "0 0 31 2 *", overlap: no }]
nodes:
  start: { type: startEvent, next: reveiw }
  review: { type: if, condition: "a" }
  wait: { type: intermediateCatchEvent, timer: 5 minutes }
`;
  t.strictSame(lines(errors(text)), [
    '1:5 WRONG_TYPE id -> make a new one with `wfx flow init`',
    '2:7 UNQUOTED_BRACES name -> quote it: "{name}"',
    '3:1 UNKNOWN_KEY publick -> did you mean `public`?',
    '4:36 BAD_CRON triggers.0.cron -> five fields: minute hour day-of-month month day-of-week, e.g. "0 9 * * 1-5"',
    '4:59 WRONG_TYPE triggers.0.overlap',
    '6:36 UNKNOWN_NODE nodes.start.next -> did you mean `review`?',
    '7:19 UNKNOWN_NODE_TYPE nodes.review.type -> did you mean `ifElse`?',
    '8:48 WRONG_TYPE nodes.wait.timer -> write PT5M',
  ]);
});

t.test('a schedule that is there twice is told: they would be one', async (t) => {
  const schedules = (second: string) =>
    `${flowOf('  s: { type: startEvent }')}\ntriggers:\n  - { type: schedule, cron: "0 9 * * *" }\n  - { type: schedule, cron: ${second} }`;
  t.match(warnings(schedules('"0 9 * * *", overlap: skip')), [{ code: 'REPEATED_SCHEDULE', path: 'triggers.1' }]);
  t.strictSame(warnings(schedules('"0 9 * * *", timezone: Europe/Berlin')), []);
});

t.test('a star that means nothing in a filter is told', async (t) => {
  const wanted = (filter: string) =>
    warnings(
      `${flowOf('  s: { type: startEvent }')}\ntriggers: [{ type: webhook, registration: r, eventType: "${filter}" }]`,
    );
  t.match(wanted('*.created'), [{ code: 'LITERAL_STAR', path: 'triggers.0.eventType' }]);
  for (const filter of ['order.*', '*', 'order.created']) t.strictSame(wanted(filter), [], filter);
});

t.test("YAML's traps are explained, with the line and what to write", async (t) => {
  const traps: [yaml: string, line: string][] = [
    ['a: {name}', '1:4 UNQUOTED_BRACES a -> quote it: "{name}"'],
    ['a: {{name}}', '1:4 UNQUOTED_BRACES a -> quote it: "{name}"'],
    ['a:\n- {b.c}', '2:3 UNQUOTED_BRACES a.0 -> quote it: "{b.c}"'],
    ['a: {type:task}', '1:4 MISSING_SPACE a -> write { type: task }'],
    ['a: {b, c: 1}', '1:5 MISSING_VALUE a.b -> write { b: value }'],
    ['cron: */5 * * * *', '1:7 YAML_SYNTAX  -> quote it: cron: "*/5 * * * *"'],
    ['x: { cron: */5 * * * * }', '1:12 YAML_SYNTAX  -> quote it: cron: "*/5 * * * *"'],
    ['a: *all', '1:4 UNKNOWN_ALIAS a -> quote it if it is a text: "*all"'],
    ['url: {env.U}/x', '1:6 YAML_SYNTAX  -> quote it: url: "{env.U}/x"'],
    ['a: { if: ${x > 1} }', '1:10 YAML_SYNTAX  -> quote it: if: "${x > 1}"'],
    ['a: ${b == "x: y"}', '1:4 YAML_SYNTAX  -> quote it: a: "${b == \\"x: y\\"}"'],
    ['a: b: c', '1:4 YAML_SYNTAX  -> quote it: a: "b: c"'],
    ['a: @x', '1:4 YAML_SYNTAX  -> quote it: a: "@x"'],
    ["a: 'it's'", '1:8 YAML_SYNTAX  -> quote it: a: "it\'s"'],
    ['a:\n\tb: 1', '2:1 YAML_SYNTAX  -> indent with spaces'],
    ['id: x\nname:\u00a0y', '2:6 YAML_SYNTAX  -> replace it with an ordinary space'],
    ['a:b\nc: d', '1:1 YAML_SYNTAX  -> write a: b'],
    ['a: 1\n---\nb: 2', '2:1 MULTIPLE_DOCUMENTS  -> remove the `---`, or put each flow into a file of its own'],
    ['a: 1\na: 2', '2:1 DUPLICATE_KEY a -> rename or remove one of them'],
    ['b: &b {x: 1}\nc:\n  <<: *b', '3:3 UNKNOWN_KEY c.<< -> write the keys out'],
    ['1: a', '1:1 BAD_KEY  -> quote it: "1"'],
    ['? [a]\n: b', '1:3 BAD_KEY  -> quote it if it is a text'],
    ['a: !!binary aGk=', '1:4 UNKNOWN_TAG  -> remove the tag, or quote the text'],
    ['a: !ref x', '1:4 UNKNOWN_TAG  -> remove the tag, or quote the text'],
    ['a: &a\n  self: *a', '2:9 CYCLIC_ALIAS a.self'],
    ['a: .inf', '1:4 NOT_A_NUMBER a -> quote it if it is a text: ".inf"'],
    ['a: 1e1000', '1:4 NOT_A_NUMBER a -> quote it if it is a text: "1e1000"'],
    ['version: 1.10', '1:10 NUMBER_CHANGED version -> quote it if it is a text: "1.10"'],
    ['a: 0123', '1:4 NUMBER_CHANGED a -> quote it if it is a text: "0123"'],
    ['a: 12345678901234567890', '1:4 NUMBER_CHANGED a -> quote it if it is a text: "12345678901234567890"'],
    ['a: "\u0000"', '1:5 CONTROL_CHARACTER  -> write "\\u0000" in double quotes'],
  ];
  for (const [yaml, expected] of traps) {
    const problems = new Problems(yaml);
    readSource(yaml, problems);
    t.strictSame(lines(problems.sorted()), [expected], yaml);
  }
});

t.test('a value of the wrong type is told with what to write instead', async (t) => {
  const cases: [keys: string, code: string, hint: string | RegExp][] = [
    ['type: userTask, title: 1.10', 'WRONG_TYPE', 'quote it: "1.10"'],
    ['type: userTask, dueIn: 30s', 'WRONG_TYPE', 'write PT30S'],
    ['type: userTask, dueIn: 90', 'WRONG_TYPE', 'write PT90S'],
    ['type: endEvent, terminate: yes', 'WRONG_TYPE', 'write true'],
    ['type: endEvent, terminate: "off"', 'WRONG_TYPE', 'write false'],
    ['type: ifElse, then: done, condition: a > 1', 'BAD_EXPRESSION', 'write "${a > 1}"'],
    ['type: ifElse, then: done, condition: true', 'WRONG_TYPE', 'write "${true}"'],
    ['type: loopNode, items: orders, nodes: { x: { type: task } }', 'WRONG_TYPE', 'write "{orders}"'],
    ['type: serviceTask, service: command, command: ls -l', 'WRONG_TYPE', 'write [ls, -l]'],
    ['type: serviceTask, service: http, request: { url: example.org/x }', 'BAD_URL', 'write https://example.org/x'],
    ['type: serviceTask, request: { url: "http://x" }', 'MISSING_KEY', 'write `service: http`'],
    ['type: serviceTask, service: htpp', 'WRONG_TYPE', 'did you mean http?'],
    ['type: scriptTask, script: "1", retry: 3', 'WRONG_TYPE', 'write { attempts: 3 }'],
    ['type: setVariable, set: { "{a}": 1 }', 'BAD_VARIABLE_NAME', 'write the bare name: a'],
    ['type: task, onError: done', 'UNKNOWN_KEY', 'did you mean `errorFlow`?'],
    ['type: ifElse, cond: "${a}", then: done', 'UNKNOWN_KEY', 'did you mean `condition`?'],
    ['type: ifElse, condition: "${a}", then: done, next: done', 'UNKNOWN_KEY', /`then` and `else`/],
    ['type: subProcess, processId: orders', 'WRONG_TYPE', /the `id` at the top/],
    ['type: task, next: ', 'WRONG_TYPE', 'name a node, or leave the key out'],
  ];
  for (const [keys, code, hint] of cases) {
    t.match(
      errors(nodeOf(keys)).find((problem) => problem.code === code && problem.hint !== undefined)?.hint,
      hint,
      keys,
    );
  }
});

t.test('keys that go together are told apart', async (t) => {
  t.match(errors(nodeOf('type: intermediateCatchEvent')), [
    { code: 'ONE_OF', message: /`message`, `signal` or `timer`/ },
  ]);
  t.match(errors(nodeOf('type: intermediateCatchEvent, timer: PT1S, signal: x')), [{ code: 'ONE_OF' }]);
  t.match(errors(nodeOf('type: outputNode, value: 1, output: {}')), [{ code: 'ONE_OF' }]);
  t.match(errors(nodeOf('type: subProcess')), [{ code: 'ONE_OF', message: /`nodes` or `processId`/ }]);
  t.match(errors(nodeOf('type: loopNode, condition: "${a}", concurrency: 2, nodes: { x: { type: task } }')), [
    { code: 'KEY_NOT_APPLICABLE', path: 'nodes.it.concurrency' },
  ]);
  t.match(errors(nodeOf('type: serviceTask, service: http, request: { url: "http://x" }, command: [ls]')), [
    { code: 'KEY_NOT_APPLICABLE', path: 'nodes.it.command' },
  ]);
  t.match(errors(nodeOf('type: inputNode, inputType: textbox, options: [a]')), [{ path: 'nodes.it.options' }]);
  t.strictSame(
    errors(nodeOf('type: userTask, form: [{ name: agreed, type: checkbox }]')),
    [],
    'one box, ticked or not',
  );
  t.match(errors(nodeOf('type: voiceTask, action: speak, file: x, text: y')), [{ path: 'nodes.it.file' }]);
  t.match(errors(nodeOf('type: callAgent, goal: x, tools: [{ flow: "{f}", http: { url: "http://x" } }]')), [
    { code: 'ONE_OF' },
  ]);
});

t.test('numbers stand for themselves where words are expected of a command or a header', async (t) => {
  const keys = 'type: serviceTask, service: command, command: [sleep, 1.50, true], environment: { PORT: 0080 }';
  t.match(compiled(nodeOf(keys)).body.nodes.get('it')?.keys, {
    command: [{ source: 'sleep' }, { source: '1.50' }, { source: 'true' }],
  });
  const environment = compiled(nodeOf(keys)).body.nodes.get('it')?.keys['environment'] as ReadonlyMap<string, unknown>;
  t.match(environment.get('PORT'), { source: '0080' });
});

t.test('a problem inside of a text points into it', async (t) => {
  t.match(errors(nodeOf(`type: ifElse, then: done, condition: "\${a >> 1}"`)), [{ line: 5, column: 52 }]);
  t.match(
    errors(flowOf('  s: { type: startEvent, next: x }\n  x:\n    type: ifElse\n    condition: ${a >> 1}\n    then: s')),
    [{ line: 7, column: 21 }, {}],
  );
  t.match(warnings(nodeOf('type: userTask, title: "Hello ${name}"')), [
    { code: 'LITERAL_BRACES', line: 5, column: 39, hint: 'write {name} to insert a variable' },
  ]);
  t.match(warnings(nodeOf('type: userTask, title: "Hello {{name}}"')), [{ code: 'LITERAL_BRACES', column: 39 }]);
});

t.test('names from prototypes are ordinary names, or refused', async (t) => {
  const flow = compiled(
    `id: 7c9e6679-7425-40de-944b-e07fc1f90ae7\nname: x\nvariables: { __proto__: { polluted: 1 }, constructor: 5 }
nodes:\n  start: { type: startEvent, next: constructor }
  constructor: { type: setVariable, set: { __proto__.polluted: 1, toString: 2 }, next: hasOwnProperty }
  hasOwnProperty: { type: outputNode, output: { __proto__: 1 } }`,
  );
  t.equal(flow.body.nodes.get('constructor')?.id, 'constructor');
  t.ok(Object.hasOwn(flow.variables, '__proto__'));
  t.equal(({} as { polluted?: unknown }).polluted, undefined);
  t.match(errors(nodeOf('type: task, __proto__: 1')), [{ code: 'UNKNOWN_KEY' }]);
  t.match(errors(nodeOf('type: constructor')), [{ code: 'UNKNOWN_NODE_TYPE' }]);
  t.match(errors(flowOf('  s: { type: startEvent }\n  __proto__: { type: task }')), [{ code: 'BAD_NODE_ID' }]);
});

t.test('whatever is too large or too deep is refused, and nothing throws', async (t) => {
  const bomb = ['a: &a [l, l, l, l, l, l, l, l, l]']
    .concat([...'bcdefghi'].map((name, i) => `${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[i]}`).join(', ')}]`))
    .join('\n');
  const nodes = (n: number) => flowOf(Array.from({ length: n }, (_, i) => `  n${i}: { type: task }`).join('\n'));
  const hostile: [name: string, text: string, code: string][] = [
    ['10 MB', 'a: b\n'.repeat(2_000_000), 'TOO_LARGE'],
    ['100,000 nodes', nodes(100_000), 'TOO_LARGE'],
    ['10,001 nodes', nodes(10_001), 'TOO_MANY_NODES'],
    [
      '1,001 triggers',
      `${flowOf('  s: { type: startEvent }')}\ntriggers: [${'on-demand, '.repeat(1001)}]`,
      'TOO_MANY_TRIGGERS',
    ],
    [
      'a long timezone',
      `${flowOf('  s: { type: startEvent }')}\ntriggers: [{ type: schedule, cron: '0 9 * * *', timezone: ${'A/'.repeat(300_000)} }]`,
      'BAD_TIMEZONE',
    ],
    ['10,000 lists', '['.repeat(10_000), 'TOO_DEEP'],
    ['10,000 lists, closed', '['.repeat(10_000) + ']'.repeat(10_000), 'TOO_DEEP'],
    ['a million lists', '['.repeat(1_000_000), 'TOO_DEEP'],
    ['10,000 maps', '{"a":'.repeat(10_000), 'TOO_DEEP'],
    ['nested dashes', '- '.repeat(100_000), 'TOO_DEEP'],
    ['a bomb of aliases', bomb, 'TOO_LARGE'],
    ['many aliases', `a: &a 1\nb: [${'*a,'.repeat(1000)}]`, 'TOO_MANY_ALIASES'],
    ['commas', `[${','.repeat(1_000_000)}`, 'TOO_LARGE'],
    ['brackets', ']'.repeat(1_000_000), 'YAML_SYNTAX'],
    ['bad escapes', `a: "${'\\d'.repeat(400_000)}"`, 'YAML_SYNTAX'],
    ['an open quote', `a: "${'x\n'.repeat(400_000)}`, 'YAML_SYNTAX'],
    ['an empty file', '', 'EMPTY_FILE'],
    ['only comments', '# a flow\n', 'EMPTY_FILE'],
    ['only a marker', '---\n', 'EMPTY_FILE'],
    ['a text', 'just text', 'WRONG_TYPE'],
    ['a list', '- a', 'WRONG_TYPE'],
    ['null', 'null', 'WRONG_TYPE'],
  ];
  for (const [name, text, code] of hostile) {
    t.ok(codes(text).includes(code), `${name}: ${codes(text).slice(0, 3)}`);
    t.equal(compile(text).flow, undefined);
  }
  const many = compile(nodeOf(`type: task, ${Array.from({ length: 5000 }, (_, i) => `k${i}: 1`).join(', ')}`)).problems;
  t.equal(many.length, 501, 'a flood of problems is cut');
  t.equal(many.at(-1)?.code, 'TOO_MANY_PROBLEMS');
});

t.test('any text is compiled or refused with a problem that has a place in it', async (t) => {
  const piece = fc.constantFrom(
    ...'{}[]:,-?*&!|>%@#"\'\\ \n\t\r$',
    'id',
    'nodes',
    'type',
    'a',
    '1',
    '---',
    ': ',
    '\n  ',
    '{a}',
    '${',
    '\ufeff',
    '\ud800',
  );
  const anything = fc.oneof(
    fc.string(),
    fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join('')),
  );
  fc.assert(
    fc.property(anything, (text) => {
      const { flow, problems } = compile(text);
      const last = text.split(/\r\n|\r|\n/u).length;
      for (const { line, column, message } of problems) {
        if (line < 1 || line > last || column < 1 || message === '') return false;
      }
      return flow !== undefined || problems.some(({ severity }) => severity === 'error');
    }),
    { numRuns: 2000 },
  );
  t.pass();
});

t.test('any JSON value comes through as a variable', async (t) => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 5 }), (variables) => {
      const flow = {
        id: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
        name: 'x',
        variables,
        nodes: { s: { type: 'startEvent' } },
      };
      const text = JSON.stringify(flow);
      const { flow: read } = compile(text);
      return read !== undefined && JSON.stringify(read.variables) === JSON.stringify(JSON.parse(text).variables);
    }),
  );
  t.pass();
});

t.test('conformance data', { skip: existsSync(CONFORMANCE) ? false : `no ${CONFORMANCE}` }, async (t) => {
  const read = (name: string) => JSON.parse(readFileSync(join(CONFORMANCE, name), 'utf8'));

  t.test('the YAML test suite: what is malformed is refused, what is read is right', async (t) => {
    const refusals = ['BAD_KEY', 'UNKNOWN_TAG', 'MULTIPLE_DOCUMENTS', 'EMPTY_FILE', 'MISSING_VALUE', 'UNQUOTED_BRACES'];
    for (const { id, yaml, expect, json, libs } of read('yaml-suite.json').rows) {
      const problems = new Problems(yaml);
      const value = readSource(yaml, problems)?.value;
      const found = problems.sorted().filter(({ severity }) => severity === 'error');
      if (expect === 'error') t.ok(found.length > 0, `${id} is refused`);
      else if (found.length > 0)
        t.ok(libs.yaml === 'error' || found.some(({ code }) => refusals.includes(code)), `${id} ${found[0]?.message}`);
      else if (json !== undefined && !/\n(?![\s}\]])/u.test(json)) t.same(value, JSON.parse(json), id);
    }
  });

  t.test('gotchas end in a verdict', async (t) => {
    for (const { case: name, yaml } of read('yaml-gotchas.json').rows) {
      t.ok(compile(yaml).problems.length > 0, name);
    }
  });

  t.test('naughty strings survive as variables and titles, in JSON and YAML', async (t) => {
    const data = read('naughty-strings.json');
    const strings: string[] = (Array.isArray(data) ? data : (data.strings ?? data.rows)).filter(
      (s: unknown) => typeof s === 'string',
    );
    t.ok(strings.length > 100);
    for (const text of strings) {
      const flow = {
        id: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
        name: 'x',
        variables: { text },
        nodes: { s: { type: 'startEvent', next: 'o' }, o: { type: 'outputNode', value: text } },
      };
      for (const source of [JSON.stringify(flow), stringify(flow)]) {
        const { variables } = compiled(source);
        if (variables['text'] !== text) t.equal(variables['text'], text);
      }
    }
  });
});
