import { EventEmitter } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { render } from 'ink-testing-library';
import t, { type Test } from 'tap';
import type { Client } from '../../src/client/index.ts';
import type { Form } from '../../src/engine/form.ts';
import { widthOf } from '../../src/terminal/width.ts';
import { App } from '../../src/tui/app.ts';
import { controlsOf } from '../../src/tui/form/fields.ts';
import { FormPanel, type Values } from '../../src/tui/form/form-panel.tsx';
import { listenToKeys } from '../../src/tui/keyboard.ts';
import type { Key } from '../../src/tui/keys.ts';
import { betweenEnds, cell, lineOf, wrapped } from '../../src/tui/line.ts';
import { parseMetrics, Samples } from '../../src/tui/metrics.ts';
import { sparkline } from '../../src/tui/parts/sparkline.ts';
import { type Column, tableLines } from '../../src/tui/parts/table.tsx';
import { changedPaths, treeRows } from '../../src/tui/parts/tree.ts';
import { Rows } from '../../src/tui/rows.ts';
import { parseRunFilter } from '../../src/tui/run-filter.ts';
import { Settings } from '../../src/tui/settings.ts';
import { Shell } from '../../src/tui/shell.tsx';
import { TextField } from '../../src/tui/text-field.ts';
import { painter, themeFor } from '../../src/tui/theme.ts';
import { ago, brief } from '../../src/tui/times.ts';
import { Window } from '../../src/tui/window.ts';
import { tempFolder } from '../folder.ts';

const none = painter('mono');
const plainPaint = (_: unknown, text: string): string => text;

/** Takes what a terminal sends, and gives the keys in it to `take`. */
function keyboard(t: Test, take: (key: Key) => void): (text: string) => void {
  const stdin = new EventEmitter() as NodeJS.ReadStream;
  t.teardown(listenToKeys(Object.assign(stdin, { resume: () => stdin, pause: () => stdin }), take));
  return (text) => void stdin.emit('data', Buffer.from(text));
}

t.test('what the terminal sends is taken apart into keys, and what is pasted stays together', async (t) => {
  let keys: Key[] = [];
  const send = keyboard(t, (key) => keys.push(key));
  const names = (text: string) => {
    keys = [];
    send(text);
    return keys.map(({ name }) => name);
  };
  t.strictSame(names('jjK 1?é'), ['j', 'j', 'K', ' ', '1', '?', 'é']);
  t.strictSame(names('a\rb\n'), ['a', 'enter', 'b', 'enter']);
  t.strictSame(names('\u0013\u0003\t\u001b[Z'), ['ctrl+s', 'ctrl+c', 'tab', 'shift+tab']);
  t.strictSame(names('\u007f\u001b[3~\u001b\u007f'), ['backspace', 'delete', 'ctrl+w']);
  t.strictSame(names('\u001b[A\u001bOB\u001b[6~\u001b[H'), ['up', 'down', 'pagedown', 'home']);
  t.strictSame(names('\u001b:'), ['escape', ':'], 'an escape that a terminal held back');
  t.strictSame(
    names('\u001b[15~\u001b[I\u001b[1;5C').filter((name) => name.length === 1),
    [],
    'no text in other keys',
  );
  names('\u001b[200~one\r\ntwo\tc y\u001b[201~');
  t.strictSame(keys, [{ name: 'paste', text: 'one\r\ntwo\tc y' }]);
});

t.test('pasted text fits the field, and parts of one character become one', async (t) => {
  const paste = (text: string, options = {}) => {
    const field = new TextField('', options);
    field.type({ name: 'paste', text });
    return field;
  };
  t.equal(paste('one\r\ntwo\tthree\u001b\n').text, 'one two three');
  t.equal(paste('one\r\ntwo\u0007\n', { lines: true }).text, 'one\ntwo\n');
  const field = new TextField('x');
  for (const part of '👩‍👩‍👧‍👦e\u0301') field.type({ name: part, text: part });
  field.type({ name: 'backspace', text: '' });
  t.equal(field.text, 'x👩‍👩‍👧‍👦');
  field.type({ name: 'left', text: '' });
  field.type({ name: 'delete', text: '' });
  t.equal(field.text, 'x');
  for (const width of [3, 4, 9]) {
    const wide = paste('日本語テキスト'.repeat(3));
    for (let i = 0; i < 21; i += 1) {
      wide.type({ name: 'left', text: '' });
      t.equal(widthOf(wide.view(plainPaint, width, 1, true)[0] ?? ''), width);
    }
  }
});

