import fc from 'fast-check';
import t from 'tap';
import { isObject, type Json, type JsonObject } from '../../src/engine/json.ts';
import {
  parseTemplate,
  parseValue,
  type Reference,
  referenceIn,
  referencesOf,
  resolveTemplate,
  resolveText,
  resolveTexts,
  resolveValue,
} from '../../src/engine/template.ts';

const resolveIn = (variables: JsonObject) => (reference: Reference) => referenceIn(variables, reference.path);
const value = (source: string, variables: JsonObject) => resolveTemplate(parseTemplate(source), resolveIn(variables));
const text = (source: string, variables: JsonObject) => resolveText(parseTemplate(source), resolveIn(variables));
const paths = (source: string) => referencesOf(parseTemplate(source)).map((reference) => reference.path.join('.'));

t.test('only {name.segment} is a reference', async (t) => {
  for (const [source, expected] of [
    ['{a}', ['a']],
    ['{_a1.b.0.c_2}', ['_a1.b.0.c_2']],
    ['{a}{b}', ['a', 'b']],
    ['{{a}}', ['a']],
    ['{a{b}', ['b']],
    ['{"x": "{a}"}', ['a']],
    ['{env.PATH}', ['env.PATH']],
    ['{a.__proto__}', ['a.__proto__']],
  ] as const) {
    t.same(paths(source), expected, source);
  }
  for (const source of [
    '',
    'a',
    '{}',
    '{',
    '}',
    '{a',
    'a}',
    '{ a }',
    '{a }',
    '{1a}',
    '{a-b}',
    '{a..b}',
    '{.a}',
    '{a.}',
    '{env.}',
    '{é}',
    '${a}',
    '$${a}',
    '${a.b}',
    '{a\n}',
  ]) {
    t.same(paths(source), [], source);
    t.equal(text(source, { a: 1, b: 2 }), source, `${source} stays`);
  }
});

t.test('a reference knows its text and its place', async (t) => {
  t.strictSame(parseTemplate('x {a.0} y').parts, ['x ', { path: ['a', '0'], text: '{a.0}', offset: 2 }, ' y']);
});

t.test('exactly one reference keeps the type', async (t) => {
  const list: Json = [1, { a: null }];
  for (const kept of [1, 0.5, true, null, 'text', list]) t.equal(value('{v}', { v: kept }), kept);
  t.equal(value('{v} ', { v: 1 }), '1 ', 'text around it makes a text');
  t.equal(value('{{v}}', { v: 1 }), '{1}');
  t.equal(text('{v}', { v: 1 }), '1', 'unless text is asked for');
});

t.test('in a list of texts, one reference to a list stands for its items', async (t) => {
  const texts = (sources: readonly string[], variables: JsonObject) =>
    resolveTexts(sources.map(parseTemplate), resolveIn(variables));
  t.strictSame(texts(['{team}', 'x'], { team: ['a', 2] }), ['a', '2', 'x']);
  t.strictSame(texts(['{team}'], { team: [] }), []);
  t.strictSame(texts(['the {team}', '{one}', '{none}'], { team: ['a'], one: 'b' }), ['the ["a"]', 'b', '{none}']);
});

t.test('inside text, texts go in as they are and the rest as JSON', async (t) => {
  const variables = { s: 'a"b', n: 1.5, yes: true, none: null, list: [1, 'x'], o: { k: 'v' } };
  t.equal(text('{s}|{n}|{yes}|{none}|{list}|{o}', variables), 'a"b|1.5|true|null|[1,"x"]|{"k":"v"}');
});

t.test('a reference that resolves to nothing stays, and is told of at every place', async (t) => {
  const missing: string[] = [];
  const note = (reference: Reference) => missing.push(`${reference.text}@${reference.offset}`);
  const variables = { a: { b: 1 }, list: [1] };
  const resolved = resolveTemplate(parseTemplate('{x} {a.c} {list.1} {list.length} {x}'), resolveIn(variables), note);
  t.equal(resolved, '{x} {a.c} {list.1} {list.length} {x}');
  t.same(missing, ['{x}@0', '{a.c}@4', '{list.1}@10', '{list.length}@19', '{x}@33']);
  t.equal(value('{x}', variables), '{x}', 'alone too');
});

