import t from 'tap';
import { type Field, type Form, submitted } from '../../src/engine/form.ts';
import type { Json, JsonObject } from '../../src/engine/json.ts';

const options = [
  { value: 'approve', label: 'Approve' },
  { value: 2, label: 'Two' },
  { value: true, label: 'Yes' },
];

const input = (inputType: Form['inputType'], more: Partial<Form> = {}): Form => ({
  title: 'Input',
  inputType,
  required: true,
  ...more,
});

const form = (fields: readonly Field[], more: Partial<Form> = {}): Form => input('form', { fields, ...more });

/** The variables as plain data, or the details. */
function outcome(asked: Form, data: JsonObject): unknown {
  const result = submitted(asked, data);
  return result.ok ? JSON.parse(JSON.stringify(result.variables)) : result.details;
}

const detail = (path: string, message: RegExp) => [{ path, message }];

t.test('simple types take what fits them and become {inputValue}', async (t) => {
  for (const [form, given, kept] of [
    [input('textbox'), 'a', 'a'],
    [input('textarea'), 'two\nlines', 'two\nlines'],
    [input('number'), 12.5, 12.5],
    [input('number'), '12.50', 12.5],
    [input('number'), ' -3e2 ', -300],
    [input('number'), 0, 0],
    [input('date'), '2026-11-21', '2026-11-21'],
    [input('date'), '2026-11-21T09:00:00Z', '2026-11-21T09:00:00Z'],
    [input('select', { options }), 'approve', 'approve'],
    [input('radio', { options }), '2', 2],
    [input('radio', { options }), 2, 2],
    [input('radio', { options }), 'true', true],
    [input('select'), 'anything', 'anything'],
    [input('checkbox', { options }), ['approve', '2'], ['approve', 2]],
    [input('checkbox'), ['a', 1], ['a', 1]],
    [input('checkbox'), true, true],
    [input('file'), 'f-1', 'f-1'],
    [input('file'), { id: 'f-1', name: 'a.pdf' }, { id: 'f-1', name: 'a.pdf' }],
  ] as [Form, Json, Json][]) {
    t.strictSame(
      outcome(form, { inputValue: given }),
      { inputValue: kept },
      `${form.inputType} ${JSON.stringify(given)}`,
    );
  }
});

t.test('simple types refuse what does not fit, saying what would', async (t) => {
  for (const [form, given, message] of [
    [input('textbox'), 5, /^inputValue must be a text$/],
    [input('textarea'), ['a'], /must be a text/],
    [input('number'), 'twelve', /must be a number/],
    [input('number'), '0x10', /must be a number/],
    [input('number'), true, /must be a number/],
    [input('number'), '1e999', /must be a number/],
    [input('date'), '2026-02-30', /must be an ISO 8601 date/],
    [input('date'), '21.11.2026', /must be an ISO 8601 date/],
    [input('date'), 1700000000, /must be an ISO 8601 date/],
    [input('select', { options }), 'Approve', /must be one of approve, 2, true/],
    [input('radio', { options }), ['approve'], /must be one of/],
    [input('select', { options }), 'constructor', /must be one of/],
    [input('checkbox', { options }), 'approve', /must be a list of approve, 2, true/],
    [input('checkbox', { options }), ['approve', 'x'], /must be a list of/],
    [input('checkbox', { options }), true, /must be a list of/],
    [input('file'), { name: 'a.pdf' }, /must be a file/],
    [input('file'), 7, /must be a file/],
  ] as [Form, Json, RegExp][]) {
    t.match(
      outcome(form, { inputValue: given }),
      detail('data.inputValue', message),
      `${form.inputType} ${JSON.stringify(given)}`,
    );
  }
});

t.test('what is required must be there and not empty', async (t) => {
  for (const inputType of ['textbox', 'number', 'date', 'select', 'checkbox', 'file'] as const) {
    for (const data of [{}, { inputValue: null }, { inputValue: '' }, { value: 1 }] as JsonObject[]) {
      const what = `${inputType} ${JSON.stringify(data)}`;
      t.match(outcome(input(inputType), data), detail('data.inputValue', /^inputValue is required: /), what);
    }
  }
  t.match(outcome(input('checkbox'), { inputValue: [] }), detail('data.inputValue', /is required/), 'an empty list');
  t.strictSame(outcome(input('number'), { inputValue: 0 }), { inputValue: 0 }, 'zero is there');
});

