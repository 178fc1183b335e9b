import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolders } from '../home.ts';
import { usage } from './exit.ts';

/** A daemon elsewhere, by a name of the user's own. Its API key rests with the other credentials, as `context:<name>`. */
interface NamedContext {
  readonly url: string;
  readonly environment?: 'DEVELOPMENT' | 'PRODUCTION';
}

export interface Contexts {
  /** The one in use; undefined: the daemon of this machine. */
  readonly current?: string;
  readonly contexts: ReadonlyMap<string, NamedContext>;
}

export const credentialOf = (context: string): string => `context:${context}`;

const fileOf = (home: string): string => join(home, 'contexts.json');

export function readContexts(home: string): Contexts {
  const file = fileOf(home);
  if (!existsSync(file)) return { contexts: new Map() };
  try {
    const value = JSON.parse(readFileSync(file, 'utf8')) as {
      current?: string;
      contexts: Record<string, NamedContext>;
    };
    return {
      ...(value.current === undefined ? {} : { current: value.current }),
      contexts: new Map(Object.entries(value.contexts)),
    };
  } catch {
    throw usage(
      `${file} can't be read as contexts.`,
      'mend it, or remove it and add the contexts again: wfx context add',
    );
  }
}

export function writeContexts(home: string, { current, contexts }: Contexts): void {
  makeFolders(home);
  const draft = `${fileOf(home)}.${process.pid}.tmp`;
  writeFileSync(draft, `${JSON.stringify({ current, contexts: Object.fromEntries(contexts) }, null, 2)}\n`, {
    mode: 0o600,
  });
  renameSync(draft, fileOf(home));
}
