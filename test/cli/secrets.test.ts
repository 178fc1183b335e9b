import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { machine, serve } from './machine.ts';

t.setTimeout(120_000);

const SECRET = 'sesame/open+4711 ü';
const FORMS = [
  SECRET,
  JSON.stringify(SECRET).slice(1, -1),
  encodeURIComponent(SECRET),
  Buffer.from(SECRET).toString('base64'),
  Buffer.from(SECRET).toString('base64url'),
  Buffer.from(SECRET).toString('hex'),
];

const flow = (url: string): string => `
id: 5e5e5e5e-2222-4333-8444-555555555555
name: Echo everything
nodes:
  start: { type: startEvent, next: call }
  call:
    type: serviceTask
    service: http
    request:
      method: POST
      url: "${url}/echo"
      headers: { authorization: "Bearer {env.TOKEN}" }
      body: { token: "{env.TOKEN}" }
    result: called
    next: fails
  fails:
    type: serviceTask
    service: http
    request: { url: "${url}/fail" , headers: { authorization: "Bearer {env.TOKEN}" } }
    next: echo
    errorFlow: echo
  echo:
    type: serviceTask
    service: command
    command: [sh, -c, 'echo "out $1"; echo "err $1" >&2', sh, "{env.TOKEN}"]
    result: echoed
    next: breaks
  breaks:
    type: serviceTask
    service: command
    command: [sh, -c, 'echo "broken $1" >&2; exit 3', sh, "{env.TOKEN}"]
    next: keep
    errorFlow: keep
  keep: { type: setVariable, set: { kept: "{env.TOKEN}" }, next: tell }
  tell: { type: outputNode, output: { told: "{env.TOKEN}" }, next: unreachable }
  unreachable: { type: serviceTask, service: http, request: { url: "http://127.0.0.1:1/{env.TOKEN}" }, next: end }
  end: { type: endEvent }
`;

t.test('a secret value is used, and shows nowhere', async (t) => {
  const own = machine(t);
  const seen: string[] = [];
  const url = await serve(t, (request, answer) => {
    const parts: Buffer[] = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      seen.push(String(request.headers.authorization), String(request.url), Buffer.concat(parts).toString());
      answer.writeHead(request.url?.startsWith('/fail') ? 500 : 200, { 'x-echo': encodeURIComponent(SECRET) });
      answer.end(JSON.stringify({ headers: request.headers, url: request.url, secret: SECRET }));
    });
  });
  await own.wfx(['daemon', 'start', '--port', '0', '--allow-commands']);
  const set = await own.wfx(['env', 'set', '--secret', `TOKEN=${SECRET}`]);
  t.equal(set.code, 0, set.stderr);
  const file = join(own.dir, 'echo.yaml');
  writeFileSync(file, flow(url));
  const run = await own.wfx(['run', file, '-o', 'json']);
  t.equal(run.code, 1, run.stderr);
  t.ok(
    seen.some((text) => text === `Bearer ${SECRET}`),
    'the server got it',
  );
  t.match(seen.join('\n'), `{"token":${JSON.stringify(SECRET)}}`);
  const id = run.json().processInstanceId;

  const answers = [set, run];
  for (const args of [
    ['instance', 'show', id],
    ['instance', 'show', id, '-o', 'json'],
    ['instance', 'logs', id],
    ['env', 'list'],
    ['env', 'list', '-o', 'json'],
    ['audit', '-o', 'json'],
    ['daemon', 'logs'],
    ['why', id],
  ])
    answers.push(await own.wfx(args));
  await own.wfx(['daemon', 'stop']);
  for (const form of FORMS) {
    for (const { stdout, stderr } of answers)
      t.notOk((stdout + stderr).includes(form), `not in what commands say (${form})`);
    for (const path of filesIn(own.home))
      t.notOk(readFileSync(path).includes(form), `not in ${path.slice(own.home.length)} (${form})`);
  }
  t.match(run.json().data.kept, '***', 'it reads so where it would be kept');
});

const filesIn = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