t.test('text is edited by what people see as characters', async (t) => {
  const type = (field: TextField, ...names: string[]) => {
    for (const name of names) field.type({ name, text: name.length <= 2 && !/^[a-z]{2}/.test(name) ? name : '' });
  };
  const field = new TextField('日本👨‍👩‍👧');
  type(field, 'backspace', 'left', 'x', 'home', 'y', 'end', 'z');
  t.equal(field.text, 'y日x本z');
  type(field, 'ctrl+a', 'backspace', 'ctrl+k');
  t.equal(field.text, '');
  const lines = new TextField('ab\ncdef', { lines: true });
  type(lines, 'up', '!', 'down', '?');
  t.equal(lines.text, 'ab!\ncde?f');
  for (const width of [4, 7, 20])
    t.equal(widthOf(new TextField('日本語テキスト').view(plainPaint, width, 1, true)[0] ?? ''), width);
});

t.test('every line is exactly as wide as it may be, whatever it holds', async (t) => {
  const texts = ['', 'short', '日本語の長い名前です', '👍'.repeat(30), 'a'.repeat(200)];
  for (const width of [10, 33, 80])
    for (const text of texts) {
      t.equal(widthOf(lineOf(plainPaint, [{ text }], width)), width);
      t.equal(widthOf(cell(text, width, 'right')), width);
      t.equal(widthOf(betweenEnds(plainPaint, [{ text }], [{ text: '● live' }], width)), width);
      for (const line of wrapped(text, width)) t.ok(widthOf(line) <= width);
    }
});

t.test('a table of many rows draws those in sight', async (t) => {
  const rows = Array.from({ length: 100_000 }, (_, i) => i);
  let drawn = 0;
  const counted = (row: number): string => {
    drawn += 1;
    return String(row);
  };
  const columns: readonly Column<number>[] = [
    { title: 'N', width: 8, text: counted },
    { title: 'NAME', width: 0, text: () => '名前' },
    { title: 'FAR', width: 9, from: 100, text: () => 'x' },
  ];
  const window = new Window();
  window.at = 70_000;
  const lines = tableLines({ columns, rows, window, width: 40, height: 12, paint: plainPaint, empty: 'none' });
  t.equal(lines.length, 12);
  t.equal(drawn, 11);
  t.match(lines.at(-1), /^ 70000 /);
  t.notMatch(lines[0], /FAR/);
  for (const line of lines) t.equal(widthOf(line), 40);
});

t.test('rows come page by page, new ones before the others, and a filter chooses among them', async (t) => {
  let all = Array.from({ length: 95 }, (_, i) => ({ id: 95 - i, on: i % 2 === 0 }));
  const asked: (string | undefined)[] = [];
  const rows = new Rows<{ id: number; on: boolean }>({
    page: async (cursor) => {
      asked.push(cursor);
      const rest = cursor === undefined ? all : all.filter(({ id }) => id < Number(cursor));
      const items = rest.slice(0, 10).map((row) => ({ ...row }));
      return { items, nextCursor: rest.length > 10 ? String(items.at(-1)?.id) : null };
    },
    idOf: ({ id }) => String(id),
    changed: () => undefined,
    failed: (error) => t.fail(String(error)),
  });
  await rows.need(15);
  t.strictSame(asked, [undefined, '86'], 'no more pages than are needed');
  rows.keep(({ on }) => on);
  t.equal(rows.shown.length, 10);
  await rows.need(12);
  t.equal(rows.shown.length, 15);
  all = [{ id: 97, on: true }, { id: 96, on: false }, ...all];
  t.equal(await rows.head(), true);
  t.strictSame(
    rows.shown.slice(0, 2).map(({ id }) => id),
    [97, 95],
  );
  rows.put({ id: 96, on: true });
  t.strictSame(
    rows.shown.slice(0, 3).map(({ id }) => id),
    [97, 96, 95],
  );
  rows.put({ id: 97, on: false });
  t.equal(rows.shown[0]?.id, 96);
  await rows.needAll();
  t.equal(rows.complete, true);
  t.equal(rows.fetched, 97);
});

