import type { Json } from '../engine/json.ts';

/**
 * A value as a person types it: JSON where it is a number, true, false, null, a list or an object; text otherwise. A
 * number that JavaScript can't hold exactly (a long order number) and one with a leading zero stay text.
 */
export function typedValue(text: string): Json {
  if (!/^(-?\d|true$|false$|null$|\[|\{)/.test(text)) return text;
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  if (typeof value !== 'number') return value;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? text : Number.isFinite(value) ? value : text;
}
