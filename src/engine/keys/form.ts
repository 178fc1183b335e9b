import type { FieldSpec } from '../flow.ts';
import { isObject, type Json } from '../json.ts';
import { parseValue, type Template, type ValueTemplate } from '../template.ts';
import { type At, type JsonSchema, type Kind, mismatch, shortened } from './kind.ts';
import {
  type CompiledKeys,
  optional,
  readKeys,
  record,
  recordSchema,
  refuseOthers,
  required,
  withDefault,
} from './record.ts';
import { boolean, choice, plain } from './scalar.ts';
import { text, value } from './template.ts';

const FIELD_TYPES = ['textbox', 'textarea', 'number', 'date', 'select', 'checkbox', 'radio', 'file'] as const;
export const INPUT_TYPES = [...FIELD_TYPES, 'form'] as const;
/** The input types that offer a choice. */
export const CHOICE_TYPES: readonly string[] = ['select', 'checkbox', 'radio'];

/** What a form offers to choose from: a list of scalars or of `{value, label}`, or one reference to such a list. */
export const options: Kind<ValueTemplate> = {
  schema: {
    anyOf: [
      { type: 'string', pattern: '^\\{[^{}]+\\}$' },
      {
        type: 'array',
        minItems: 1,
        items: {
          anyOf: [
            { type: ['string', 'number', 'boolean'] },
            { type: 'object', properties: { value: {}, label: {} }, required: ['value'], additionalProperties: false },
          ],
        },
      },
    ],
  },
  read(json, at) {
    if (typeof json === 'string') return optionsReference(json, at);
    if (!Array.isArray(json)) return mismatch('a list of options, or one reference such as "{choices}"', json, at);
    if (json.length === 0) return at.error('EMPTY', `\`${at.name}\` is empty: nobody could choose anything`);
    const good = json.map((option, index) => optionIsGood(option, at.item(index)));
    warnOfTwins(json, at);
    return good.every(Boolean) ? parseValue(json) : undefined;
  },
};

function optionsReference(source: string, at: At): ValueTemplate | undefined {
  if (/^\{[A-Za-z_][\w.]*\}$/u.test(source.trim())) return parseValue(source.trim());
  return mismatch('a list of options, or one reference such as "{choices}"', source, at, `write [${source}]`);
}

function optionIsGood(option: Json, at: At): boolean {
  if (at.broken) return false;
  if (isObject(option)) {
    refuseOthers(['value', 'label'], option, at, 'an option');
    return readKeys(OPTION_KEYS, option, at) !== undefined;
  }
  if (option !== null && typeof option !== 'object') return true;
  at.error('WRONG_TYPE', 'an option must be a text, a number or {value, label}');
  return false;
}

const OPTION_KEYS = {
  value: required(value, 'What the answer will be.'),
  label: optional(text, 'What people see instead of the value.'),
};

function warnOfTwins(list: readonly Json[], at: At): void {
  const seen = new Set<string>();
  list.forEach((option, index) => {
    const key = JSON.stringify(isObject(option) ? (option['value'] ?? null) : option);
    if (seen.has(key)) at.item(index).warning('DUPLICATE_OPTION', `the option ${key} is there twice`);
    seen.add(key);
  });
}

const FIELD_KEYS = {
  name: required(plain, 'The key of the answer in the form data.'),
  label: optional(text, 'What people see instead of the name.'),
  type: withDefault(choice(...FIELD_TYPES), 'textbox', 'How the field is asked for.'),
  options: optional(options, 'What select, checkbox and radio offer; a checkbox without is one box, true or false.'),
  required: withDefault(boolean, false, 'An answer without it is refused.'),
  default: optional(value, 'What the field holds at first.'),
};
const { name: _, ...NAMELESS_KEYS } = FIELD_KEYS;

const fieldList: JsonSchema = {
  type: 'array',
  minItems: 1,
  items: { anyOf: [{ type: 'string' }, recordSchema(FIELD_KEYS)] },
};

/** The fields of a form: a list of `{name, type, …}`, or a map from name to the rest. */
export const fields: Kind<readonly FieldSpec[]> = {
  schema: {
    anyOf: [fieldList, { type: 'object', minProperties: 1, additionalProperties: recordSchema(NAMELESS_KEYS) }],
  },
  read(json, at) {
    const list = Array.isArray(json) ? json.map((item, index) => listed(item, at.item(index))) : mapped(json, at);
    if (list === undefined) return undefined;
    if (list.length === 0) return at.error('EMPTY', `\`${at.name}\` is empty: a form needs at least one field`);
    refuseTwins(list, at);
    return list.every((field) => field !== undefined) ? list : undefined;
  },
};

function listed(json: Json, at: At): FieldSpec | undefined {
  if (at.broken) return undefined;
  if (typeof json === 'string' && json !== '') {
    at.sets(json);
    return { name: json, type: 'textbox', required: false };
  }
  if (!isObject(json)) return mismatch('a field: {name, type}', json, at);
  refuseOthers(Object.keys(FIELD_KEYS), json, at, 'a field');
  return checked(readKeys(FIELD_KEYS, json, at), at);
}

function mapped(json: Json, at: At): (FieldSpec | undefined)[] | undefined {
  if (!isObject(json)) return mismatch('a list of fields: [{name, type}]', json, at);
  return Object.keys(json).map((name) => {
    const place = at.key(name);
    if (place.broken) return undefined;
    const field = json[name] as Json;
    if (!isObject(field)) return mismatch('a field: {type}', field, place);
    refuseOthers(Object.keys(NAMELESS_KEYS), field, place, 'a field');
    const read = readKeys(NAMELESS_KEYS, field, place);
    return read && checked({ ...read, name }, place);
  });
}

function checked(field: CompiledKeys<typeof FIELD_KEYS> | undefined, at: At): FieldSpec | undefined {
  if (field === undefined) return undefined;
  // A field may also be a single box, ticked or not: a checkbox without options.
  if (field.type !== 'checkbox') checkOptions(field.type, field.options !== undefined, at);
  at.sets(field.name);
  return field;
}

/** `options` belongs to what offers a choice; without it any answer is one. */
export function checkOptions(type: string, given: boolean, at: At): void {
  const offers = CHOICE_TYPES.includes(type);
  if (offers && !given) {
    at.warning('NO_OPTIONS', `${type} offers a choice, and without \`options\` any answer is taken`, {
      hint: 'options: [approve, reject]',
      onKey: true,
    });
  } else if (!offers && given) {
    const message = `\`options\` has no meaning for ${type}`;
    at.key('options').error('KEY_NOT_APPLICABLE', message, {
      onKey: true,
      hint: `only ${CHOICE_TYPES.join(', ')} offer a choice`,
    });
  }
}

function refuseTwins(list: readonly (FieldSpec | undefined)[], at: At): void {
  const seen = new Set<string>();
  list.forEach((field, index) => {
    if (field === undefined) return;
    if (seen.has(field.name))
      at.item(index).error('DUPLICATE_FIELD', `the form has two fields called ${shortened(field.name)}`);
    seen.add(field.name);
  });
}

export interface Form {
  readonly title?: Template;
  readonly fields: readonly FieldSpec[];
}

const formRecord = record('a form', {
  title: optional(text, 'Shown above the form.'),
  fields: required(fields, 'What is asked for.'),
});

/** A user task's form: `{title, fields}`, or only the list of fields. */
export const form: Kind<Form> = {
  schema: { anyOf: [formRecord.schema, fieldList] },
  read(json, at) {
    if (!Array.isArray(json)) return formRecord.read(json, at);
    const list = fields.read(json, at);
    return list && { fields: list };
  },
};
