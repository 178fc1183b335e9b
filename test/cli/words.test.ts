import { PassThrough } from 'node:stream';
import type { ReadStream, WriteStream } from 'node:tty';
import t from 'tap';
import { durationMs, isoDuration } from '../../src/cli/duration.ts';
import { failureOf } from '../../src/cli/failure.ts';
import { Io } from '../../src/cli/io.ts';
import { logLine } from '../../src/cli/log-lines.ts';
import { counted, showProblems } from '../../src/cli/problems.ts';
import { Progress } from '../../src/cli/run/progress.ts';
import { environmentOf, settingsOf, urlOf } from '../../src/cli/settings.ts';
import { printTable } from '../../src/cli/table.ts';
import { withData } from '../../src/cli/values.ts';
import { ApiError, UnreachableError } from '../../src/client/index.ts';
import type { Problem } from '../../src/contract/types.ts';
import { shownDuration } from '../../src/terminal/duration.ts';
import { typedValue } from '../../src/terminal/typed.ts';
import { fitted, padded, widthOf } from '../../src/terminal/width.ts';
import { tempFolder } from '../folder.ts';

/** How a wrong command line ends. */
const USAGE = { name: 'CliError', exit: 2 };

/** An Io on streams of memory, as if they were a terminal or not. */
function fakeIo({ terminal = false, env = {} as Record<string, string>, columns = 80 } = {}) {
  const stream = () => Object.assign(new PassThrough(), { isTTY: terminal, columns });
  const [stdin, stdout, stderr] = [stream(), stream(), stream()];
  const io = new Io(
    {
      stdin: stdin as unknown as ReadStream,
      stdout: stdout as unknown as WriteStream,
      stderr: stderr as unknown as WriteStream,
    },
    env,
  );
  return { io, out: () => String(stdout.read() ?? ''), err: () => String(stderr.read() ?? '') };
}

t.test(
  '--data takes JSON where it is a number, true, false, null, a list or an object, and text otherwise',
  async (t) => {
    const rows: [string, unknown][] = [
      ['240', 240],
      ['-1.5e3', -1500],
      ['true', true],
      ['null', null],
      ['[1,"a"]', [1, 'a']],
      ['{"a":{"b":1}}', { a: { b: 1 } }],
      ['', ''],
      ['hello world', 'hello world'],
      ['"quoted"', '"quoted"'],
      ['True', 'True'],
      ['truely', 'truely'],
      ['01234', '01234'],
      ['+49 30', '+49 30'],
      ['1.2.3', '1.2.3'],
      ['[not json', '[not json'],
      ['12345678901234567890', '12345678901234567890'],
      ['1e999', '1e999'],
      ['NaN', 'NaN'],
    ];
    for (const [text, value] of rows) t.strictSame(typedValue(text), value, text);
  },
);

t.test('--data lays values over each other, and dots reach inside', async (t) => {
  const data = withData({ order: { id: 'A' }, items: [1, 2] }, [
    'order.total=240',
    'a.b.c=x=y',
    'items.1=9',
    'order.id=B',
  ]);
  t.strictSame(JSON.parse(JSON.stringify(data)), {
    order: { id: 'B', total: 240 },
    items: [1, 9],
    a: { b: { c: 'x=y' } },
  });
  const odd = withData({}, ['__proto__.polluted=1', 'constructor.prototype.polluted=1']);
  t.notOk('polluted' in {}, 'no name reaches a prototype');
  t.match(JSON.stringify(odd), /"__proto__":\{"polluted":1\}/);
  for (const text of ['novalue', '=1', 'a..b=1', '.a=1']) t.throws(() => withData({}, [text]), USAGE);
});

t.test('durations are read as people and as ISO 8601 write them', async (t) => {
  const rows: [string, number][] = [
    ['90', 90_000],
    ['1.5', 1500],
    ['90s', 90_000],
    ['500ms', 500],
    ['10m', 600_000],
    ['1h30m', 5_400_000],
    ['2d', 172_800_000],
    ['PT10M', 600_000],
    ['PT0.5S', 500],
    ['P1DT1H', 90_000_000],
  ];
  for (const [text, ms] of rows) t.equal(durationMs(text, '--timeout'), ms, text);
  for (const text of ['', 'P', 'PT', 'soon', '1x', '-5s', '5 minutes'])
    t.throws(() => durationMs(text, '--timeout'), USAGE, text);
  t.equal(isoDuration('1h30m', '--time-to-live'), 'PT5400S');
  const shown: [number, string][] = [
    [0, '0.0 s'],
    [-5, '0.0 s'],
    [950, '0.9 s'],
    [9960, '10 s'],
    [59_600, '1 min 0 s'],
    [3_599_600, '1 h 0 min'],
    [90_061_000, '1 d 1 h'],
  ];
  for (const [ms, text] of shown) t.equal(shownDuration(ms), text);
});

