import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import t, { type Test } from 'tap';
import { live, newFlowId, tempHome } from './live.ts';
import { calculatorOverHttp } from './mcp-server.ts';
import { type Asked, type ModelReply, models } from './models.ts';
import { daemonProcess } from './process.ts';

type Script = (asked: Asked, number: number) => ModelReply;

async function homeWithModel(t: Test, script: Script) {
  const model = await models(t, script);
  const home = tempHome(t);
  const provider = { type: 'openai-compatible', baseURL: `${model.url}/v1`, model: 'small' };
  const claude = { type: 'anthropic', baseURL: `${model.url}/v1`, apiKey: 'k', model: 'large' };
  writeFileSync(join(home, 'settings.json'), JSON.stringify({ ai: { providers: { local: provider, claude } } }));
  return { model, home };
}
async function withModel(t: Test, script: Script, flags: readonly string[] = []) {
  const { model, home } = await homeWithModel(t, script);
  return { model, wfx: await live(t, flags, home) };
}

/** An agent with these tools, one YAML item a line. */
const agent = (tools: readonly string[], keys = '') =>
  [
    '  start: { type: startEvent, next: it }',
    `  it: { type: callAgent, goal: "Help {who}.", result: out${keys}, tools: [`,
    ...tools.map((tool) => `      ${tool},`),
    '    ] }',
  ].join('\n');

/** What a model was last told of its tools: the results of its newest calls. */
const told = ({ body }: Asked): string[] => {
  const { messages } = body as { messages: { role: string; content: string }[] };
  const answer = messages.findLastIndex(({ role }) => role === 'assistant');
  return messages.slice(answer + 1).map(({ content }) => content);
};

async function serve(t: Test, answer: (request: IncomingMessage, response: ServerResponse, body: string) => void) {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    answer(request, response, body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

t.test('an agent calls a flow of its organization, waits for it, and answers', async (t) => {
  const { wfx, model } = await withModel(t, (_, number) =>
    number === 1 ? { calls: [{ name: 'price_of', args: { item: 'tea' } }] } : { text: 'Tea is 3 EUR.' },
  );
  const price = '  start: { type: startEvent, next: it }\n  it: { type: setVariable, set: { price: 3 } }';
  const id = await wfx.publish(price, { name: 'Price of', variables: '{ item: none, amount: 1, tags: [] }' });
  const ran = await wfx.run(agent([`{ flow: ${id}, description: "Looks up a price." }`]), { who: 'Ada' });
  t.equal(ran.data.out, 'Tea is 3 EUR.');
  const [first, second] = model.asked;
  t.match(first?.body.messages, [{ role: 'system' }, { role: 'user', content: 'Help Ada.' }]);
  t.match(first?.body.tools, [
    {
      type: 'function',
      function: {
        name: 'price_of',
        description: 'Looks up a price.',
        parameters: {
          type: 'object',
          properties: { item: { type: 'string' }, amount: { type: 'number' }, tags: { type: 'array' } },
        },
      },
    },
  ]);
  t.strictSame(JSON.parse(told(second as Asked)[0] ?? ''), { item: 'tea', amount: 1, tags: [], price: 3 });
  const steps = ran.log.filter((line) => line.startsWith('step'));
  t.match(steps, [
    'step 1: calls price_of({"item":"tea"})',
    /^step 1: price_of gave \{/,
    'step 2: answers: Tea is 3 EUR.',
  ]);
  const { items } = await wfx.client.call('listInstances', { query: {} });
  t.match(items.find(({ processId }) => processId === id)?.trigger, {
    type: 'callAgent',
    processInstanceId: ran.id,
    nodeId: 'it',
  });
});

t.test(
  "an HTTP tool's request has the agent's arguments as variables; secrets go out, and do not come back",
  async (t) => {
    const seen: { url?: string; key?: string; token?: string; body: string }[] = [];
    const url = await serve(t, ({ url, headers }, response, body) => {
      seen.push({ url: url ?? '', key: String(headers['idempotency-key']), token: String(headers['x-token']), body });
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ echo: headers['x-token'] }));
    });
    const { wfx, model } = await withModel(t, (_, number) => {
      if (number === 1) return { calls: [{ name: 'book', args: { seats: 'two' } }] };
      if (number === 2) return { calls: [{ name: 'book', args: { seats: 2, note: '{env.TOKEN} {who}' } }] };
      return { text: 'Booked.' };
    });
    await wfx.client.call('setEnvironment', { body: { name: 'TOKEN', value: 'very-secret-token', secret: true } });
    const tool = `{ name: book, http: { method: POST, url: "${url}/book", headers: { X-Token: "{env.TOKEN}" }, body: { seats: "{seats}", note: "{note}", by: "{who}" } },
        parameters: { type: object, properties: { seats: { type: integer } }, required: [seats] } }`;
    const ran = await wfx.run(agent([tool], ', system: "Be quick. {env.TOKEN}"'), { who: 'Ada' });
    t.equal(ran.data.out, 'Booked.');
    t.match(
      told(model.asked[1] as Asked),
      [/ARGUMENTS_INVALID: \/seats must be integer/],
      'arguments are checked first',
    );
    t.match(seen, [{ url: '/book', token: 'very-secret-token', key: `${ran.id}:it:2:2.0` }]);
    t.strictSame(
      JSON.parse(seen[0]?.body ?? ''),
      { seats: 2, note: '{env.TOKEN} {who}', by: 'Ada' },
      'arguments are never resolved',
    );
    t.notMatch(JSON.stringify(model.asked.map(({ body }) => body)), /very-secret/);
    t.match(told(model.asked[2] as Asked)[0], /"echo":"\*\*\*"/);
  },
);

