import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { ErrorDetail } from '../contract/errors.ts';
import { Refusal } from './refusal.ts';

type SchemaError = ReturnType<ReturnType<typeof Compile>['Errors']>[number];
type Part = 'body' | 'query' | 'settings file';

const MAX_DETAILS = 20;

/**
 * A check of what comes from outside: gives the value back, or VALIDATION_ERROR with each wrong field. Nothing is coerced, filled in
 * or removed, but for a query, whose texts become numbers where the schema has numbers, and whose unknown keys are left out.
 */
export function checkOf<T>(schema: TSchema, part: Part): (value: unknown) => T {
  const check = Compile(schema);
  const prepare = part === 'query' ? queryReader(schema) : (value: unknown) => value;
  return (sent) => {
    const value = prepare(sent);
    if (check.Check(value)) return value as T;
    const details = detailsOf(check.Errors(value));
    throw new Refusal('VALIDATION_ERROR', sentence(details, part), { details });
  };
}

function queryReader(schema: TSchema): (value: unknown) => unknown {
  const properties = Object.entries((schema as { properties?: Record<string, { type?: string }> }).properties ?? {});
  return (sent) => {
    const query = sent as Readonly<Record<string, unknown>>;
    const read: Record<string, unknown> = Object.create(null);
    for (const [name, { type }] of properties)
      if (query[name] !== undefined) read[name] = type === 'integer' ? wholeNumber(query[name]) : query[name];
    return read;
  };
}

const wholeNumber = (text: unknown): unknown =>
  typeof text === 'string' && /^-?\d{1,15}$/.test(text) ? Number(text) : text;

/** One detail a field; of a choice between types only what says more than `must be null`. */
function detailsOf(errors: readonly SchemaError[]): ErrorDetail[] {
  const details = new Map<string, string>();
  for (const error of errors) {
    for (const [path, message] of told(error)) if (!details.has(path)) details.set(path, message);
    if (details.size >= MAX_DETAILS) break;
  }
  return [...details].map(([path, message]) => ({ path, message }));
}

function told(error: SchemaError): [string, string][] {
  const path = error.instancePath.split('/').slice(1).map(unescaped).join('.');
  const at = (key: string) => (path === '' ? key : `${path}.${key}`);
  const params = error.params as Readonly<Record<string, unknown>>;
  switch (error.keyword) {
    case 'required':
      return (params['requiredProperties'] as string[]).map((key) => [at(key), 'is required']);
    case 'additionalProperties':
      return (params['additionalProperties'] as string[]).map((key) => [at(shortened(key)), 'is not a field here']);
    case 'boolean':
    case 'anyOf':
      return [];
    case 'type':
      return params['type'] === 'null' ? [] : [[path, `must be ${withArticle(String(params['type']))}`]];
    case 'enum':
      return [[path, `must be one of ${(params['allowedValues'] as unknown[]).join(', ')}`]];
    case 'pattern':
      return [[path, params['pattern'] === '\\S' ? 'must not be blank' : `must have the form ${params['pattern']}`]];
    case 'minLength':
      return [[path, params['limit'] === 1 ? 'must not be empty' : error.message]];
    default:
      return [[path, error.message]];
  }
}

const unescaped = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~');
const shortened = (key: string): string => (key.length > 60 ? `${key.slice(0, 60)}…` : key);
const withArticle = (type: string): string => `${/^[aeio]/.test(type) ? 'an' : 'a'} ${type}`;

function sentence(details: readonly ErrorDetail[], part: Part): string {
  const shown = details.slice(0, 3).map(({ path, message }) => `${path === '' ? 'it' : path} ${message}`);
  const more = details.length > 3 ? `, and ${details.length - 3} more` : '';
  return `The ${part} is not valid: ${shown.join('; ')}${more}.`;
}
