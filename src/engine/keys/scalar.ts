import type { Json } from '../json.ts';
import { type At, type Kind, mismatch, shortened } from './kind.ts';
import { closest } from './suggest.ts';

/** A text that holds no references. Never empty. */
export const plain: Kind<string> = {
  schema: { type: 'string', minLength: 1 },
  read: (value, at) => (typeof value === 'string' && value !== '' ? value : mismatch('a text', value, at)),
};

export const boolean: Kind<boolean> = {
  schema: { type: 'boolean' },
  read(value, at) {
    if (typeof value === 'boolean') return value;
    return mismatch('true or false', value, at, booleanHint(value));
  },
};

function booleanHint(value: Json): string {
  const word = typeof value === 'string' ? value.toLowerCase() : value;
  if (['yes', 'on', 'y', 'true', 1].includes(word as string)) return 'write true';
  if (['no', 'off', 'n', 'false', 0].includes(word as string)) return 'write false';
  return 'write true or false, without quotes';
}

export function integer(minimum: number, maximum: number): Kind<number> {
  return {
    schema: { type: 'integer', minimum, maximum },
    read(value, at) {
      if (Number.isInteger(value) && (value as number) >= minimum && (value as number) <= maximum)
        return value as number;
      return mismatch(`a whole number from ${minimum} to ${maximum}`, value, at, numberHint(value));
    },
  };
}

export function number(minimum: number, maximum: number): Kind<number> {
  return {
    schema: { type: 'number', minimum, maximum },
    read(value, at) {
      if (typeof value === 'number' && value >= minimum && value <= maximum) return value;
      return mismatch(`a number from ${minimum} to ${maximum}`, value, at, numberHint(value));
    },
  };
}

const numberHint = (value: Json) =>
  typeof value === 'string' && /^\s*\d+(\.\d+)?\s*$/u.test(value) ? 'write it without quotes' : undefined;

export function choice<const V extends string>(...values: readonly V[]): Kind<V> {
  return {
    schema: { enum: values },
    read(value, at) {
      if (values.includes(value as V)) return value as V;
      const meant = typeof value === 'string' ? closest(value, values) : undefined;
      return mismatch(`one of ${values.join(', ')}`, value, at, meant && `did you mean ${meant}?`);
    },
  };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/iu;
export const isUuid = (text: string) => UUID.test(text);

/** Compiles to lower case. */
export const uuid: Kind<string> = {
  schema: { type: 'string', pattern: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' },
  read(value, at) {
    if (typeof value === 'string' && isUuid(value)) return value.toLowerCase();
    return mismatch(
      'a UUID such as 7c9e6679-7425-40de-944b-e07fc1f90ae7',
      value,
      at,
      'make a new one with `wfx flow init`',
    );
  },
};

/** What an error is called: no spaces; `*` where a boundary event catches all. */
export const errorCode: Kind<string> = {
  schema: { type: 'string', pattern: '^\\S{1,128}$' },
  read(value, at) {
    if (typeof value === 'string' && /^\S{1,128}$/u.test(value)) return value;
    return mismatch('an error code, a text without spaces such as OUT_OF_STOCK', value, at);
  },
};

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*(\.([A-Za-z_][A-Za-z0-9_]*|\d+))*$/u;

/** The name of a variable that is set here; dots reach inside: `order.status`. Compiles to its steps. */
export const variable: Kind<readonly string[]> = {
  schema: { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]*(\\.([A-Za-z_][A-Za-z0-9_]*|[0-9]+))*$' },
  read: (value, at) =>
    typeof value === 'string' ? variablePath(value, at) : mismatch('the name of a variable, a text', value, at),
};

/** The name of a variable that lives in a loop's body: no dots. */
export const localVariable: Kind<string> = {
  schema: { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]*$' },
  read(value, at) {
    const path = variable.read(value, at);
    if (path === undefined || path.length === 1) return path?.[0];
    return at.error('BAD_VARIABLE_NAME', `\`${at.name}\` must be a plain name: dots have no meaning here`);
  },
};

/** The steps of the dotted name that is written at `at`, as a value or as a key. */
export function variablePath(text: string, at: At, onKey = false): readonly string[] | undefined {
  if (!VARIABLE.test(text) || text.length > 512) {
    const inner = /^\s*\$?\{\s*([\w.]+)\s*\}\s*$/u.exec(text)?.[1];
    const hint =
      inner !== undefined ? `write the bare name: ${inner}` : 'letters, digits and underscores, dots between';
    return at.error('BAD_VARIABLE_NAME', `${shortened(text)} can't be the name of a variable`, { hint, onKey });
  }
  const path = text.split('.');
  if (path[0] === 'env') {
    const message = "environment values can't be set by a flow: `env` only reads what `wfx env set` stored";
    return at.error('BAD_VARIABLE_NAME', message, { onKey });
  }
  at.sets(path[0] as string, path.length > 1);
  return path;
}

export const script: Kind<string> = {
  schema: { type: 'string', minLength: 1 },
  read(value, at) {
    if (typeof value !== 'string') return mismatch('JavaScript as text', value, at, 'start it with `script: |`');
    return value.trim() === '' ? at.error('EMPTY', '`script` is empty') : value;
  },
};
