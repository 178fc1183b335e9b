import type { App } from '../app.ts';
import type { Screen } from '../panel.ts';
import { RunsScreen } from './runs.tsx';

/** The screens that `:` goes to, by name. */
export const SCREENS: Readonly<Record<string, (app: App) => Screen>> = {
  runs: (app) => new RunsScreen(app),
};
