import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import t from 'tap';
import type { Json, JsonObject } from '../../src/engine/json.ts';
import { type Condition, ExpressionError, evaluate, parseCondition, test } from '../../src/engine/juel/index.ts';

interface Row {
  readonly id: string;
  readonly expr: string;
  readonly vars: JsonObject;
  readonly expected: { readonly value?: Json; readonly error?: 'parse' | 'eval' };
  readonly conditionCoerced: boolean | 'error';
  readonly applies: string;
}

const DATA = resolve(process.env['WFX_CONFORMANCE_DIR'] ?? '../shared/conformance', 'juel.json');

const lookupIn = (variables: JsonObject) => (name: string) =>
  Object.hasOwn(variables, name) ? variables[name] : undefined;

function parsed(text: string): Condition {
  const result = parseCondition(text);
  if (!result.ok) throw new Error(`${text.slice(0, 80)}: ${result.problem.message}`);
  return result.condition;
}

const value = (text: string, variables: JsonObject = {}) => evaluate(parsed(text), lookupIn(variables));
const holds = (text: string, variables: JsonObject = {}) => test(parsed(text), lookupIn(variables));

function problemOf(text: string): { message: string; offset: number } {
  const result = parseCondition(text);
  return result.ok ? { message: 'no problem', offset: -1 } : result.problem;
}

function failure(text: string, variables: JsonObject = {}): ExpressionError | undefined {
  const condition = parsed(text);
  try {
    evaluate(condition, lookupIn(variables));
  } catch (error) {
    if (error instanceof ExpressionError) return error;
    throw error;
  }
  return undefined;
}

t.test('what four EL engines agree on', { skip: existsSync(DATA) ? false : `no ${DATA}` }, async (t) => {
  const { rows } = JSON.parse(readFileSync(DATA, 'utf8')) as { rows: Row[] };
  const core = rows.filter((row) => row.applies === 'core');
  t.ok(core.length > 600, `${core.length} core rows`);
  const attempt = (read: () => Json): Json | { error: string } => {
    try {
      return read();
    } catch (error) {
      if (error instanceof ExpressionError) return { error: 'eval' };
      throw error;
    }
  };
  for (const { id, expr, vars, expected, conditionCoerced } of core) {
    const result = parseCondition(expr);
    if (!result.ok) {
      t.same({ error: 'parse' }, expected, `${id} ${expr}: ${result.problem.message}`);
      continue;
    }
    const wanted = expected.value === 'Infinity' ? Infinity : (expected.value ?? null);
    const actual = attempt(() => evaluate(result.condition, lookupIn(vars)));
    t.strictSame(actual, expected.error ? { error: expected.error } : wanted, `${id} ${expr}`);
    const verdict = attempt(() => test(result.condition, lookupIn(vars)));
    t.strictSame(verdict, conditionCoerced === 'error' ? { error: 'eval' } : conditionCoerced, `${id} as a condition`);
  }
});

t.test('a condition is coerced to a boolean', async (t) => {
  for (const [text, expected] of [
    ['${v}', true],
    ['${!v}', false],
    ['${empty v}', false],
  ] as const) {
    t.equal(holds(text, { v: 'TRUE' }), expected, `${text} of the text TRUE`);
  }
  t.equal(holds('${v}', { v: null }), false, 'null is false');
  t.equal(holds('${v}', { v: '' }), false, 'the empty text is false');
  t.equal(holds('${v}', { v: 'yes' }), false, 'another text is false');
  for (const v of [1, 0, [], {}] as Json[]) {
    t.throws(() => holds('${v}', { v }), ExpressionError, `${JSON.stringify(v)} is neither true nor false`);
  }
  t.match(failure('${!v}', { v: 4 })?.message, /the number 4 is neither true nor false: compare it/);
});

