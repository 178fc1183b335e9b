import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { live, tempHome } from './live.ts';

const task = (keys: string) =>
  `  start: { type: startEvent, next: it }\n  it: { type: voiceTask, ${keys}, result: out }`;

interface Sent {
  readonly path: string;
  readonly key: string | undefined;
  readonly type: string;
  readonly body: Buffer;
}

/** A daemon with one provider, whose audio endpoints a server of the test answers. */
async function withVoice(t: Test, changes: object = {}) {
  const sent: Sent[] = [];
  const server = createServer(async (request, response) => {
    const { authorization, 'content-type': type = '' } = request.headers;
    const body = await buffer(request);
    sent.push({ path: request.url ?? '', key: authorization, type, body });
    if (request.url === '/v1/audio/speech') {
      const { input } = JSON.parse(body.toString());
      if (input === 'break') {
        response.setHeader('content-length', 100).write('half');
        setImmediate(() => response.destroy());
        return;
      }
      response.setHeader('content-type', 'audio/wav').end(`sound of ${input}`);
      return;
    }
    const busy = body.includes('busy');
    response.statusCode = busy ? 429 : 200;
    response.end(JSON.stringify(busy ? { error: { message: 'later' } } : { text: 'what was said' }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`;
  const home = tempHome(t);
  const voice = { type: 'openai-compatible', baseURL, apiKey: 'sk-voice', ...changes };
  const claude = { type: 'anthropic', baseURL: 'http://127.0.0.1:1', apiKey: 'x' };
  writeFileSync(join(home, 'settings.json'), JSON.stringify({ ai: { providers: { claude, voice } } }));
  return { wfx: await live(t, [], home), sent };
}

t.test('speak gives the reference of a file that can be downloaded, and given to transcribe', async (t) => {
  const { wfx, sent } = await withVoice(t, { speechModel: 'tts-x' });
  const nodes = `
  start: { type: startEvent, next: say }
  say: { type: voiceTask, action: speak, text: "Hello {who}", voice: nova, result: sound, next: hear }
  hear: { type: voiceTask, action: transcribe, file: "{sound}", result: words }`;
  const { data } = await wfx.run(nodes, { who: 'Ada' });
  t.match(data.sound, { id: /^[0-9a-f]{32}$/, name: 'speech.wav', contentType: 'audio/wav', size: 18 });
  t.equal((await wfx.client.download(data.sound.id)).toString(), 'sound of Hello Ada');
  t.equal(data.words, 'what was said');
  const [speech, hearing] = sent;
  t.match(speech, { path: '/v1/audio/speech', key: 'Bearer sk-voice' });
  t.match(JSON.parse(String(speech?.body)), { model: 'tts-x', input: 'Hello Ada', voice: 'nova' });
  t.match(hearing, { path: '/v1/audio/transcriptions', type: /^multipart\/form-data/ });
  t.match(String(hearing?.body), /name="file"; filename="speech.wav"[\s\S]*audio\/wav[\s\S]*sound of Hello Ada/);
  t.match(String(hearing?.body), /name="model"\r\n\r\nwhisper-1/);
});

t.test('what goes wrong has a code and one clear sentence', async (t) => {
  const { wfx } = await withVoice(t);
  const error = async (keys: string, data = {}) => (await wfx.run(task(keys), data)).error;
  t.match(await error('action: speak, text: "{none}"', { none: ' ' }), { code: 'VOICE_INVALID' });
  t.match(await error('action: speak, text: break'), { code: 'AI_UNREACHABLE' });
  t.match(await error('action: speak, text: x, provider: claude'), { code: 'AI_NOT_CONFIGURED' });
  t.match(await error('action: transcribe, file: nothing'), {
    code: 'FILE_NOT_FOUND',
    message: /"nothing" is no uploaded file/,
  });
  const { fileId } = await wfx.client.call('uploadFile', { query: { name: 'a.wav' }, body: Buffer.from('busy') });
  t.match(await error('action: transcribe, file: "{file}"', { file: { id: fileId } }), { code: 'AI_RATE_LIMITED' });
  const bare = await live(t);
  t.match((await bare.run(task('action: transcribe, file: x'))).error, { code: 'AI_NOT_CONFIGURED' });
});

function espeak(): string | false {
  try {
    execFileSync('espeak-ng', ['--version'], { stdio: 'ignore' });
    return false;
  } catch {
    return 'espeak-ng is not on the PATH';
  }
}

t.test('without a provider espeak-ng speaks, as WAV', { skip: espeak() }, async (t) => {
  const wfx = await live(t);
  const ran = await wfx.run(task('action: speak, text: "Hello -f there", voice: en'));
  t.match(ran.data.out, { name: 'speech.wav', contentType: 'audio/wav' });
  const sound = await wfx.client.download(ran.data.out.id);
  t.strictSame([sound.toString('latin1', 0, 4), sound.toString('latin1', 8, 12)], ['RIFF', 'WAVE']);
  t.equal(sound.readUInt32LE(4), sound.length - 8, 'its header tells its true size');
  t.ok(sound.length > 10_000);
  t.match((await wfx.run(task('action: speak, text: x, voice: "../x"'))).error, { code: 'VOICE_INVALID' });
  t.match((await wfx.run(task('action: speak, text: x, voice: nosuchvoice'))).error, {
    code: 'AI_ERROR',
    message: /espeak-ng failed/,
  });
});

t.test('without either, a node that speaks says what to set up', async (t) => {
  const wfx = await live(t);
  const path = process.env['PATH'];
  process.env['PATH'] = '/nonexistent';
  t.teardown(() => {
    process.env['PATH'] = path;
  });
  const { error } = await wfx.run(task('action: speak, text: x'));
  t.match(error, { code: 'AI_NOT_CONFIGURED', message: /install espeak-ng/ });
});
