import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type Live, live, tempHome } from './live.ts';
import { type Asked, type ModelReply, type Models, models } from './models.ts';

type Script = (asked: Asked, number: number) => ModelReply;
interface Setup {
  readonly wfx: Live;
  readonly model: Models;
}

/** A daemon with the provider `local` (OpenAI-compatible) and `claude` (Anthropic), which answer by `script`. */
async function withModels(t: Test, script: Script, changes: object = {}): Promise<Setup> {
  const model = await models(t, script);
  const home = tempHome(t);
  const local = {
    type: 'openai-compatible',
    baseURL: `${model.url}/v1`,
    apiKey: 'sk-local',
    model: 'small',
    ...changes,
  };
  const claude = { type: 'anthropic', baseURL: `${model.url}/v1`, apiKey: 'sk-claude', model: 'large' };
  writeFileSync(join(home, 'settings.json'), JSON.stringify({ ai: { providers: { local, claude } } }));
  return { wfx: await live(t, [], home), model };
}

const task = (keys: string) => `  start: { type: startEvent, next: it }\n  it: { type: aiTask, ${keys}, result: out }`;
const SCHEMA =
  '{ type: object, properties: { total: { type: number } }, required: [total], additionalProperties: false }';

t.test('an OpenAI-compatible provider answers with text; its tokens are logged', async (t) => {
  const { wfx, model } = await withModels(t, () => ({ text: 'Hello there, Ada.' }));
  const ran = await wfx.run(task('prompt: "Greet {who}.", system: Be kind., temperature: 0.5, maxTokens: 50'), {
    who: 'Ada',
  });
  t.equal(ran.data.out, 'Hello there, Ada.');
  t.match(model.asked, [
    {
      path: '/v1/chat/completions',
      headers: { authorization: 'Bearer sk-local' },
      body: {
        model: 'small',
        stream: true,
        temperature: 0.5,
        max_tokens: 50,
        messages: [
          { role: 'system', content: 'Be kind.' },
          { role: 'user', content: 'Greet Ada.' },
        ],
      },
    },
  ]);
  t.ok(ran.log.includes('local/small answered: 11 tokens in, 7 out'));
});

t.test('an Anthropic provider answers with text', async (t) => {
  const { wfx, model } = await withModels(t, () => ({ text: 'Bonjour.' }));
  const ran = await wfx.run(task('prompt: Greet., provider: claude, model: other'));
  t.equal(ran.data.out, 'Bonjour.');
  t.match(model.asked, [
    { path: '/v1/messages', headers: { 'x-api-key': 'sk-claude' }, body: { model: 'other', stream: true } },
  ]);
  t.ok(ran.log.includes('claude/other answered: 11 tokens in, 7 out'));
});

t.test('with a schema the value is JSON that fits it, also from a fence or among words', async (t) => {
  const answers = ['{"total": 4.5}', 'Sure!\n```json\n{"total": 4.5}\n```', 'The answer is {"total": 4.5}, I think.'];
  const { wfx, model } = await withModels(t, (_, number) => ({ text: answers[number - 1] ?? '' }));
  for (const _ of answers) {
    t.strictSame((await wfx.run(task(`prompt: Add., schema: ${SCHEMA}`))).data.out, { total: 4.5 });
  }
  t.match(model.asked[0]?.body, {
    response_format: { type: 'json_schema', json_schema: { schema: { required: ['total'] } } },
    messages: [{ role: 'system', content: /JSON Schema/ }],
  });
});

t.test('an answer that does not fit is asked for again, with what was wrong; three times at most', async (t) => {
  const { wfx, model } = await withModels(t, (_, number) => ({
    text: ['no idea', '{"total": "many"}', '{"total": 3}'][(number - 1) % 3] ?? '',
  }));
  const ran = await wfx.run(task(`prompt: Add., schema: ${SCHEMA}`));
  t.strictSame(ran.data.out, { total: 3 });
  const last = model.asked[2]?.body.messages;
  t.match(last.slice(-4), [
    { role: 'assistant', content: 'no idea' },
    { role: 'user', content: /not JSON/ },
    { role: 'assistant', content: '{"total": "many"}' },
    { role: 'user', content: /\/total must be number/ },
  ]);
  const never = await withModels(t, () => ({ text: '{"sum": 1}' }), { structuredOutputs: false });
  const failed = await never.wfx.run(task(`prompt: Add., schema: ${SCHEMA}`));
  t.match(failed, {
    stateCd: 2,
    error: { code: 'AI_INVALID_OUTPUT', message: /must have required property 'total'.*'sum'/ },
  });
  t.equal(never.model.asked.length, 3);
  t.not(never.model.asked[0]?.body.response_format?.type, 'json_schema', 'a provider that takes no schemas gets none');
});

