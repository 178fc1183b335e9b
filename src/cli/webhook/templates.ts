import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Webhook } from '../../contract/types.ts';
import { isObject, type JsonObject } from '../../engine/json.ts';
import { usage } from '../exit.ts';
import { readMap } from '../flow-file.ts';
import type { Fixture, Moment } from './fixtures/fixture.ts';
import { FIXTURES } from './fixtures/index.ts';

const FILE = /^(.+)\.(json|ya?ml)$/;
const FORMS = ['json', 'form', 'payload'] as const;

/** Names of the events of a provider: the built-in ones, and those of a folder with `<provider>/<event>.yaml` files. */
export function eventNames(provider: Webhook['provider'], folder: string | undefined): string[] {
  const own = folder === undefined ? [] : [...ownFiles(provider, folder).keys()];
  return [...new Set([...own, ...Object.keys(FIXTURES[provider])])].sort();
}

/** An event, a template of one's own before a built-in one of the same name. */
export async function eventFor(
  provider: Webhook['provider'],
  name: string,
  folder: string | undefined,
  moment: Moment,
): Promise<Fixture> {
  const file = folder === undefined ? undefined : ownFiles(provider, folder).get(name);
  if (file !== undefined) return ownEvent(file, provider, name, moment);
  const make = Object.hasOwn(FIXTURES[provider], name) ? FIXTURES[provider][name] : undefined;
  if (make !== undefined) return make(moment);
  throw usage(
    `There is no ${provider.toLowerCase()} event “${name}”.`,
    `it is one of ${eventNames(provider, folder).join(', ')}; more come from a folder: --templates`,
  );
}

/** Slashes in an event's name (`orders/create`) are folders. */
function ownFiles(provider: Webhook['provider'], folder: string): ReadonlyMap<string, string> {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw usage(`There is no folder ${folder}.`, 'it holds files like github/push.yaml');
  const root = join(folder, provider.toLowerCase());
  const found = new Map<string, string>();
  if (!existsSync(root)) return found;
  for (const entry of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    const name = FILE.exec(entry.replaceAll('\\', '/'))?.[1];
    if (name !== undefined) found.set(name, join(root, entry));
  }
  return found;
}

/**
 * A file with `body`, and perhaps `headers` and `as` (json, form, payload); one without `body` is the body itself. The headers
 * of the built-in event of the same name, or else of any of the provider's, go before its own.
 */
async function ownEvent(file: string, provider: Webhook['provider'], name: string, moment: Moment): Promise<Fixture> {
  const map = (await readMap(file, 'template')) as JsonObject;
  const { body = map, headers = {}, as = 'json' } = 'body' in map ? map : {};
  const form = FORMS.find((one) => one === as);
  if (form === undefined) throw usage(`The template ${file} has “as: ${String(as)}”.`, `it is ${FORMS.join(', ')}`);
  if (!isObject(headers)) throw usage(`The template ${file} has “headers” that are no map.`);
  const built = FIXTURES[provider][name] ?? Object.values(FIXTURES[provider])[0];
  const own = Object.entries(headers).map(([key, value]) => [key.toLowerCase(), String(value)]);
  return {
    headers: { ...built?.(moment).headers, ...Object.fromEntries(own) },
    body: body as JsonObject,
    as: form,
  };
}
