import { existsSync } from 'node:fs';
import { join } from 'node:path';

const SERVICE = 'wfx';
/** A keychain that asks a desktop which isn't there can block for ever; nobody waits longer than this for it. */
const LIMIT_MS = 3000;

type Keytar = typeof import('keytar');

/** Why the keychain is not used, in words for `wfx doctor`; undefined when it may be tried. */
export function keychainObstacle(env: NodeJS.ProcessEnv = process.env): string | undefined {
  if (env['WFX_KEYCHAIN'] === 'off') return 'switched off by WFX_KEYCHAIN=off';
  if (process.platform === 'linux' && !hasSessionBus(env)) return 'there is no D-Bus session';
  return undefined;
}

function hasSessionBus(env: NodeJS.ProcessEnv): boolean {
  if ((env['DBUS_SESSION_BUS_ADDRESS'] ?? '') !== '') return true;
  const runtime = env['XDG_RUNTIME_DIR'] ?? '';
  return runtime !== '' && existsSync(join(runtime, 'bus'));
}

/** The OS keychain. Every function rejects when it can't be used, whatever the reason. */
export const keychain = {
  read: (account: string): Promise<string | null> => use((keytar) => keytar.getPassword(SERVICE, account)),

  /** Reads back what it wrote: some keychains take a password and forget it. */
  save: (account: string, value: string): Promise<void> =>
    use(async (keytar) => {
      await keytar.setPassword(SERVICE, account, value);
      if ((await keytar.getPassword(SERVICE, account)) !== value)
        throw new Error('the keychain did not keep the value');
    }),

  remove: (account: string): Promise<boolean> => use((keytar) => keytar.deletePassword(SERVICE, account)),
};

async function use<T>(act: (keytar: Keytar) => Promise<T>): Promise<T> {
  const obstacle = keychainObstacle();
  if (obstacle !== undefined) throw new Error(obstacle);
  return withinLimit(loaded().then(act));
}

async function loaded(): Promise<Keytar> {
  const module = (await import('keytar')) as Keytar & { default?: Keytar };
  return module.default ?? module;
}

function withinLimit<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`the keychain did not answer within ${LIMIT_MS / 1000} s`)),
      LIMIT_MS,
    );
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