t.test('null, texts and numbers compare as EL has it', async (t) => {
  const variables = { nothing: null, half: '0.5', count: '12', no: false, order: { total: 7 } };
  t.equal(holds('${half >= 0.5}', variables), true, 'a numeric text is a number beside a number');
  t.equal(holds("${count < '2'}", variables), true, 'two texts compare as texts');
  t.equal(holds("${no == 'no'}", variables), true, 'beside a boolean a text is coerced to one');
  t.equal(holds('${nothing > 0 || nothing < 0 || nothing == 0}', variables), false, 'null is neither, nor equal');
  t.equal(holds('${nothing <= null && nothing == null}', variables), true);
  t.equal(
    holds('${order.lacking.deeper == null}', variables),
    true,
    'what is not there is null, and so is what is in it',
  );
  t.equal(holds('${order == other}', { order: { a: [1, { b: null }] }, other: { a: [1, { b: null }] } }), true);
  t.equal(holds('${order == other}', { order: { a: 1 }, other: { b: 1 } }), false);
  t.equal(holds("${list == 'a'}", { list: ['a'] }), false, 'a list is no text');
  t.equal(value("${1 == '1.0'}"), true, 'JSON has one kind of number');
  t.equal(value('${7 % -7}'), 0);
  t.match(failure('${a % 0}', { a: 1 })?.message, /division by zero/);
  t.match(failure("${'9007199254740993' == a}", { a: 9007199254740992 })?.message, /too large/);
  t.match(failure('${a < b}', { a: [1], b: {} })?.message, /a list and an object have no order/);
});

t.test('what is not needed is not evaluated', async (t) => {
  t.equal(holds('${true || missing}'), true);
  t.equal(holds('${false && missing}'), false);
  t.equal(value("${true ? 'a' : missing}"), 'a');
  t.equal(value("${false ? missing : false ? missing : 'c'}"), 'c');
  t.equal(value('${nothing[missing]}', { nothing: null }), null);
});

t.test('an unknown variable is an error that names it and its place', async (t) => {
  const error = failure('${1 == 1 && amount > 3}', {});
  t.match(error?.message, /no variable is named 'amount': give it a default/);
  t.equal(error?.offset, 12);
  t.equal(error?.code, 'EXPRESSION_ERROR');
});

t.test('only own properties are reached', async (t) => {
  const variables = { list: [1, 2], object: { a: 1, length: 9 }, text: 'abc' };
  for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty']) {
    t.equal(value(`\${object.${name}}`, variables), null, `object.${name}`);
    t.equal(value(`\${object['${name}'].x}`, variables), null);
    t.match(failure(`\${list.${name}}`, variables)?.message, /a list has no property/);
    t.match(failure(`\${text.${name}}`, variables)?.message, /has no properties/);
    t.match(failure(`\${${name}}`, variables)?.message, /no variable is named/);
  }
  t.equal(value('${object.length}', variables), 9);
  t.equal(value("${list['1'] + list[0]}", variables), 3);
  t.equal(value('${list[2]}', variables), null, 'past the end');
  t.equal(value('${map[1]}', { map: { 1: 'one' } }), 'one', 'a number names a property');
  t.equal(value('${order.empty}', { order: { empty: 1 } }), 1, 'a word that is an operator elsewhere');
  t.equal(value("${headers['x-id']}", { headers: { 'x-id': 'é' } }), 'é');
});

t.test('a condition tells which variables it reads', async (t) => {
  const { names } = parsed("${a.b[c] == 'd' && (empty a ? !e : f.g)}");
  t.strictSame(names, [
    { name: 'a', offset: 2 },
    { name: 'c', offset: 6 },
    { name: 'a', offset: 26 },
    { name: 'e', offset: 31 },
    { name: 'f', offset: 35 },
  ]);
});

t.test('space and line breaks may stand anywhere', async (t) => {
  t.equal(holds(' \n${ a\n  &&\tb }\n', { a: true, b: true }), true);
});

