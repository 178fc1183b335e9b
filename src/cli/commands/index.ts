import type { Command } from 'commander';
import type { Wfx } from '../wfx.ts';

export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  readonly group: string;
  readonly hidden?: true;
  /** Loads what the command needs, which a command line that names another one never does. */
  readonly load: () => Promise<{ readonly add: (command: Command, wfx: Wfx) => void }>;
}

const RUN = 'Run flows:';
const AUTHOR = 'Write and publish flows:';
const WATCH = 'Look at runs and answer them:';
const OPERATE = 'Daemon, keys and settings:';
const MORE = 'More:';

/** What a shell asks for the words that may come next. */
export const COMPLETE = '__complete';

export const COMMANDS: readonly CommandEntry[] = [
  { name: 'run', group: RUN, summary: 'Run a flow and follow it to its end', load: () => import('./run.ts') },
  {
    name: 'dev',
    group: AUTHOR,
    summary: 'Publish the flows of a folder as you save them, and watch them run',
    load: () => import('./dev.ts'),
  },
  { name: 'validate', group: AUTHOR, summary: 'Check flow files', load: () => import('./validate.ts') },
  { name: 'graph', group: AUTHOR, summary: 'Draw flow files', load: () => import('./graph.ts') },
  { name: 'publish', group: AUTHOR, summary: 'Publish flow files as new versions', load: () => import('./publish.ts') },
  {
    name: 'flow',
    group: AUTHOR,
    summary: 'List, show and manage published flows, or begin a new one',
    load: () => import('./flow.ts'),
  },
  {
    name: 'schema',
    group: AUTHOR,
    summary: 'Print the JSON Schema of flow files, for editors',
    load: () => import('./schema.ts'),
  },
  {
    name: 'instance',
    group: WATCH,
    summary: 'List, show, follow, cancel and retry runs',
    load: () => import('./instance.ts'),
  },
  {
    name: 'why',
    group: WATCH,
    summary: 'Say what a run waits for, and what would release it',
    load: () => import('./why.ts'),
  },
  {
    name: 'tui',
    group: WATCH,
    summary: 'Watch and operate everything from one screen',
    load: () => import('./tui.ts'),
  },
  { name: 'task', group: WATCH, summary: 'List and answer what waits for a person', load: () => import('./task.ts') },
  { name: 'event', group: WATCH, summary: 'Send an event to waiting runs', load: () => import('./event.ts') },
  {
    name: 'webhook',
    group: WATCH,
    summary: 'Make webhooks, see what they were sent, send events to try them',
    load: () => import('./webhook.ts'),
  },
  { name: 'audit', group: OPERATE, summary: 'Show who did what', load: () => import('./audit.ts') },
  {
    name: 'connection',
    group: OPERATE,
    summary: 'Connect inboxes whose messages start flows',
    load: () => import('./connection.ts'),
  },
  {
    name: 'worker',
    group: OPERATE,
    summary: 'Do domainTask nodes with functions of your own',
    load: () => import('./worker.ts'),
  },
  { name: 'daemon', group: OPERATE, summary: 'Start, stop and look at the daemon', load: () => import('./daemon.ts') },
  {
    name: 'env',
    group: OPERATE,
    summary: 'Set the values that flows read as {env.NAME}',
    load: () => import('./env.ts'),
  },
  {
    name: 'memory',
    group: OPERATE,
    summary: 'Look at and change what flows remember',
    load: () => import('./memory.ts'),
  },
  { name: 'key', group: OPERATE, summary: 'Make and manage API keys', load: () => import('./key.ts') },
  {
    name: 'login',
    group: OPERATE,
    summary: 'Sign in as yourself, with a browser',
    load: () => import('./login.ts'),
  },
  {
    name: 'logout',
    group: OPERATE,
    summary: 'Forget the sign-in',
    load: () => import('./logout.ts'),
  },
  {
    name: 'token',
    group: OPERATE,
    summary: 'Print the credential that commands send',
    load: () => import('./token.ts'),
  },
  {
    name: 'whoami',
    group: OPERATE,
    summary: 'Show who you are to the daemon, and what you may do',
    load: () => import('./whoami.ts'),
  },
  {
    name: 'context',
    group: OPERATE,
    summary: 'Name daemons elsewhere and switch between them',
    load: () => import('./context.ts'),
  },
  {
    name: 'doctor',
    group: OPERATE,
    summary: 'Check that this machine has what wfx needs',
    load: () => import('./doctor.ts'),
  },
  {
    name: 'completion',
    group: MORE,
    summary: 'Print a script that completes commands in your shell',
    load: () => import('./completion.ts'),
  },
  {
    name: COMPLETE,
    group: MORE,
    hidden: true,
    summary: 'Answer a shell that completes',
    load: () => import('./complete.ts'),
  },
];
