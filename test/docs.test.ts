import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { Command } from 'commander';
import t from 'tap';
import { parse } from 'yaml';
import { COMMANDS } from '../src/cli/commands/index.ts';
import { Io } from '../src/cli/io.ts';
import { Wfx } from '../src/cli/wfx.ts';
import { OidcSettings } from '../src/daemon/auth/oidc-settings.ts';
import { NODE_TYPES } from '../src/engine/flow.ts';
import { isObject, type Json, type JsonObject } from '../src/engine/json.ts';
import { ExpressionError, evaluate, parseCondition, test } from '../src/engine/juel/index.ts';
import { NODE_KEYS } from '../src/engine/nodes/keys.ts';
import { FLOW_KEYS } from '../src/engine/parse/document.ts';
import { allKeys } from '../src/engine/parse/node-keys.ts';
import { compile } from '../src/engine/parse.ts';
import { parseTemplate, referenceIn, resolveTemplate } from '../src/engine/template.ts';

const DOCS = resolve(import.meta.dirname, '../docs');
const pages = readdirSync(DOCS).filter((name) => name.endsWith('.md'));
const read = (page: string) => readFileSync(join(DOCS, page), 'utf8');

/** The YAML blocks of a page, with the line each begins in. */
function blocks(page: string): { text: string; line: number }[] {
  const text = read(page);
  return [...text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map((match) => ({
    text: match[1] ?? '',
    line: text.slice(0, match.index).split('\n').length,
  }));
}

const HEAD = { id: '7c9e6679-7425-40de-944b-e07fc1f90ae7', name: 'Snippet' };
const isNodes = (value: JsonObject) => Object.values(value).every((node) => isObject(node) && 'type' in node);
const isFlowPart = (value: JsonObject) => Object.keys(value).every((key) => key in FLOW_KEYS);

/** Nodes of a snippet, with a start that leads to all of them and a task for each node that they only name. */
function completed(nodes: JsonObject): JsonObject {
  const named = [
    ...JSON.stringify(nodes).matchAll(/"(?:next|then|else|errorFlow|timeoutFlow|to)":("\w+"|\["[\w",]*\])/g),
  ];
  const missing = named.flatMap(([, ids = '']) => ids.match(/\w+/g) ?? []).filter((id) => !isDefined(id, nodes));
  const tasks = Object.fromEntries(missing.map((id) => [id, { type: 'task' }]));
  if (Object.values(nodes).some((node) => isObject(node) && node['type'] === 'startEvent'))
    return { ...nodes, ...tasks };
  const entered = Object.keys(nodes).filter((id) => (nodes[id] as JsonObject)['type'] !== 'boundaryEvent');
  return { begin_: { type: 'startEvent', next: entered }, ...nodes, ...tasks };
}

const isDefined = (id: string, nodes: JsonObject): boolean =>
  Object.entries(nodes).some(
    ([name, node]) => name === id || (isObject(node) && isObject(node['nodes']) && isDefined(id, node['nodes'])),
  );

