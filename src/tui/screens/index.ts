import type { App } from '../app.ts';
import type { Screen } from '../panel.ts';
import { FlowsScreen } from './flows.tsx';
import { HealthScreen } from './health.tsx';
import { KeysScreen } from './keys.tsx';
import { RunsScreen } from './runs.tsx';
import { SchedulesScreen } from './schedules.tsx';
import { TasksScreen } from './tasks.tsx';
import { WebhooksScreen } from './webhooks.tsx';

/** The screens that `:` goes to, by name. */
export const SCREENS: Readonly<Record<string, (app: App) => Screen>> = {
  runs: (app) => new RunsScreen(app),
  tasks: (app) => new TasksScreen(app),
  flows: (app) => new FlowsScreen(app),
  webhooks: (app) => new WebhooksScreen(app),
  keys: (app) => new KeysScreen(app),
  schedules: (app) => new SchedulesScreen(app),
  health: (app) => new HealthScreen(app),
};
