import type { Environment } from '../contract/types.ts';
import { STATES } from '../terminal/shown.ts';

/** What a filter of runs asks for: some of it the daemon looks for, the rest is looked for in what it answers. */
export interface RunFilter {
  readonly state?: number;
  readonly environment?: Environment;
  readonly correlationKey?: string;
  /** Part of a flow's name, or the beginning of its id; in lower case. */
  readonly flow?: string;
  /** No older than so many ms. */
  readonly ageMs?: number;
  /** Each must be somewhere in the row; in lower case. */
  readonly words: readonly string[];
}

export const FILTER_HINT = 'state:failed flow:order env:dev key:A-17 age:2h words';

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Reads `state:failed age:2h order`. What is no known part is a word; a part that makes no sense is a problem, in words. */
export function parseRunFilter(text: string): RunFilter | string {
  let filter: RunFilter = { words: [] };
  for (const part of text.split(/\s+/).filter(Boolean)) {
    const [, name = '', value = ''] = /^(state|env|flow|key|age):(.*)$/i.exec(part) ?? [];
    const read = name === '' ? word(filter, part) : PARTS[name.toLowerCase()]?.(value);
    if (typeof read === 'string') return read;
    filter = { ...filter, ...read };
  }
  return filter;
}

type Read = Partial<RunFilter> | string;
const word = ({ words }: RunFilter, part: string): Read => ({ words: [...words, part.toLowerCase()] });

const PARTS: Readonly<Record<string, (value: string) => Read>> = {
  state: (value) => {
    const state = value === '' ? -1 : STATES.findIndex((name) => name.toLowerCase().startsWith(value.toLowerCase()));
    return state < 0 ? `There is no state “${value}”: it is running, completed, failed or cancelled.` : { state };
  },
  env: (value) => {
    const environment = (['DEVELOPMENT', 'PRODUCTION'] as const).find((name) => name.startsWith(value.toUpperCase()));
    return environment === undefined || value === ''
      ? `There is no environment “${value}”: it is dev or prod.`
      : { environment };
  },
  flow: (value) => (value === '' ? 'flow: takes a part of the name, or an id.' : { flow: value.toLowerCase() }),
  key: (value) => (value === '' ? 'key: takes a correlation key.' : { correlationKey: value }),
  age: (value) => {
    const [, number, unit = ''] = /^(\d+)([smhdw])$/i.exec(value) ?? [];
    return number === undefined
      ? `“${value}” is no age: write 30m, 2h or 7d.`
      : { ageMs: Number(number) * (UNITS[unit.toLowerCase()] ?? 0) };
  },
};