t.test('Anthropic: with a schema too', async (t) => {
  const { wfx } = await withModels(t, ({ body }) => {
    const tool = body.tools?.[0]?.name;
    return tool === undefined ? { text: '{"total": 9}' } : { calls: [{ name: tool, args: { total: 9 } }] };
  });
  t.strictSame((await wfx.run(task(`prompt: Add., provider: claude, schema: ${SCHEMA}`))).data.out, { total: 9 });
});

t.test('a schema that is none, or takes for ever, is an error of the node', async (t) => {
  const { wfx, model } = await withModels(t, () => ({ text: JSON.stringify('a'.repeat(60)) + '!'.slice(1) }));
  const invalid = await wfx.run(task('prompt: x, schema: { type: nonsense }'));
  t.match(invalid.error, { code: 'AI_SCHEMA_INVALID', message: /`schema` is no JSON Schema/ });
  t.equal(model.asked.length, 0, 'before anything is asked');
  const slow = await wfx.run(task('prompt: x, schema: { type: string, pattern: "^(a+)+b$" }'));
  t.match(slow.error, { code: 'AI_INVALID_OUTPUT', message: /longer than 1000 ms/ });
});

t.test('what goes wrong has a code and one clear sentence', async (t) => {
  const replies: Record<string, ModelReply> = {
    busy: { status: 429, headers: { 'retry-after': '7' } },
    key: { status: 401, error: 'Incorrect API key provided: sk-local' },
    broken: { status: 500, error: 'the machine is on fire' },
    missing: { status: 404, error: 'model not found' },
    cut: { text: 'half an ', cut: true },
    filter: { text: 'I', finish: 'content_filter' },
  };
  const { wfx, model } = await withModels(t, ({ body }) => replies[body.model] ?? {});
  const error = async (keys: string) =>
    (await wfx.run(task(`prompt: x, retry: { attempts: 2, backoff: PT0S }, ${keys}`))).error;
  t.match(await error('model: busy'), { code: 'AI_RATE_LIMITED', message: /'local'.*takes requests again in 7 s/ });
  t.equal(model.asked.length, 2, "the node's retry policy decides about another attempt");
  t.match(await error('model: key'), {
    code: 'AI_ERROR',
    message: "the AI provider 'local' refused the key (401): Incorrect API key provided: ***",
  });
  t.equal(model.asked.length, 3, 'an answer that stays the same is not asked for again');
  t.match(await error('model: broken'), { code: 'AI_ERROR', message: /answered 500: the machine is on fire/ });
  t.match(await error('model: missing'), { code: 'AI_ERROR', message: /404: model not found/ });
  t.match(await error('model: cut'), { code: 'AI_UNREACHABLE', message: /connection broke|other side closed|socket/i });
  t.match(await error('model: filter'), { code: 'AI_ERROR', message: /declined to answer/ });
  t.match(await error('provider: nobody'), {
    code: 'AI_NOT_CONFIGURED',
    message: /no AI provider 'nobody' .*local, claude.*settings\.json/,
  });
  const nowhere = await withModels(t, () => ({}), { baseURL: 'http://127.0.0.1:1/v1' });
  const gone = (await nowhere.wfx.run(task('prompt: x'))).error;
  t.match(gone, { code: 'AI_UNREACHABLE', message: /can't be reached at http:\/\/127\.0\.0\.1:1: ./ });
  const bare = await live(t);
  t.match((await bare.run(task('prompt: x'))).error, {
    code: 'AI_NOT_CONFIGURED',
    message: /no AI provider is set up/,
  });
});

t.test("a provider's key may come from the environment values of the run", async (t) => {
  const { wfx, model } = await withModels(t, () => ({ text: 'ok' }), { apiKey: undefined, apiKeyEnv: 'MODEL_KEY' });
  t.match((await wfx.run(task('prompt: x'))).error, {
    code: 'AI_NOT_CONFIGURED',
    message: /wfx env set --secret MODEL_KEY/,
  });
  await wfx.client.call('setEnvironment', {
    body: { name: 'MODEL_KEY', value: 'sk-from-env', environment: 'PRODUCTION' },
  });
  t.equal((await wfx.run(task('prompt: x'))).data.out, 'ok');
  t.equal(model.asked[0]?.headers.authorization, 'Bearer sk-from-env');
});

t.test('cancelling the run gives the request up', async (t) => {
  const { wfx, model } = await withModels(t, () => ({ hang: true }));
  const id = await wfx.start(await wfx.publish(task('prompt: x')));
  const { closed } = await model.held;
  await wfx.client.call('cancelInstance', { params: { processInstanceId: id } });
  await closed;
  t.equal((await wfx.ended(id)).stateCd, 3);
});
