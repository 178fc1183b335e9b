import { readFileSync } from 'node:fs';
import type { Body } from '../contract/types.ts';
import { usage } from './exit.ts';
import { assignment } from './values.ts';
import { providerOf } from './webhook/registrations.ts';
import type { Wfx } from './wfx.ts';

export interface TriggerOptions {
  readonly type: string;
  readonly payload?: string;
  readonly link?: string;
  readonly provider?: string;
  readonly header?: readonly string[];
  readonly environment?: string;
  readonly versionNumber?: string;
}
type Type = Body<'triggerFlow'>['type'];

const TYPES: readonly Type[] = ['webhook', 'schedule', 'email'];

/** Tries a trigger by hand; prints the id of the run that it starts. */
export async function trigger(wfx: Wfx, processId: string, options: TriggerOptions): Promise<void> {
  const type = TYPES.find((one) => one === options.type.toLowerCase());
  if (type === undefined)
    throw usage(`There is no trigger type “${options.type}”.`, `it is one of ${TYPES.join(', ')}`);
  if (type !== 'schedule' && options.payload === undefined)
    throw usage(
      'The payload is missing.',
      `give --payload FILE: ${type === 'email' ? 'a message (.eml)' : 'the body of the event'}`,
    );
  const environment = wfx.environment(options.environment);
  const headers = (options.header ?? []).map((text) => assignment(text, '--header', 'X-GitHub-Event=push'));
  const body = {
    type,
    ...(options.payload === undefined ? {} : { payload: bytesIn(options.payload).toString('base64') }),
    ...(options.link === undefined ? {} : { link: options.link }),
    ...(options.provider === undefined ? {} : { provider: providerOf(options.provider) }),
    ...(headers.length === 0 ? {} : { headers: Object.fromEntries(headers) }),
    ...(environment === undefined ? {} : { environment }),
    ...(options.versionNumber === undefined ? {} : { versionNumber: options.versionNumber }),
  };
  const client = await wfx.client();
  const tried = await client.call('triggerFlow', { params: { processId }, body });
  if (wfx.json) return wfx.io.json(tried);
  if (tried.processInstanceId === null) return wfx.io.note(`NO_MATCH: ${tried.reason}`);
  wfx.io.note(`STARTED version ${tried.version} in ${tried.environment}. What it does: wfx instance logs ID --follow`);
  wfx.io.print(tried.processInstanceId);
}

function bytesIn(file: string): Buffer {
  try {
    return readFileSync(file === '-' ? 0 : file);
  } catch (error) {
    throw usage(`The payload ${file} can't be read: ${(error as Error).message}.`);
  }
}
