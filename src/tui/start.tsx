import { render } from 'ink';
import type { Client } from '../client/index.ts';
import { enterAlternateScreen } from './alternate-screen.ts';
import { App } from './app.ts';
import { Frames } from './frames.ts';
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
  const leave = enterAlternateScreen(process.stdout.fd);
  const app = new App({ client, settings, readOnly, place, exit: () => ink.unmount() });
  if (settings.problem !== undefined) app.say(settings.problem, 'bad');
  app.start(screen);
  const prepared = new Prepared();
  const frames = new Frames(process.stdout, prepared);
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
    frames.close();
    app.stop();
    leave();
  }
}