t.test('what is not required may be left out, and is null then', async (t) => {
  t.strictSame(outcome(input('number', { required: false }), {}), { inputValue: null });
  t.strictSame(outcome(input('number', { required: false }), { inputValue: '' }), { inputValue: null });
  t.strictSame(outcome(input('textbox', { required: false }), { inputValue: '' }), { inputValue: '' });
  t.match(outcome(input('number', { required: false }), { inputValue: 'x' }), detail('data.inputValue', /a number/));
});

t.test('a default is taken where nothing was given', async (t) => {
  t.strictSame(outcome(input('number', { default: 7 }), {}), { inputValue: 7 });
  t.strictSame(outcome(input('select', { options, default: 'approve' }), { inputValue: null }), {
    inputValue: 'approve',
  });
  t.strictSame(outcome(input('number', { default: 7 }), { inputValue: 8 }), { inputValue: 8 });
});

t.test('every key of the data becomes a variable', async (t) => {
  t.strictSame(outcome(input('textbox'), { inputValue: 'a', comment: 'b', toString: 'c' }), {
    inputValue: 'a',
    comment: 'b',
    toString: 'c',
  });
});

const amount: Field = { name: 'amount', type: 'number' };
const note: Field = { name: 'note', type: 'textarea', required: false };
const when: Field = { name: 'when', type: 'date', default: '2026-01-01' };

t.test('a form reads its fields from formData or from the data itself', async (t) => {
  const asked = form([amount, note, when]);
  t.strictSame(outcome(asked, { formData: { amount: '5', extra: 1 }, by: 'me' }), {
    formData: { amount: 5, extra: 1, note: null, when: '2026-01-01' },
    by: 'me',
  });
  t.strictSame(
    outcome(asked, { amount: '5', extra: 1 }),
    { amount: 5, extra: 1, formData: { amount: 5, extra: 1, note: null, when: '2026-01-01' } },
    'a field that was left out sets no variable of its own',
  );
});

t.test('every wrong field is named where the sender wrote it', async (t) => {
  const asked = form([amount, note, when]);
  t.match(outcome(asked, { formData: { note: 1, when: 'x' } }), [
    { path: 'data.formData.amount', message: /^amount is required: a number$/ },
    { path: 'data.formData.note', message: /^note must be a text$/ },
    { path: 'data.formData.when', message: /^when must be an ISO 8601 date/ },
  ]);
  t.match(outcome(asked, { amount: [] }), detail('data.amount', /must be a number/));
  t.match(outcome(asked, { formData: [1] }), detail('data.formData', /must be an object/));
  t.match(outcome(asked, { formData: null }), detail('data.formData', /must be an object/));
});

t.test('fields follow the form in what is required, unless they say otherwise', async (t) => {
  const optional = form([amount, { ...note, required: true }], { required: false });
  t.match(outcome(optional, {}), detail('data.note', /note is required/));
  t.same(outcome(optional, { note: 'x' }), { note: 'x', formData: { amount: null, note: 'x' } });
});

t.test('a form without fields takes any data', async (t) => {
  const free = input('form', { required: false });
  t.strictSame(outcome(free, { approved: true }), { approved: true, formData: { approved: true } });
  t.strictSame(outcome(free, {}), { formData: {} });
  t.match(outcome(input('form'), {}), detail('data', /the form is required/), 'but something, when it is required');
});

t.test('only own properties count, and __proto__ is a key like any other', async (t) => {
  const asked = form([{ name: 'constructor', type: 'textbox' }]);
  t.match(outcome(asked, {}), detail('data.constructor', /constructor is required/));
  const hostile = JSON.parse('{"inputValue":"a","__proto__":{"polluted":true}}') as JsonObject;
  const result = submitted(input('textbox'), hostile);
  t.ok(result.ok && Object.hasOwn(result.variables, '__proto__'));
  t.equal(({} as JsonObject)['polluted'], undefined);
  const fields = submitted(
    form([{ name: '__proto__', type: 'textbox' }]),
    JSON.parse('{"__proto__":"x"}') as JsonObject,
  );
  t.equal(fields.ok && JSON.stringify(fields.variables), '{"__proto__":"x","formData":{"__proto__":"x"}}');
});
