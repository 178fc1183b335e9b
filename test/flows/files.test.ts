import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';
import { compile } from '../../src/engine/parse.ts';

const FLOWS = resolve(import.meta.dirname, '../../flows');
const files = readdirSync(FLOWS).filter((name) => name.endsWith('.yaml'));
const read = (name: string) => readFileSync(join(FLOWS, name), 'utf8');

t.test('every example flow compiles, and nothing is warned of', async (t) => {
  t.ok(files.length >= 20);
  for (const name of files) t.strictSame(compile(read(name)).problems, [], name);
});

t.test('each has an id of its own, and calls only flows that are there', async (t) => {
  const ids = files.map((name) => compile(read(name)).flow?.id);
  t.equal(new Set(ids).size, files.length);
  for (const name of files) {
    for (const [, id] of read(name).matchAll(/processId: (\S+)/g)) t.ok(ids.includes(id), `${name} calls ${id}`);
  }
});

t.test('each begins with what it is for and how to run it, by its own name', async (t) => {
  for (const name of files) {
    const [comment = ''] = read(name).split('\nid: ');
    t.match(comment, `flows/${name}`, name);
    t.ok(comment.split('\n').every((line) => line.startsWith('#')));
  }
});

t.test('start data belongs to a flow', async (t) => {
  for (const name of readdirSync(FLOWS).filter((one) => one.endsWith('.json'))) {
    t.ok(files.includes(name.replace(/\.data\.json$/, '.yaml')), name);
    t.type(JSON.parse(read(name)), 'object');
  }
});
