import { type JsonObject, merged, withPath } from '../engine/json.ts';
import { typedValue } from '../terminal/typed.ts';
import { usage } from './exit.ts';

/** `key=value` apart; the key may hold dots, the value anything. */
export function assignment(
  text: string,
  option: string,
  example = 'order.total=240',
): readonly [key: string, value: string] {
  const at = text.indexOf('=');
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw usage(`${option} takes key=value, not “${text}”.`, `for example: ${option} ${example}`);
}

/** `base` with every `key=value` of `--data` laid over it; dots in a key reach inside. */
export function withData(base: JsonObject, given: readonly string[] | undefined): JsonObject {
  let data = merged(base, {});
  for (const text of given ?? []) {
    const [key, value] = assignment(text, '--data');
    data = withPath(data, pathOf(key, text), typedValue(value));
  }
  return data;
}

function pathOf(key: string, text: string): readonly string[] {
  const path = key.split('.');
  if (path.every((name) => name !== '') && path.length <= 50) return path;
  throw usage(
    `--data ${text}: “${key}” is no variable name.`,
    'write a name, or names with dots between: order.total=240',
  );
}