t.test('the tools of MCP servers, over HTTP and stdio', async (t) => {
  const url = await calculatorOverHttp(t);
  const stdio = resolve(import.meta.dirname, 'mcp-stdio.ts');
  const { wfx, model } = await withModel(
    t,
    (_, number) =>
      number === 1
        ? {
            calls: [
              { name: 'web_add', args: { a: 1, b: 2 } },
              { name: 'add', args: { a: 3, b: 4 } },
              { name: 'fail', args: {} },
            ],
          }
        : { text: 'Done.' },
    ['--allow-commands'],
  );
  const ran = await wfx.run(
    agent([
      `{ mcp: { url: "${url.replace('/mcp', '/moved')}" }, name: web }`,
      `{ mcp: { command: ["${process.execPath}", --import=tsx, "${stdio}"] } }`,
    ]),
    { who: 'Ada' },
  );
  t.match(ran, { stateCd: 1, data: { out: 'Done.' } });
  const names = model.asked[0]?.body.tools.map(({ function: { name } }: { function: { name: string } }) => name);
  t.strictSame(names, ['web_add', 'web_fail', 'add', 'fail']);
  t.strictSame(told(model.asked[1] as Asked), ['3 by http', '7 by stdio', 'MCP_TOOL_FAILED: no luck']);
});

t.test('MCP servers that can not be used are errors of the node', async (t) => {
  const { wfx } = await withModel(t, () => ({ text: 'x' }));
  const error = async (mcp: string) => (await wfx.run(agent([`{ mcp: ${mcp} }`]), { who: 'x' })).error;
  t.match(await error('{ url: "http://127.0.0.1:1/mcp" }'), { code: 'MCP_UNREACHABLE' });
  t.match(await error('{ url: "http://169.254.169.254/mcp" }'), { code: 'HTTP_ADDRESS_REFUSED' });
  const away = (await calculatorOverHttp(t)).replace('/mcp', '/away');
  t.match(await error(`{ url: "${away}" }`), { code: 'HTTP_ADDRESS_REFUSED' });
  t.match(await error('{ command: [some-server] }'), { code: 'COMMANDS_DISABLED', message: /--allow-commands/ });
});

t.test('what a tool fails with is told to the agent, which goes on; so are tools that there are not', async (t) => {
  const { wfx, model } = await withModel(t, (_, number) => {
    if (number === 1)
      return {
        calls: [
          { name: 'broken', args: {} },
          { name: 'nonsense', args: {} },
        ],
      };
    return { text: 'Then not.', finish: 'length' };
  });
  const failing =
    "  start: { type: startEvent, next: it }\n  it: { type: scriptTask, script: \"throw { code: 'NO_TEA', message: 'none left' }\" }";
  const id = await wfx.publish(failing);
  const ran = await wfx.run(agent([`{ flow: ${id}, name: broken }`]), { who: 'Ada' });
  t.equal(ran.data.out, 'Then not.');
  const results = told(model.asked[1] as Asked);
  t.ok(results.some((result) => /^NO_TEA: /.test(result)));
  t.ok(results.some((result) => /nonsense/.test(result)));
  t.ok(ran.log.some((line) => /step 1: broken failed: NO_TEA/.test(line)));
  t.ok(
    ran.log.some((line) => /step 2: the provider cut this/.test(line)),
    'an answer that is not whole is told of',
  );
});

