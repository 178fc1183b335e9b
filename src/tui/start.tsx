import { render } from 'ink';
import type { Client } from '../client/index.ts';
import { enterAlternateScreen } from './alternate-screen.ts';
import { App } from './app.ts';
import { Frames } from './frames.ts';
import { rawKeys } from './keyboard.ts';
import { Prepared, PreparedLines } from './prepared.ts';
import { Settings } from './settings.ts';
import { Shell } from './shell.tsx';
import type { ThemeName } from './theme.ts';

export interface TuiOptions {
  readonly client: Client;
  /** The folder of `tui.json`. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly place: string;
  readonly readOnly: boolean;
  /** The screen to begin with. */
  readonly screen: string;
  readonly theme?: ThemeName | undefined;
}

/** Runs the app on the terminal of this process until the user leaves it. Rejects with what broke it. */
export async function runTui({ client, home, env, place, readOnly, screen, theme }: TuiOptions): Promise<void> {
  const settings = new Settings(home, env, theme);
  const prepared = new Prepared();
  const frames = new Frames(process.stdout, prepared);
  const app = new App({
    client,
    settings,
    readOnly,
    place,
    exit: () => ink.unmount(),
    suspend: () => {
      give();
      process.kill(0, 'SIGTSTP');
      // Where nobody could bring it back, the signal does nothing.
      take();
    },
  });
  let leave = enterAlternateScreen(process.stdout.fd);
  let release = rawKeys(process.stdin, (key) => app.key(key));
  const give = (): void => {
    release();
    leave();
  };
  const take = (): void => {
    give();
    leave = enterAlternateScreen(process.stdout.fd);
    release = rawKeys(process.stdin, (key) => app.key(key));
    frames.forget();
    app.changed();
  };
  process.on('SIGCONT', take);
  if (settings.problem !== undefined) app.say(settings.problem, 'bad');
  app.start(screen);
  const stdout = frames as unknown as NodeJS.WriteStream;
  const ink = render(
    <PreparedLines value={prepared}>
      <Shell app={app} />
    </PreparedLines>,
    { stdout, debug: true, exitOnCtrlC: false, patchConsole: false },
  );
  try {
    await ink.waitUntilExit();
  } finally {
    process.off('SIGCONT', take);
    frames.close();
    app.stop();
    give();
  }
}