for (const page of pages) {
  t.test(`${page}: what it shows of flows compiles, and nothing is warned of`, async (t) => {
    for (const { text, line } of blocks(page)) {
      const value = parse(text) as Json;
      if (!isObject(value)) continue;
      const flow = isFlowPart(value)
        ? { ...HEAD, nodes: { start: { type: 'startEvent' } }, ...value }
        : isNodes(value) && { ...HEAD, nodes: completed(value) };
      if (flow === false) continue;
      const whole = 'id' in value ? text : JSON.stringify(flow);
      t.strictSame(
        compile(whole).problems.map(({ code, path, message }) => `${code} ${path}: ${message}`),
        [],
        `line ${line}`,
      );
    }
  });

  t.test(`${page}: its links lead somewhere`, async (t) => {
    for (const [, target = ''] of read(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
      const [file = '', anchor] = target.split('#');
      const other = file === '' ? page : file;
      t.ok(pages.includes(other) || other.includes('/'), target);
      if (anchor === undefined || !pages.includes(other)) continue;
      const anchors = [...read(other).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
        title
          .toLowerCase()
          .replace(/[^\w\s-]/g, '')
          .replace(/ /g, '-'),
      );
      t.ok(anchors.includes(anchor), target);
    }
  });
}

t.test('flow-language.md: every node type has a section with all its keys and a snippet', async (t) => {
  const page = read('flow-language.md');
  for (const type of NODE_TYPES) {
    const section = page.split(`\n### ${type}\n`)[1]?.split(/\n##? |\n### /)[0] ?? '';
    t.match(section, '```yaml', type);
    for (const key of allKeys(NODE_KEYS[type])) {
      if (['result', 'provider', 'model'].includes(key)) continue;
      t.ok(new RegExp(`\\b${key}\\b`).test(section), `${type}: ${key}`);
    }
  }
  for (const key of Object.keys(FLOW_KEYS)) t.ok(page.includes(`| \`${key}\` |`), key);
});

t.test('authentication.md: every setting of the sign-in is explained', async (t) => {
  const page = read('authentication.md');
  for (const key of Object.keys(OidcSettings.properties))
    t.match(page, new RegExp(`^\\|[^|]*\\b${key}\\b.*\\|`, 'm'), key);
});

t.test('flow-language.md: every warning is explained', async (t) => {
  const page = read('flow-language.md');
  const sources = ['validate', 'keys', 'parse'].flatMap((folder) => {
    const path = resolve(import.meta.dirname, '../src/engine', folder);
    return readdirSync(path).map((name) => readFileSync(join(path, name), 'utf8'));
  });
  const codes = new Set(
    sources.flatMap((text) => [...text.matchAll(/\.warning\(\s*'(\w+)'/g)].map(([, code = '']) => code)),
  );
  t.ok(codes.size > 8);
  for (const code of codes) t.ok(page.includes(`| \`${code}\` |`), code);
});

t.test('errors-and-retries.md: every code that a flow can meet in the engine and in its work is listed', async (t) => {
  const page = read('errors-and-retries.md');
  const sources = ['engine', 'engine/nodes', 'daemon/work'].flatMap((folder) => {
    const path = resolve(import.meta.dirname, '../src', folder);
    const files = readdirSync(path).filter((name) => /^(?!ai|voice|memory|domain|worker|agent).*\.ts$/.test(name));
    return files.map((name) => readFileSync(join(path, name), 'utf8'));
  });
  const thrown = /(?:fail\(|NodeError\(|WorkError\(|ScriptFailure\(\s*)\s*'([A-Z_]+)'/g;
  // What was aborted is not told to the flow.
  const codes = new Set(sources.flatMap((text) => [...text.matchAll(thrown)].map(([, code = '']) => code)));
  t.ok(codes.size > 20);
  for (const code of codes) if (!code.endsWith('ABORTED')) t.ok(page.includes(`\`${code}\``), code);
});

t.test('expressions.md: its examples are what it says', async (t) => {
  const page = read('expressions.md');
  const variables = JSON.parse(/```json\n([\s\S]*?)```/.exec(page)?.[1] ?? '') as JsonObject;
  const rows = (heading: string) => {
    const table = page.split(heading)[1]?.split('\n\n')[0] ?? '';
    return [...table.matchAll(/^\| `(.*?)` \| `?(.*?)`? \|/gm)].map(
      ([, example = '', is = '']) => [example, is] as const,
    );
  };
  const lookup = (name: string) => variables[name];

  const templates = rows('\n| template | becomes | |');
  t.ok(templates.length > 10);
  for (const [template, becomes] of templates) {
    const value = resolveTemplate(parseTemplate(template), ({ path }) => referenceIn(variables, path));
    t.strictSame(JSON.parse(JSON.stringify(value)), JSON.parse(becomes), template);
  }
  const conditions = rows('\n| expression | is |');
  t.ok(conditions.length > 20);
  for (const [expression, is] of conditions) {
    const parsed = parseCondition(expression);
    t.equal(parsed.ok && test(parsed.condition, lookup), is === 'true', expression);
  }
  const errors = rows('\n| expression | why |');
  t.ok(errors.length > 4);
  for (const [expression] of errors) {
    const parsed = parseCondition(expression);
    t.ok(parsed.ok, expression);
    t.throws(() => parsed.ok && test(parsed.condition, lookup), ExpressionError, expression);
  }
  t.notOk(parseCondition('${list.size()}').ok);
  const sum = parseCondition("${'1' + '2'}");
  t.equal(sum.ok && evaluate(sum.condition, lookup), 3, '+ adds numbers');
});

t.test('every command line that a page or an example flow shows is one that wfx takes', async (t) => {
  const program = new Command('wfx');
  const wfx = new Wfx(new Io(process, {}), () => ({}) as never);
  for (const entry of COMMANDS) {
    const command = new Command(entry.name);
    (await entry.load()).add(command, wfx);
    program.addCommand(command);
  }
  const global = ['-o', '--output', '--url', '--data-dir', '--help', '--version'];
  const flows = readdirSync(join(DOCS, '../flows')).filter((name) => name.endsWith('.yaml'));
  const texts = [
    ...pages.map((page) => [page, read(page), /`(wfx [a-z][^`]*)`/g] as const),
    ...flows.map(
      (name) => [name, readFileSync(join(DOCS, '../flows', name), 'utf8'), /^# {3}(wfx .*?)(?: {3,}.*)?$/gm] as const,
    ),
  ];
  let shown = 0;
  for (const [where, text, pattern] of texts) {
    for (const [, line = ''] of text.matchAll(pattern)) {
      shown += 1;
      t.equal(unknownIn(line, program, global), undefined, `${where}: ${line}`);
    }
  }
  t.ok(shown > 60);
});

/** The first word of a command line that is no command, or no option of its command. */
function unknownIn(line: string, program: Command, global: readonly string[]): string | undefined {
  let command = program;
  for (const word of line.split('|')[0]?.split(/\s+/).slice(1) ?? []) {
    const next = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (next !== undefined) command = next;
    else if (command.commands.length > 0 && /^[a-z]/.test(word)) return word;
    else if (/^--?[a-zA-Z]/.test(word) && !isOption(word.replace(/[=`].*/, ''), command, global)) return word;
  }
  return undefined;
}

const isOption = (flag: string, { options }: Command, global: readonly string[]): boolean =>
  global.includes(flag) || options.some(({ short, long }) => flag === short || flag === long);

t.test('threat-model.md: each test that it names is there', async (t) => {
  const root = import.meta.dirname;
  const files = (readdirSync(root, { recursive: true }) as string[]).filter((name) => name.endsWith('.test.ts'));
  const sourceOf = (name: string) => {
    const found = files.filter((path) => basename(path) === name);
    t.ok(found.length > 0, name);
    return found.map((path) => readFileSync(join(root, path), 'utf8').replaceAll("\\'", "'")).join('\n');
  };
  let source = '';
  for (const [, file, title = ''] of read('threat-model.md').matchAll(
    /`([\w-]+\.test\.ts)`|(?<!\*)\*([^*]+)\*(?!\*)/g,
  )) {
    if (file !== undefined) source = sourceOf(file);
    else t.ok(source.includes(title.replace(/\s+/g, ' ').replace(' …', '')), title);
  }
});