t.test('a malformed condition says what to write instead', async (t) => {
  const cases: [text: string, message: RegExp, offset: number][] = [
    ['approved == true', /write \$\{approved == true\}/, 0],
    ['', /the condition is empty/, 0],
    ['${}', /the expression is empty/, 2],
    ['${a = 1}', /use == to compare/, 4],
    ['${a === 1}', /use == to compare/, 4],
    ['${a !== 1}', /use != to compare/, 4],
    ['${a <> 1}', /use != to compare/, 4],
    ['${a & b}', /use && or and/, 4],
    ['${a | b}', /use \|\| or or/, 4],
    ['${a AND b}', /'AND' is written in lower case: and/, 4],
    ['${a == {b}}', /write the variable names as they are/, 7],
    ['${a == “x”}', /straight quotes/, 7],
    ['${a == 1', /closing } is missing/, 8],
    ["${a == 'x}", /closing ' is missing/, 7],
    ["${'f\\oo'}", /must stand before/, 4],
    ['${a ==}', /a value is missing before }/, 6],
    ['${(a == 1}', /\) is missing after \(/, 9],
    ['${a[1}', /\] is missing after \[/, 5],
    ['${a ? 1}', /: is missing after \?/, 7],
    ['${list.size() > 3}', /methods cannot be called/, 11],
    ['${size(list)}', /methods cannot be called/, 6],
    ['${orders.0.price}', /write \[0\]/, 8],
    ['${a b}', /b is not expected here/, 4],
    ['${a} && ${b}', /one single \$\{…\}/, 4],
    ['x${a}', /one single \$\{…\}/, 0],
    ['#{a}', /#\{…\} is not known here/, 0],
    ['${a; b}', /';' has no meaning here/, 3],
    ['${a == 9007199254740993}', /too large/, 7],
    ['${a instanceof b}', /reserved word/, 4],
  ];
  for (const [text, message, offset] of cases) {
    t.match(problemOf(text).message, message, text);
    t.equal(problemOf(text).offset, offset, `${text}: where`);
  }
});

t.test('no text makes the parser or the evaluation overflow or run on', async (t) => {
  const many = (text: string, times: number) => text.repeat(times);
  for (const [name, text] of [
    ['parentheses', `\${${many('(', 1e5)}`],
    ['parentheses within the length', `\${${many('(', 6e4)}`],
    ['brackets', `\${${many('a[', 3e4)}`],
    ['negations beyond the length', `\${${many('!', 1e5)}true}`],
    ['dots beyond the length', `\${a${many('.a', 1e5)}}`],
    ['ternaries beyond the length', `\${${many('true?a:', 1e4)}a}`],
    ['ternaries in the middle', `\${${many('a?', 2e4)}a}`],
    ['a text of 1 MB', `\${'${many('x', 2 ** 20)}'}`],
    ['minus', `\${${many('-', 1e5)}1}`],
  ] as const) {
    t.not(problemOf(text).offset, -1, name);
  }
  t.equal(holds(`\${${many('!', 60_000)}true}`), true, '60,000 negations');
  t.equal(value(`\${${many('- ', 30_001)}1}`), -1, '30,001 signs');
  t.equal(value(`\${a${many('.a', 30_000)}}`, { a: { a: { a: null } } }), null, '30,000 dots');
  t.equal(value(`\${${many('a+', 30_000)}a}`, { a: 1 }), 30_001, '30,000 sums');
  t.equal(value(`\${${many('false?1:', 8000)}2}`), 2, '8,000 ternaries');
  t.equal(value(`\${${many('(', 150)}1${many(')', 150)}}`), 1, '150 parentheses');
  const deep = (depth: number): Json => {
    let inner: Json = 1;
    for (let level = 0; level < depth; level++) inner = [inner];
    return inner;
  };
  t.equal(holds('${a == b}', { a: deep(1e5), b: deep(1e5) }), true, 'deep data');
  const big = 'x'.repeat(2 ** 20);
  const costly = failure(`\${${many('a != b || ', 100)}false}`, { a: `${big}a`, b: `${big}a` });
  t.match(costly?.message, /compares more data than is allowed/);
});
