import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { machine } from './machine.ts';

t.setTimeout(240_000);

const A = '5c0f3f7e-8d4b-4a57-9a0e-2b6f0a6a3c11';
const B = '6d1a4a8f-9e5c-4b68-8b1f-3c7a1b7b4d22';
const C = '7e2b5b90-af6d-4c79-9c20-4d8b2c8c5e33';
const flow = (id: string, name: string, said = 'hello', trigger = '') => `id: ${id}
name: ${name}
${trigger}nodes:
  start: { type: startEvent, next: set }
  set: { type: setVariable, set: { said: "${said}" }, next: done }
  done: { type: endEvent }
`;

t.test('flows are published as they are saved, and watched', async (t) => {
  const { wfx, begin, dir } = machine(t);
  const write = (name: string, text: string) => writeFileSync(join(dir, name), text);
  write('a.yaml', flow(A, 'First'));
  write('data.json', JSON.stringify([{ order: { nodes: 3 } }, ...Array(20_000).fill({ id: 1 })], undefined, 1));
  mkdirSync(join(dir, '.git'));
  write('.git/hidden.yaml', flow(B, 'Hidden'));
  if (process.platform !== 'win32') execFileSync('mkfifo', [join(dir, 'pipe.yaml')]);
  const dev = begin(['dev']);
  await dev.says(/Started the daemon at http:\S+; it ends with this command/);
  await dev.says(/✓ a\.yaml: First is published as version 1\n/);
  await dev.says(/Watching \. \(1 flow\); Ctrl-C stops\./);

  await t.test('a save makes a version of DEVELOPMENT alone', async (t) => {
    write('a.yaml', flow(A, 'First', 'good day'));
    await dev.says(/a\.yaml: First is published as version 2/);
    const versions = (await wfx(['flow', 'show', A, '-o', 'json'])).json();
    t.match(JSON.stringify(versions), /DEVELOPMENT/);
    t.match(await wfx(['run', A, '-e', 'PRODUCTION']), { code: 2, stderr: /not published|no active/i });
  });

  await t.test('problems are shown as a compiler does, and the version before stays', async () => {
    write('a.yaml', flow(A, 'First').replace('next: done', 'next: gone'));
    await dev.says(/a\.yaml:\d+:\d+: error: [\s\S]*✗ a\.yaml is not published: 1 error.*; version 2 stays/);
    write('a.yaml', flow(A, 'First').slice(0, 60));
    await dev.says(/(✗ a\.yaml is not published[\s\S]*){2}/);
    write('a.yaml', '');
    await dev.says(/a\.yaml is empty; nothing was published/);
  });

  await t.test('an editor may write another file and rename it', async () => {
    write('a.yaml~', flow(A, 'First', 'atomic'));
    renameSync(join(dir, 'a.yaml~'), join(dir, 'a.yaml'));
    await dev.says(/a\.yaml: First is published as version 3/);
  });

  await t.test('of two files with one id the second is not published until the first is gone', async () => {
    write('b.yaml', flow(A, 'Second'));
    await dev.says(/b\.yaml has the same id as a\.yaml, so it was not published/);
    rmSync(join(dir, 'a.yaml'));
    await dev.says(/b\.yaml: Second is published as version 4/);
  });

  await t.test('or until the first has another id', async () => {
    write('twin.yaml', flow(A, 'Twin'));
    await dev.says(/twin\.yaml has the same id as b\.yaml, so it was not published/);
    write('b.yaml', flow(C, 'Second'));
    await dev.says(/b\.yaml: Second is published as version 1\n[\s\S]*twin\.yaml: Twin is published as version 5/);
    rmSync(join(dir, 'twin.yaml'));
    await dev.says(/twin\.yaml is gone/);
    write('b.yaml', flow(A, 'Second'));
    await dev.says(new RegExp(`b\\.yaml has another id now; flow ${C} stays published`));
  });

  await t.test('a file may be renamed, and deleted', async (t) => {
    mkdirSync(join(dir, 'sub'));
    renameSync(join(dir, 'b.yaml'), join(dir, 'sub/c.yml'));
    await dev.says(/b\.yaml is sub\/c\.yml now/);
    await dev.says(/sub\/c\.yml: Second is unchanged: version 6/);
    rmSync(join(dir, 'sub/c.yml'));
    await dev.says(/sub\/c\.yml is gone; its flow stays published \(to end it: wfx flow unpublish/);
    t.match(await wfx(['run', A, '-e', 'DEVELOPMENT', '--detach']), { code: 0 });
  });

  await t.test('deliveries and runs are shown', async () => {
    const trigger = 'triggers: [{ type: webhook, registration: repo }]\n';
    write('hook.yaml', flow(B, 'Hook', '{webhookEventType}', trigger));
    await dev.says(/there is no webhook repo yet: wfx webhook create repo --per-environment/);
    await wfx(['webhook', 'create', 'repo', '-p', 'github', '--per-environment']);
    await wfx(['webhook', 'trigger', 'github', 'push', '-e', 'DEVELOPMENT']);
    const [, run = ''] = await dev.says(/STARTED +push +DEVELOPMENT +\S+ +([0-9a-f-]{36})/);
    await dev.says(new RegExp(`Run ${run} of Hook began[\\s\\S]*Run ${run} ended: Completed`));
    await dev.says(/Hook\/set/);
  });

  await t.test('what is saved while the daemon is away is published when it is back', async () => {
    await wfx(['daemon', 'stop']);
    write('late.yaml', flow('8f3c6ca1-b07e-4d8a-8d31-5e9c3d9d6f44', 'Late'));
    await dev.says(/late\.yaml waits for the daemon/);
    await wfx(['daemon', 'start', '--port', '0']);
    await dev.says(/late\.yaml: Late is published as version 1/);
  });

  dev.child.kill('SIGINT');
  t.equal((await dev.result).code, 130);
  t.match((await wfx(['daemon', 'status', '-o', 'json'])).json(), { running: true }, 'which somebody else started');
});

t.test('what it started ends with it, and what ran stays', async (t) => {
  const { wfx, begin, dir } = machine(t);
  writeFileSync(join(dir, 'a.yaml'), flow(A, 'First'));
  const running = async () => (await wfx(['daemon', 'status', '-o', 'json'])).json().running;
  const first = begin(['dev', '-o', 'json']);
  const [line] = await first.says(/^\{.*\}\n/);
  t.match(JSON.parse(line), { published: { file: 'a.yaml', version: '1', activeIn: ['DEVELOPMENT'] } });
  t.equal(await running(), true);
  first.child.kill('SIGTERM');
  t.equal((await first.result).code, 130);
  t.equal(await running(), false);

  await wfx(['daemon', 'start', '--port', '0']);
  const flows = join(dir, 'flows');
  mkdirSync(flows);
  const second = begin(['dev', 'flows']);
  await second.says(/Watching flows \(0 flows\)/);
  rmSync(flows, { recursive: true });
  await second.says(/flows is gone; its flows stay published/);
  mkdirSync(flows);
  writeFileSync(join(flows, 'b.yaml'), flow(B, 'Back'));
  await second.says(/b\.yaml: Back is published as version 1/);
  second.child.kill('SIGINT');
  await second.result;
  t.equal(await running(), true);
  t.match(await wfx(['dev', 'nowhere']), { code: 2, stderr: /There is no folder nowhere/ });
  t.match(await wfx(['dev', '--tunnel', 'frp']), { code: 2, stderr: /no tunnel “frp”/ });
  t.match(await wfx(['dev', '--tunnel', 'smee']), { code: 2, stderr: /no webhook that a tunnel could lead to/ });
});