t.test('every error has its exit code, in one place', async (t) => {
  const api = (status: number, error: string) =>
    failureOf(new ApiError(status, { error, message: 'no' } as never)).exit;
  const rows: [number, string, number][] = [
    [400, 'VALIDATION_ERROR', 2],
    [401, 'UNAUTHORIZED', 4],
    [403, 'FORBIDDEN', 4],
    [404, 'INSTANCE_NOT_FOUND', 2],
    [409, 'NOT_PUBLISHED', 2],
    [429, 'RATE_LIMIT_EXCEEDED', 5],
    [500, 'INTERNAL_ERROR', 5],
    [503, 'STORAGE_UNAVAILABLE', 5],
    [200, 'UNEXPECTED_ANSWER', 5],
  ];
  for (const [status, error, exit] of rows) t.equal(api(status, error), exit, error);
  t.equal(failureOf(new UnreachableError('http://x', 'refused', true)).exit, 5);
  t.match(failureOf(new Error('odd\u001b[2J')), { exit: 1, message: 'Odd\\x1b[2J.' });
  t.match(failureOf(new ApiError(429, { error: 'RATE_LIMIT_EXCEEDED', message: 'slow down', retryAfter: 7 })), {
    hint: 'try again in 7 s',
  });
});

t.test(
  'settings: flags come before variables, those before the context, and that before the local daemon',
  async (t) => {
    const home = tempFolder(t, {
      'contexts.json': '{"current":"work","contexts":{"work":{"url":"https://w.example","environment":"DEVELOPMENT"}}}',
    });
    const env = { WFX_HOME: home };
    t.match(settingsOf({ url: 'h:1' }, { ...env, WFX_URL: 'http://env' }), {
      address: { kind: 'url', url: 'http://h:1', from: '--url' },
    });
    t.match(settingsOf({}, { ...env, WFX_URL: 'http://env/' }), {
      address: { url: 'http://env', from: 'WFX_URL' },
      environment: undefined,
    });
    t.match(settingsOf({}, env), {
      address: { kind: 'context', name: 'work', url: 'https://w.example' },
      environment: 'DEVELOPMENT',
    });
    t.match(settingsOf({}, { ...env, WFX_ENVIRONMENT: 'prod' }), { environment: 'PRODUCTION' });
    t.match(settingsOf({ dataDir: '/d' }, env), { address: { kind: 'local' }, dataDir: '/d', home });
    t.match(settingsOf({}, { WFX_HOME: tempFolder(t) }), { address: { kind: 'local' } });
    t.equal(urlOf('https://x.example/base/', '--url'), 'https://x.example/base');
    for (const bad of ['ftp://x', 'http://', 'a b']) t.throws(() => urlOf(bad, '--url'), USAGE, bad);
    t.throws(() => environmentOf('staging', '--environment'), USAGE);
    t.throws(() => environmentOf('constructor', '--environment'), USAGE);
  },
);

t.test('columns are counted as a terminal counts them', async (t) => {
  t.equal(widthOf('abc'), 3);
  t.equal(widthOf('日本'), 4);
  t.equal(widthOf('e\u0301'), 1);
  t.equal(widthOf('😀'), 2);
  t.equal(fitted('日本語', 5), '日本…');
  t.equal(fitted('abc', 3), 'abc');
  t.equal(padded('日', 4), '日  ');
});