t.test('an agent that does not come to an end has an error; an Anthropic model works as well', async (t) => {
  const { wfx, model } = await withModel(t, ({ path, body }, number) => {
    if (path.endsWith('/messages')) {
      const last = body.messages.at(-1).content;
      return Array.isArray(last) && last[0].type === 'tool_result'
        ? { text: `It said ${last[0].content}` }
        : { calls: [{ name: 'once', args: {} }] };
    }
    return { calls: [{ name: 'once', args: { number } }] };
  });
  const id = await wfx.publish('  start: { type: startEvent }');
  const tools = [`{ flow: ${id}, name: once }`];
  const endless = await wfx.run(agent(tools, ', maxSteps: 3, retry: { attempts: 5, backoff: PT0S }'), { who: 'x' });
  t.match(endless, { stateCd: 2, error: { code: 'AGENT_STEP_LIMIT', message: /in 3 steps/ } });
  t.equal(model.asked.length, 3);
  const claude = await wfx.run(agent(tools, ', provider: claude'), { who: 'x' });
  t.match(claude.data.out, /^It said/);
  t.match((await wfx.run(agent([...tools, ...tools]), { who: 'x' })).error, { code: 'AGENT_TOOL_INVALID' });
  const unknown = await wfx.run(agent([`{ flow: ${newFlowId()} }`]), { who: 'x' });
  t.match(unknown.error, { code: 'NOT_PUBLISHED' });
});

t.test('an attempt after a failure goes on after the last finished step', async (t) => {
  const { wfx, model } = await withModel(t, (_, number) => {
    if (number === 1) return { calls: [{ name: 'once', args: {} }] };
    return number === 2 ? { status: 500 } : { text: 'Done.' };
  });
  const id = await wfx.publish('  start: { type: startEvent }');
  const ran = await wfx.run(agent([`{ flow: ${id}, name: once }`], ', retry: { attempts: 2, backoff: PT0S }'), {
    who: 'x',
  });
  t.match([ran.data.out, model.asked.length], ['Done.', 3]);
  t.strictSame(model.asked[2]?.body.messages, model.asked[1]?.body.messages);
});

t.test('cancelling the run cancels the flow that its agent waits for', async (t) => {
  let arrive: (request: IncomingMessage) => void = () => undefined;
  const arrived = new Promise<IncomingMessage>((resolve) => {
    arrive = resolve;
  });
  const url = await serve(t, (request) => arrive(request));
  const { wfx } = await withModel(t, () => ({ calls: [{ name: 'wait', args: {} }] }));
  const id = await wfx.publish(
    `  start: { type: startEvent, next: it }\n  it: { type: serviceTask, service: http, request: { url: "${url}" } }`,
  );
  const run = await wfx.start(await wfx.publish(agent([`{ flow: ${id}, name: wait }`])), { who: 'x' });
  const [called = ''] = String((await arrived).headers['idempotency-key']).split(':');
  await wfx.client.call('cancelInstance', { params: { processInstanceId: run } });
  t.equal((await wfx.ended(called)).stateCd, 3);
});

t.test('after kill -9 an agent goes on from the last finished step', async (t) => {
  const calls: string[] = [];
  let hang: ((arrived: IncomingMessage) => void) | undefined;
  const url = await serve(t, (request, response) => {
    calls.push(`${request.url} ${request.headers['idempotency-key']}`);
    if (request.url === '/slow' && hang !== undefined) hang(request);
    else response.end('fine');
  });
  const killed = { first: true };
  const { home, model } = await homeWithModel(t, (asked) => {
    const results = asked.body.messages.filter(({ role }: { role: string }) => role === 'tool').length;
    if (results === 0) return { calls: [{ name: 'quick', args: {} }] };
    if (results === 1) return killed.first ? { hang: true } : { calls: [{ name: 'slow', args: {} }] };
    return { text: 'All done.' };
  });
  const tools = ['quick', 'slow'].map((name) => `{ name: ${name}, http: { url: "${url}/${name}" } }`);
  const before = await daemonProcess(t, home);
  const id = await before.start(await before.publish(agent(tools)), { who: 'Ada' });
  await model.held;
  await before.kill();
  killed.first = false;

  const arrived = new Promise<IncomingMessage>((resolve) => {
    hang = resolve;
  });
  const between = await daemonProcess(t, home);
  await arrived;
  hang = undefined;
  await between.kill();

  const after = await daemonProcess(t, home);
  const ran = await after.ended(id);
  t.match(ran, { stateCd: 1, data: { out: 'All done.' } });
  const key = `${id}:it:2`;
  t.strictSame(
    calls,
    [`/quick ${key}:1.0`, `/slow ${key}:2.0`, `/slow ${key}:2.0`],
    'a finished call is not made again',
  );
  t.equal(model.asked.length, 4, 'only what had no answer was asked again');
  const steps = ran.log.filter((line) => line.startsWith('step'));
  t.match(steps, [
    'step 1: calls quick({})',
    /^step 1: quick gave/,
    'step 2: calls slow({})',
    /^step 2: slow gave/,
    'step 3: answers: All done.',
  ]);
  t.equal(steps.length, 5, 'each step is in the log once');
});