t.test('only own properties are reached', async (t) => {
  const names = ['toString', 'hasOwnProperty', 'valueOf', 'constructor', 'then', 'toJSON', 'length', '__proto__'];
  for (const name of names) {
    t.equal(text(`{${name}} {o.${name}} {s.${name}}`, { o: {}, s: 'abc' }), `{${name}} {o.${name}} {s.${name}}`, name);
    const own: Record<string, Json> = Object.create(null);
    own[name] = `my ${name}`;
    t.equal(text(`{${name}} {o.${name}}`, { ...own, o: own, [name]: 'x' }), `x my ${name}`, `${name} as own data`);
  }
});

t.test('what a reference brings in is never resolved again', async (t) => {
  t.equal(text('{a} {b}', { a: '{b}', b: '{a}' }), '{b} {a}');
  t.equal(text('{{a}}', { a: 'b', b: 'deep' }), '{b}');
  t.same(resolveValue(parseValue({ k: '{a}' }), resolveIn({ a: { inner: '{env.SECRET}' }, env: { SECRET: 's' } })), {
    k: { inner: '{env.SECRET}' },
  });
});

t.test('a tree is resolved in its texts, not in its keys', async (t) => {
  const tree = parseValue({ '{a}': ['{a}', 1, { deep: 'n: {a}' }], fixed: { '{a}': ['${a}'] } });
  t.strictSame(JSON.parse(JSON.stringify(resolveValue(tree, resolveIn({ a: 7 })))), {
    '{a}': [7, 1, { deep: 'n: 7' }],
    fixed: { '{a}': ['${a}'] },
  });
  t.same(
    referencesOf(tree).map((reference) => reference.text),
    ['{a}', '{a}'],
  );
});

t.test('a constant subtree resolves to itself', async (t) => {
  const fixed: Json = { list: [1, 'two', { three: null }] };
  t.equal(
    resolveValue(parseValue(fixed), () => 'never'),
    fixed,
  );
  const mixed = resolveValue(parseValue({ fixed, a: '{a}' }), () => 1);
  t.ok(isObject(mixed) && mixed['fixed'] === fixed, 'also beside references');
});

t.test('__proto__ is a key like any other', async (t) => {
  const tree = parseValue(JSON.parse('{"__proto__": {"polluted": "{a}"}}'));
  const made = resolveValue(tree, resolveIn({ a: 'yes' })) as JsonObject;
  t.equal(JSON.stringify(made), '{"__proto__":{"polluted":"yes"}}');
  t.equal((Object.prototype as unknown as JsonObject)['polluted'], undefined);
});

t.test('a result larger than 4 MiB is refused', async (t) => {
  const big = 'x'.repeat(1024 * 1024);
  const many = (times: number) => parseTemplate('{big}'.repeat(times));
  t.equal(resolveText(many(4), () => big).length, 4 * 1024 * 1024);
  const tooLarge = { code: 'TEMPLATE_TOO_LARGE', message: /larger than 4 MiB/ };
  t.throws(() => resolveText(many(5), () => big), tooLarge, 'as text');
  t.throws(() => resolveText(many(5), () => [big]), tooLarge, 'as JSON in text');
  const list = parseValue(Array.from({ length: 5 }, () => '{big}'));
  t.throws(() => resolveValue(list, () => ({ big })), tooLarge, 'as values of a tree');
  t.throws(
    () => {
      let deep: Json = '{a}';
      for (let level = 0; level < 1000; level++) deep = [deep];
      parseValue(deep);
    },
    { code: 'TEMPLATE_TOO_DEEP' },
    'and so is a tree that is too deep',
  );
});

t.test('hostile sources are read once through', async (t) => {
  const size = 1e5;
  const unclosed = `{a${'.a'.repeat(1e6)}`;
  for (const source of ['{'.repeat(size), '{a'.repeat(size), '${'.repeat(size), unclosed, `{${'a'.repeat(size)}`]) {
    t.strictSame(parseTemplate(source).parts, [source], source.slice(0, 8));
  }
  const levels = `{a${'.a'.repeat(1e4)}}`;
  t.equal(referencesOf(parseTemplate(levels))[0]?.path.length, 10_001, '10,001 segments');
  t.equal(text(levels, { a: {} }), levels);
});

t.test('the parts always make up the source, and any data survives a template', async (t) => {
  const source = fc.string({ unit: fc.constantFrom('{', '}', '$', '.', 'a', '0', ' ', '_') });
  const written = (template: string) =>
    parseTemplate(template).parts.map((part) => (typeof part === 'string' ? part : part.text));
  t.doesNotThrow(() => {
    fc.assert(fc.property(source, (any) => written(any).join('') === any && text(any, {}) === any));
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (data) => text('<{a}>', { a: data }) === `<${data}>`));
  });
});