t.test('saving a view keeps what a user wrote into the file', async (t) => {
  const home = tempFolder(t);
  const file = join(home, 'tui.json');
  const settings = new Settings(home, {});
  writeFileSync(file, '{ "views": [{ "name": "mine", "filter": "age:1h" }], ');
  t.throws(() => settings.save({ name: 'new', filter: 'state:failed' }), /can't be read/);
  writeFileSync(file, '{ "theme": "light", "views": [{ "name": "mine", "filter": "age:1h" }] }');
  settings.save({ name: 'new', filter: 'state:failed' });
  const { theme, views } = JSON.parse(readFileSync(file, 'utf8'));
  t.strictSame([theme, ...views.map(({ name }: { name: string }) => name)], ['light', 'mine', 'new']);
});

t.test('filters of runs say what they can’t read', async (t) => {
  t.strictSame(parseRunFilter('state:fail env:dev age:2h flow:Order Ada'), {
    state: 2,
    environment: 'DEVELOPMENT',
    ageMs: 7_200_000,
    flow: 'order',
    words: ['ada'],
  });
  for (const odd of ['state:', 'state:x', 'env:x', 'age:2', 'age:x', 'key:', 'flow:'])
    t.type(parseRunFilter(odd), 'string', odd);
  t.strictSame(parseRunFilter('http://x'), { words: ['http://x'] }, 'a colon alone makes no part');
});

t.test('a tree shows branches that are open, and what changed with all that holds it', async (t) => {
  const before = { a: { b: [1, 2], c: 1 }, d: 1 };
  const after = { a: { b: [1, 3], c: 1 }, d: 1, e: 2 };
  t.strictSame([...changedPaths(before, after)].sort(), ['', '/a', '/a/b', '/a/b/1', '/e']);
  t.strictSame(
    treeRows(after, new Set(['/a'])).map(({ path }) => path),
    ['/a', '/a/b', '/a/c', '/d', '/e'],
  );
  const many = treeRows({ list: Array.from({ length: 5000 }, (_, i) => i) }, new Set(['/list']));
  t.match(many.at(-1)?.name, /4000 more/);
});

t.test('numbers of the daemon are added up, and counters become rates', async (t) => {
  const sample = (count: number) => parseMetrics(`# HELP x\nx{a="1"} ${count}\nx{a="2"} 1\ny 2\n`);
  const samples = new Samples();
  for (const [at, count] of [
    [0, 0],
    [1000, 10],
    [3000, 30],
    [4000, 0],
  ] as const)
    samples.add(at, sample(count));
  t.strictSame(samples.rates('x'), [10, 10, 0]);
  t.equal(samples.last?.get('y'), 2);
  t.equal(sparkline([0, 1, 2, 4], 6), '  ▁▃▅█');
  t.equal(sparkline([0, 0], 2), '▁▁');
});

t.test('times are short, themes fit the terminal', async (t) => {
  const shown: [number, string][] = [
    [0, '0ms'],
    [999, '999ms'],
    [4290, '4.2s'],
    [59_999, '59s'],
    [61_000, '1m01s'],
    [11_220_000, '3h07m'],
    [187_200_000, '2d04h'],
    [9e9, '104d'],
  ];
  for (const [ms, text] of shown) t.equal(brief(ms), text);
  t.equal(ago(0, 3200), '3s');
  t.equal(ago(0, 10), '0s');
  t.equal(themeFor({ NO_COLOR: '1', COLORFGBG: '0;15' }), 'mono');
  t.equal(themeFor({ COLORFGBG: '0;15' }), 'light');
  t.equal(themeFor({ COLORFGBG: '15;0' }), 'dark');
  t.notMatch(none('bad', 'x'), /3\dm/, 'mono has no colour');
});

const FORM: Form = {
  title: 'How much?',
  inputType: 'form',
  required: true,
  fields: [
    { name: 'amount', label: 'Amount', type: 'number', default: 5 },
    {
      name: 'kind',
      label: 'Kind',
      type: 'select',
      options: [
        { value: 1, label: 'one' },
        { value: 2, label: 'two ways' },
      ],
    },
    {
      name: 'tags',
      label: 'Tags',
      type: 'checkbox',
      options: [
        { value: 'a', label: 'a' },
        { value: 'b', label: 'b' },
      ],
      default: ['b'],
    },
    { name: 'day', label: 'Day', type: 'date', default: '2028-02-28' },
  ],
};

t.test('a form is drawn, answered and submitted as its fields want it', async (t) => {
  const client = {
    call: async () => ({ items: [], nextCursor: null }),
    events: async function* () {
      await new Promise(() => undefined);
    },
  } as unknown as Client;
  const settings = new Settings(tempFolder(t), { NO_COLOR: '1' });
  const app = new App({ client, settings, readOnly: false, place: '', exit: () => undefined });
  app.start('runs');
  t.teardown(() => app.stop());
  let values: Values | undefined;
  const submit = async (given: Values) => {
    values = given;
    return 'Done.';
  };
  app.show(new FormPanel(app, { title: FORM.title, controls: controlsOf(FORM, client), does: 'complete', submit }));
  const send = keyboard(t, (key) => app.key(key));
  const { lastFrame, unmount } = render(<Shell app={app} size={{ width: 80, height: 30 }} />);
  t.teardown(unmount);
  const shown = () => (lastFrame() ?? '').replace(/\u001b\[[\d;]*m/g, '');
  const drawn = () => new Promise((wake) => setImmediate(wake));
  await drawn();
  t.match(shown(), /How much\?[\s\S]*Amount \* {2}a number/);
  send('2\t');
  send('two w\t');
  send(' \t');
  send('\u001b[C');
  await drawn();
  t.match(shown(), /\(•\) two[\s\S]*\[x\] a[\s\S]*February 2028/);
  send('\u0013');
  while (!/Done\./.test(shown())) {
    await new Promise<void>((wake) => app.watch(wake));
    await drawn();
  }
  t.strictSame({ ...values }, { amount: 52, kind: 2, tags: ['a', 'b'], day: '2028-02-29' });
});