t.test('a table fits a terminal, is whole in a pipe, and says so when it is empty', async (t) => {
  type Row = { readonly id: string; readonly name: string };
  const rows: Row[] = [{ id: 'a', name: `x\u001b[31m${'y'.repeat(100)}` }];
  const columns = [
    { title: 'ID', text: (row: Row) => row.id },
    { title: 'NAME', text: (row: Row) => row.name },
  ];
  const pipe = fakeIo();
  printTable(pipe.io, rows, columns, 'none');
  t.match(pipe.out(), /^ID {2}NAME\na {3}x\\x1b\[31my{100}\n$/);
  const terminal = fakeIo({ terminal: true, columns: 30 });
  printTable(terminal.io, rows, columns, 'none');
  for (const line of terminal.out().trimEnd().split('\n')) t.ok(widthOf(line.replace(/\u001b\[\d+m/g, '')) <= 30);
  printTable(pipe.io, [], columns, 'none');
  t.equal(pipe.err(), 'none\n');
  t.equal(pipe.out(), '');
});

t.test('colours and prompts are for terminals, and for those that want them', async (t) => {
  const colour = (given: Parameters<typeof fakeIo>[0]) => fakeIo(given).io.paint('red', 'x') !== 'x';
  t.ok(colour({ terminal: true }));
  t.notOk(colour({}));
  t.notOk(colour({ terminal: true, env: { NO_COLOR: '1' } }));
  t.notOk(colour({ terminal: true, env: { TERM: 'dumb' } }));
  t.notOk(colour({ terminal: true, env: { CI: 'true' } }));
  t.ok(fakeIo({ terminal: true }).io.interactive);
  t.ok(
    fakeIo({ terminal: true, env: { NO_COLOR: '1', CI: 'false' } }).io.interactive,
    'NO_COLOR is about colours alone',
  );
  for (const env of [{ TERM: 'dumb' }, { CI: '1' }]) t.notOk(fakeIo({ terminal: true, env }).io.interactive);
  t.notOk(fakeIo().io.interactive);
});

t.test('problems point at their place, whatever stands before it', async (t) => {
  const problem = (line: number, column: number, rest: Partial<Problem> = {}): Problem => ({
    severity: 'error',
    code: 'X',
    path: '',
    line,
    column,
    message: 'is wrong',
    ...rest,
  });
  const { io, err } = fakeIo();
  const show = (text: string, one: Problem): string[] => {
    showProblems(io, { name: 'a.yaml', text }, [one]);
    return err().trimEnd().split('\n');
  };
  t.strictSame(show('a: 1\r\nb: x\r\n', problem(2, 4, { hint: 'say y' })), [
    'a.yaml:2:4: error: is wrong',
    '2 | b: x',
    '  |    ^',
    '  = hint: say y',
  ]);
  t.strictSame(
    show('\ttitle: 日本 x', problem(1, 11)).slice(1),
    ['1 |   title: 日本 x', '  |              ^'],
    'tabs and wide characters',
  );
  const [, line = '', caret = ''] = show(`k: ${'a'.repeat(500)}!${'b'.repeat(500)}`, problem(1, 504));
  t.equal(line[caret.indexOf('^')], '!', 'a long line is cut around the place');
  t.ok(line.length < 130);
  t.strictSame(show('', problem(1, 1)), ['a.yaml:1:1: error: is wrong']);
  t.strictSame(show('x', problem(99, 1)), ['a.yaml:99:1: error: is wrong']);
  t.notMatch(show('a: \u001b[2J', problem(1, 4, { message: 'has \u001b' })).join(''), /\u001b/);
  t.equal(counted([problem(1, 1), problem(1, 1), problem(1, 1, { severity: 'warning' })]), '2 errors and 1 warning');
});

t.test('a log line can’t command a terminal, however its node is called', async (t) => {
  const entry = {
    nodeId: 'n',
    nodeName: '\u001b]0;owned\u0007\r\u202e',
    nodeType: 'task',
    message: `m\u001b[2J\n${'x'.repeat(1_000_000)}`,
    level: 'INFO' as const,
    timestamp: '2026-01-31T09:05:00Z',
  };
  const line = logLine(fakeIo().io.paint, entry);
  t.notMatch(line, /[\u0000-\u001f\u202e]/);
  t.ok(line.length < 3000);
});

t.test('the progress line is drawn on terminals only, and leaves nothing behind', async (t) => {
  const pipe = fakeIo();
  const quiet = new Progress(pipe.io, () => 'busy');
  quiet.start();
  quiet.note('line');
  quiet.stop();
  t.equal(pipe.err(), 'line\n');
  const terminal = fakeIo({ terminal: true, env: { NO_COLOR: '1' }, columns: 20 });
  const progress = new Progress(terminal.io, () => 'busy '.repeat(20));
  progress.start();
  progress.note('line');
  progress.stop();
  const drawn = terminal.err();
  t.match(drawn, /\r\u001b\[2Kline\n/);
  t.ok(drawn.endsWith('\r\u001b[2K'));
  for (const piece of drawn.split(/\r\u001b\[2K|\n/)) t.ok(widthOf(piece) < 20, 'never wraps');
});
